"""The Neo4j driver: how it connects, what it reads, and how long anybody waits for it."""

from __future__ import annotations

import base64
import logging
import ssl
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

from kgdx.config import Neo4jAccess
from kgdx.errors import ConfigError
from kgdx.graph.neo4j.bolt_errors import refuse_old, silent, translated
from kgdx.graph.protocol import Row, T, plain

if TYPE_CHECKING:
    import neo4j

_CONNECT_SECONDS = 4.5
_FETCH_ROWS = 5_000
_RETRY_SECONDS = 10.0  # how long a read, or a managed write, is tried again after the server went away


def driver_package() -> Any:
    """Import the driver without pandas, which takes longer than the driver and serves its parameters alone."""
    if not {"neo4j", "pandas"} & sys.modules.keys():
        sys.modules["pandas"] = None  # type: ignore[assignment]  # an import of it fails, which the driver expects
        try:
            import neo4j
        finally:
            del sys.modules["pandas"]
    import neo4j

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
    try:
        refuse_old(_greeting(driver, access), access)
    except BaseException:
        driver.close()
        raise
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
