"""The one module that knows the Neo4j driver: it connects, and turns every exception of the driver into one of ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kgdx.config import Neo4jAccess
from kgdx.errors import StoreError, TemplateError
from kgdx.store.protocol import Row
from kgdx.store.rows import plain

if TYPE_CHECKING:
    import neo4j

_CONNECT_SECONDS = 5.0
_RETRY_SECONDS = 10.0  # how long a read, or a managed write, is tried again after the server went away

_LOST = "nothing of this write was kept"


def connect(access: Neo4jAccess) -> neo4j.Driver:
    """Open a driver and make sure that the server answers and knows the user.

    Raises:
        StoreError: The server is down, or refuses the user.
    """
    import neo4j

    auth = None if access.password is None else (access.user, access.password)
    with translated(access):
        driver = neo4j.GraphDatabase.driver(
            access.uri,
            auth=auth,
            connection_timeout=_CONNECT_SECONDS,
            connection_acquisition_timeout=4 * _CONNECT_SECONDS,
            max_transaction_retry_time=_RETRY_SECONDS,
            notifications_min_severity="OFF",
        )
    try:
        with translated(access):
            driver.verify_connectivity()
    except BaseException:
        driver.close()
        raise
    return driver


def rows_of(tx: neo4j.ManagedTransaction | neo4j.Transaction, text: str, parameters: Mapping[str, Any]) -> list[Row]:
    """Run a statement and return its rows as plain Python."""
    result = tx.run(text, parameters)  # type: ignore[arg-type]
    keys = result.keys()
    return [dict(zip(keys, map(plain, record.values()), strict=True)) for record in result]


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
        if writing:
            return StoreError(
                f"lost {access.uri} in the middle of a write, it was rolled back", hint=f"{_LOST}; run it again"
            )
        return StoreError(
            f"Neo4j at {access.uri} does not answer",
            hint="start it (`kgdx neo4j up` for a local one) or check the address",
        )
    if isinstance(error, exceptions.AuthError):
        return _refused(error, access)
    if isinstance(error, exceptions.Neo4jError):
        return _server_error(error, access)
    return StoreError(f"cannot use Neo4j at {access.uri}: {_line(error)}")


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
        return StoreError(f"{access.uri} has no database {access.database!r} that is online", hint="check its name")
    if "MemoryPoolOutOfMemory" in code or "OutOfMemory" in code:
        return StoreError(f"{access.uri} ran out of memory", hint=f"{_LOST}; give the server more heap")
    if "Statement.AccessMode" in code:
        return StoreError(f"{access.uri} is open for reading only", hint="open it with read_only=False to write")
    if "Statement.SyntaxError" in code:
        return TemplateError(f"Neo4j cannot read the template: {text}")
    return StoreError(f"Neo4j at {access.uri} failed: {text}")


def _line(error: object) -> str:
    return " ".join(str(error).split())[:300]
