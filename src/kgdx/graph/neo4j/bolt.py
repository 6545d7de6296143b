"""The Neo4j driver: how it connects, what it reads, how long anybody waits for it, and its errors as ours.

An error says on one line what was tried, what is wrong with it, what to do next.
"""

from __future__ import annotations

import base64
import logging
import re
import socket
import ssl
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

from kgdx.config import Neo4jAccess
from kgdx.errors import ConfigError, StoreError, TemplateError
from kgdx.graph.protocol import Row, T, plain

if TYPE_CHECKING:
    import neo4j

OLDEST = (5, 23)
"""The oldest Neo4j whose Cypher can do what the templates ask for."""

_LOST = "nothing of this write was kept"
_MEMBERS = "check the addresses that the cluster advertises, or write bolt in place of neo4j for a single server"


def refuse_old(agent: str, access: Neo4jAccess) -> None:
    """Refuse a server that is older than :data:`OLDEST`, by what it calls itself."""
    match = re.match(r"Neo4j/((\d+)\.(\d+)\S*)", agent)
    if match and (int(match[2]), int(match[3])) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise StoreError(f"{access.uri} is Neo4j {match[1]}", hint=f"kgdx needs {needed} or later")


def silent(address: str, seconds: float) -> StoreError:
    """Return the error for a server that has not said anything for so long."""
    return StoreError(
        f"nothing at {address} has answered for {seconds:g} s",
        hint="check the address, the network between, and that a Neo4j listens there",
    )


@contextmanager
def translated(access: Neo4jAccess, *, writing: bool = False) -> Iterator[None]:
    """Raise the driver's exceptions as ours, each on one line; ``writing`` says whether a write was under way."""
    try:
        yield
    except (StoreError, KeyboardInterrupt):
        raise
    except Exception as error:
        if not type(error).__module__.startswith("neo4j."):
            if isinstance(error, OSError | ValueError):
                raise StoreError(f"cannot reach Neo4j at {access.uri}: {_line(error)}") from error
            raise
        raise _ours(error, access, writing) from error


def _ours(error: Exception, access: Neo4jAccess, writing: bool) -> StoreError:
    from neo4j import exceptions

    if isinstance(error, exceptions.IncompleteCommit):
        return StoreError(
            f"lost {access.uri} while it confirmed a write",
            hint="the write was kept whole or not at all: look, then repeat it",
        )
    if isinstance(error, exceptions.ServiceUnavailable | exceptions.SessionExpired):
        if (without := _without_member(error, access)) is not None:
            return without
        if writing:
            return StoreError(
                f"lost {access.uri} in the middle of a write, it was rolled back", hint=f"{_LOST}; run it again"
            )
        return _unreachable(error, access)
    if type(error).__name__ == "UnsupportedServerProduct":
        return StoreError(
            f"{access.uri} speaks no version of Bolt that this driver knows",
            hint=f"kgdx needs Neo4j {'.'.join(map(str, OLDEST))} or later, at the port of Bolt, which is often 7687",
        )
    if isinstance(error, exceptions.AuthError):
        return _refused(error, access)
    if isinstance(error, exceptions.Neo4jError):
        return _server_error(error, access)
    return StoreError(f"cannot use Neo4j at {access.uri}: {_line(error)}")


def _without_member(error: BaseException, access: Neo4jAccess) -> StoreError | None:
    met = {type(each).__name__ for each in _causes(error)}
    if "WriteServiceUnavailable" in met:
        return StoreError(f"{access.uri} names no leader that can be reached", hint=f"{_LOST}; {_MEMBERS}")
    if "ReadServiceUnavailable" in met:
        return StoreError(f"{access.uri} names no member to read from that can be reached", hint=_MEMBERS)
    return None


def _unreachable(error: BaseException, access: Neo4jAccess) -> StoreError:
    met = list(_causes(error))
    address = access.uri
    for each in met:
        if isinstance(each, socket.gaierror):
            return StoreError(f"the host of {address} is not known", hint="check its name, and this machine's DNS")
        if isinstance(each, ssl.SSLCertVerificationError):
            return _untrusted(each, address)
    if any(isinstance(each, TimeoutError) for each in met):
        return StoreError(f"Neo4j at {address} did not answer in time", hint="check the address and the network")
    if any(isinstance(each, ssl.SSLError) or type(each).__name__ == "BoltSecurityError" for each in met):
        return StoreError(f"{address} does not speak TLS", hint="leave the +s or +ssc out, or switch TLS on there")
    said = " ".join(map(str, met))
    if "looks like HTTP" in said:
        return StoreError(f"{address} speaks HTTP and not Bolt", hint="give the port of Bolt, which is often 7687")
    if "handshake" in said and "+s" not in address:
        hint = "it may want TLS: write bolt+s:// or neo4j+s://"
        return StoreError(f"{address} ended the connection without a word", hint=hint)
    return StoreError(
        f"Neo4j at {address} does not answer", hint="start it (`kgdx neo4j up` for a local one) or check the address"
    )


def _untrusted(error: ssl.SSLCertVerificationError, address: str) -> StoreError:
    """Say what is wrong with a certificate; the codes are OpenSSL's."""
    why = error.verify_message or "it cannot be verified"
    if error.verify_code in (9, 10):
        hint = "renew it on the server, and look at the clocks of both machines"
        return StoreError(f"the certificate of {address} {why.removeprefix('certificate ')}", hint=hint)
    if error.verify_code in (62, 64):
        hint = "give the address by a name that the certificate has"
        return StoreError(f"the certificate of {address} is for another host ({why})", hint=hint)
    hint = "set KGDX_NEO4J_CA to the file of whoever signed it, or write +ssc in place of +s to trust any certificate"
    return StoreError(f"the certificate of {address} is not trusted: {why}", hint=hint)


def _causes(error: BaseException) -> Iterator[BaseException]:
    following: list[BaseException | None] = [error]
    seen: set[int] = set()
    while following:
        each = following.pop(0)
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        following += [each.__cause__, each.__context__, *getattr(each, "exceptions", ())]


def _refused(error: Any, access: Neo4jAccess) -> StoreError:
    if "AuthenticationRateLimit" in str(error.code):
        return StoreError(f"{access.uri} refuses logins after too many wrong ones", hint="wait a few seconds")
    if "Forbidden" in str(error.code):
        return StoreError(f"the user {access.user} may not do this on {access.uri}", hint="ask for more rights")
    if "CredentialsExpired" in str(error.code):
        return StoreError(f"the password on {access.uri} must be changed first", hint="change it in Neo4j Browser")
    return StoreError(
        f"{access.uri} refuses the user {access.user} or the password",
        hint="check KGDX_NEO4J_USER and KGDX_NEO4J_PASSWORD",
    )


def _server_error(error: Any, access: Neo4jAccess) -> StoreError:
    code, text = str(error.code), _line(error.message)
    if "ConstraintValidationFailed" in code:
        return StoreError(f"a node with this id is there already ({text})", hint=_LOST)
    if "DatabaseNotFound" in code or "DatabaseUnavailable" in code:
        named = repr(access.database) if access.database else "of this user"
        return StoreError(f"{access.uri} has no database {named} that is online", hint="check its name")
    if "InvalidBookmark" in code:
        hint = "check KGDX_NEO4J_BOOKMARKS, or unset it"
        return StoreError(f"{access.uri} knows no bookmark as it is set", hint=hint)
    if "BookmarkTimeout" in code:
        hint = "try again, or unset KGDX_NEO4J_BOOKMARKS where it is of a database that is no more"
        return StoreError(f"{access.uri} has not received yet what the bookmarks stand for", hint=hint)
    if "MemoryPoolOutOfMemory" in code or "OutOfMemory" in code:
        return StoreError(f"{access.uri} ran out of memory", hint=f"{_LOST}; give the server more heap")
    if "Statement.AccessMode" in code:
        return StoreError(f"{access.uri} is open for reading only", hint="open it with read_only=False to write")
    if "no such fulltext schema index" in text:
        return StoreError(
            f"the graph at {access.uri} has no full-text index; it was copied there by an earlier version",
            hint="push it again with `kgdx push --force`",
        )
    if "Statement.SyntaxError" in code:
        return TemplateError(f"Neo4j cannot read the template: {text}")
    if "DatabaseError.Transaction" in code:  # it has met what it cannot mend, such as a full disk
        hint = f"see that its disk has space, then restart it (`kgdx neo4j down` and `up` for a local one); {_LOST}"
        return StoreError(f"the database of {access.uri} has stopped working: {text}", hint=hint)
    return StoreError(f"Neo4j at {access.uri} failed: {text}")


def _line(error: object) -> str:
    return " ".join(str(error).split())[:300]


_CONNECT_SECONDS = 4.5
_FETCH_ROWS = 5_000
_RETRY_SECONDS = 10.0  # how long a read, or a managed write, is tried again after the server went away


def driver_package() -> Any:
    """Import the driver without pandas and pyarrow, which take long and serve its parameters alone."""
    away: dict[str, Any] = {} if "neo4j" in sys.modules else dict.fromkeys({"pandas", "pyarrow"} - sys.modules.keys())
    sys.modules.update(away)  # an import of them fails, which the driver expects
    try:
        import neo4j
    finally:
        for name in away:
            del sys.modules[name]
    return neo4j


def connect(access: Neo4jAccess) -> neo4j.Driver:
    """Open a driver and make sure that the server answers and knows the user."""
    package = driver_package()
    logging.getLogger("neo4j").addHandler(logging.NullHandler())  # what it warns of is in our errors
    auth = None if access.password is None else (access.user, access.password)
    uri, encryption = _encryption(access)
    with translated(access):
        driver: neo4j.Driver = package.GraphDatabase.driver(
            uri,
            auth=auth,
            connection_timeout=_CONNECT_SECONDS,
            connection_acquisition_timeout=4 * _CONNECT_SECONDS,
            max_transaction_retry_time=_RETRY_SECONDS,
            notifications_min_severity="OFF",
            **encryption,
        )
    with ExitStack() as opened:
        refuse_old(_greeting(opened.enter_context(driver), access), access)
        opened.pop_all()
    return driver


def _encryption(access: Neo4jAccess) -> tuple[str, dict[str, Any]]:
    scheme, _, place = access.uri.partition("://")
    if access.ca is None or not scheme.lower().endswith("+s"):
        return access.uri, {}
    from neo4j import TrustCustomCAs

    try:
        ssl.create_default_context(cafile=access.ca)
    except (OSError, ValueError) as error:
        why = "which is no file of certificates" if isinstance(error, ssl.SSLError | ValueError) else error.strerror
        hint = "give a file in PEM, with the certificate that signed the server's"
        raise ConfigError(f"KGDX_NEO4J_CA names {access.ca}, {why}", hint=hint) from error
    return f"{scheme[:-2]}://{place}", {"encrypted": True, "trusted_certificates": TrustCustomCAs(str(access.ca))}


def _greeting(driver: neo4j.Driver, access: Neo4jAccess) -> str:
    """What the server calls itself, as soon as it can be known: no name look-up or silent server holds us longer."""

    def ask() -> str:
        with translated(access):
            return driver.get_server_info().agent

    try:
        return within(_CONNECT_SECONDS, ask)
    except TimeoutError:
        raise silent(access.uri, _CONNECT_SECONDS) from None


def within(seconds: float, ask: Callable[[], T]) -> T:
    """Return what ``ask`` returns; it is left to itself, and TimeoutError raised, where that takes longer."""
    found: Future[T] = Future()

    def run() -> None:
        try:
            found.set_result(ask())
        except BaseException as error:  # raised again by the one that waits
            found.set_exception(error)

    Thread(target=run, daemon=True).start()
    return found.result(seconds)


def bookmarks(access: Neo4jAccess) -> neo4j.BookmarkManager:
    """Return what several sessions share so that each reads what the others wrote, and what was written before."""
    package: Any = driver_package()
    known = package.Bookmarks.from_raw_values(access.bookmarks)
    return package.GraphDatabase.bookmark_manager(initial_bookmarks=known)


def serial_of(marks: Iterable[str]) -> int | None:
    """Return the number of the transaction that a server's bookmark names; ``None`` where it is of an unknown form.

    Neo4j writes the database's id (16 bytes) and the number in PackStream, the encoding of Bolt.
    """
    found = list(marks)
    if len(found) != 1 or not found[0].startswith("FB:"):
        return None
    try:
        content = base64.b64decode(found[0][3:] + "=" * (-len(found[0][3:]) % 4))
    except ValueError:
        return None
    if content[1:3] != b"\xcc\x10" or len(content) < 20:
        return None
    size = {0xC8: 1, 0xC9: 2, 0xCA: 4, 0xCB: 8}.get(content[19])
    if size is None:
        return content[19] if content[19] < 0x80 else None
    return int.from_bytes(content[20 : 20 + size], "big", signed=True)


@contextmanager
def session_of(
    driver: neo4j.Driver, access: Neo4jAccess, seen: neo4j.BookmarkManager, mode: str = "READ"
) -> Iterator[neo4j.Session]:
    with translated(access):
        session = driver.session(
            database=access.database, default_access_mode=mode, fetch_size=_FETCH_ROWS, bookmark_manager=seen
        )
    try:
        yield session
    finally:
        with suppress(Exception):  # the block's own error is the one to see
            session.close()


def rows_of(tx: neo4j.ManagedTransaction | neo4j.Transaction, text: str, parameters: Mapping[str, Any]) -> list[Row]:
    result = tx.run(text, parameters)  # type: ignore[arg-type]
    keys = result.keys()
    return [dict(zip(keys, map(plain, record.values()), strict=True)) for record in result]
