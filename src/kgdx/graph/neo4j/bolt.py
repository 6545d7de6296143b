"""The one module that knows the Neo4j driver: it connects, moves much at once, and makes its errors ours."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kgdx.config import Neo4jAccess
from kgdx.errors import StoreError, TemplateError
from kgdx.graph.protocol import Delta, GraphTable, NodeTable, RelationTable, Row, plain
from kgdx.graph.tables import columns_of, conformed, misfit, present, title
from kgdx.graph.templates import statement
from kgdx.schema import Schema

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


def bookmarks() -> neo4j.BookmarkManager:
    """Return what several sessions share so that each reads what the others wrote."""
    import neo4j

    return neo4j.GraphDatabase.bookmark_manager()


def serial_of(marks: Iterable[str]) -> int | None:
    """Return the number of the transaction that a server's bookmark names; ``None`` where it is of an unknown form.

    Neo4j writes the database's id (16 bytes) and the number in PackStream, the encoding of Bolt.

    Example:
        >>> serial_of(["FB:kcwQx1Bc5KMdREK6yOaxOVEIAW6Q"]), serial_of(["FB:kcwQx1Bc5KMdREK6yOaxOVEIAckBn5A="])
        (110, 415)
        >>> serial_of(["neo4j:7"]) is None
        True
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
    if "no such fulltext schema index" in text:
        return StoreError(
            f"the graph at {access.uri} has no full-text index; it was copied there by an earlier version",
            hint="push it again with `kgdx push --force`",
        )
    if "Statement.SyntaxError" in code:
        return TemplateError(f"Neo4j cannot read the template: {text}")
    return StoreError(f"Neo4j at {access.uri} failed: {text}")


def _line(error: object) -> str:
    return " ".join(str(error).split())[:300]


# Much at once over Bolt: tables in by batches, tables out column by column, a source removed in parts.


_LOAD_ROWS = 10_000
_FETCH_RECORDS = 500  # a record of an export holds hundreds of rows
_INCOMPLETE = "the graph there is incomplete now; mend the cause and replace it with `kgdx push --force`"


def load_table(session: neo4j.Session, table: GraphTable, schema: Schema, access: Neo4jAccess) -> int:
    """Make the rows of a table, each batch in a transaction of its own; returns how many.

    Raises:
        StoreError: The table does not fit the schema, an id is there twice, an edge has an unknown end.
    """
    rows = conformed(table, schema)
    if isinstance(table, NodeTable):
        text = statement("load_nodes", schema, label=table.label)
    else:
        text = statement("load_relations", schema, type=table.type, start=table.start_label, end=table.end_label)
    for at in range(0, rows.num_rows, _LOAD_ROWS):
        part = [present(row) for row in rows.slice(at, _LOAD_ROWS).to_pylist()]
        if isinstance(table, RelationTable):
            part = [{"start": row.pop("start"), "end": row.pop("end"), "properties": row} for row in part]
        try:
            with translated(access, writing=True):
                session.execute_write(_load_part, text, part)
        except _MissingEnd:
            raise _missing_end(session, table, part, schema, access) from None
        except StoreError as error:
            raise StoreError(f"{title(table)}: {error.message}", hint=_INCOMPLETE) from error
    return int(rows.num_rows)


def export_table(
    tx: neo4j.ManagedTransaction,
    table: GraphTable,
    columns: Sequence[str],
    schema: Schema,
    starts: Sequence[str] | None = None,
) -> pa.Table:
    """All rows of the class or relation that ``table`` names: its keys and ``columns``; absent lists are empty.

    Args:
        tx: A running transaction.
        table: Names the class, or the relation and its ends.
        columns: Properties.
        schema: The ontology.
        starts: Only the edges of these nodes; ``None`` for all.

    Raises:
        StoreError: The ontology has no such class, relation or property.
    """
    types = columns_of(table, schema)
    for column in columns:
        if column not in types:
            raise StoreError(
                f"{title(table)} has no property {column!r} in the ontology", hint="`kgdx schema` lists them"
            )
    if isinstance(table, NodeTable):
        keys: tuple[str, ...] = ("id",)
        text = statement("export_nodes", schema, label=table.label)
    else:
        keys = ("start", "end")
        name = "export_relations" if starts is None else "export_relations_of"
        text = statement(name, schema, type=table.type, start=table.start_label, end=table.end_label)
    wanted = [column for column in dict.fromkeys(columns) if column not in keys]
    result = tx.run(text, {"columns": wanted} if starts is None else {"columns": wanted, "ids": list(starts)})
    parts = [_arrow([], keys, wanted, types)]
    while records := result.fetch(_FETCH_RECORDS):
        parts.append(_arrow(records, keys, wanted, types))
    return pa.concat_tables(parts).combine_chunks()


def remove_rows(session: neo4j.Session, delta: Delta, schema: Schema, access: Neo4jAccess) -> None:
    """Remove what a delta (conformed) removes, edges first, each batch in a transaction of its own.

    Raises:
        StoreError: A row that is not there, or a node that keeps an edge.
    """
    for relation in (table for table in delta.removed if isinstance(table, RelationTable)):
        ends = {"start": relation.start_label, "end": relation.end_label}
        text = statement("remove_relations", schema, type=relation.type, **ends)
        names = [name for name in relation.rows.column_names if name not in ("start", "end")]
        grouped = _counted(relation.rows.to_pylist(), names)
        for at in range(0, len(grouped), _LOAD_ROWS):
            part = grouped[at : at + _LOAD_ROWS]
            found = _written(session, text, {"rows": part, "names": names}, access)
            if found != (wanted := sum(row["n"] for row in part)):
                raise misfit(f"{wanted - found:,} {title(relation)} that should go are not there")
    for node in (table for table in delta.removed if isinstance(table, NodeTable)):
        text = statement("remove_nodes", schema, label=node.label)
        ids = node.rows.column("id").to_pylist()
        for at in range(0, len(ids), _LOAD_ROWS):
            gone = ids[at : at + _LOAD_ROWS]
            try:
                found = _written(session, text, {"ids": gone}, access)
            except StoreError as error:
                if "still has relationships" not in error.message:
                    raise
                raise misfit(f"a {node.label} that should go has edges that stay ({error.message})") from error
            if found != len(gone):
                raise misfit(f"{len(gone) - found:,} {node.label} that should go are not there")


def change_nodes(session: neo4j.Session, node: NodeTable, schema: Schema, access: Neo4jAccess) -> None:
    """Give nodes (conformed) new properties, each batch in a transaction of its own.

    Raises:
        StoreError: One of them is not there.
    """
    text = statement("replace_nodes", schema, label=node.label)
    for at in range(0, node.rows.num_rows, _LOAD_ROWS):
        rows = [present(row) for row in node.rows.slice(at, _LOAD_ROWS).to_pylist()]
        if _written(session, text, {"rows": rows}, access) != len(rows):
            raise misfit(f"not every {node.label} whose properties change is there")


def _counted(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """Rows that name an edge, each different one once and with how many there are of it."""
    found: dict[str, Row] = {}
    for row in rows:
        identity = present({name: row[name] for name in names})
        entry = {"start": row["start"], "end": row["end"], "identity": identity, "n": 0}
        found.setdefault(repr(entry), entry)["n"] += 1
    return list(found.values())


def _written(session: neo4j.Session, text: str, parameters: dict[str, Any], access: Neo4jAccess) -> int:
    with translated(access, writing=True):
        return int(session.execute_write(rows_of, text, parameters)[0]["n"])


class _MissingEnd(Exception):
    """An edge whose end is not among the nodes; the batch is rolled back."""


def _load_part(tx: neo4j.ManagedTransaction, text: str, part: list[dict[str, Any]]) -> None:
    if rows_of(tx, text, {"rows": part})[0]["n"] != len(part):
        raise _MissingEnd


def _missing_end(
    session: neo4j.Session, table: GraphTable, part: list[dict[str, Any]], schema: Schema, access: Neo4jAccess
) -> StoreError:
    assert isinstance(table, RelationTable)
    for end, label in (("start", table.start_label), ("end", table.end_label)):
        ids = {row[end] for row in part}
        with translated(access):
            found = session.execute_read(rows_of, statement("known_ids", schema, label=label), {"ids": sorted(ids)})
        for id_ in sorted(ids - {row["id"] for row in found}):
            return StoreError(f"{title(table)}: no {label} {id_}", hint="load the nodes first, or quarantine the row")
    return StoreError(f"{title(table)}: not every edge was made", hint="the graph changed meanwhile; load it again")


def _arrow(
    records: Sequence[neo4j.Record], keys: tuple[str, ...], columns: Sequence[str], types: Mapping[str, pa.DataType]
) -> pa.Table:
    """One row for each entry of the records' lists; a lone key in front of a list of keys stands for all of them."""
    parts = [tuple(record.values()) for record in records]
    last = len(keys) - 1
    out = {keys[last]: list(chain.from_iterable(part[last] for part in parts))}
    if last:
        out[keys[0]] = list(chain.from_iterable(repeat(part[0], len(part[last])) for part in parts))
    table = {key: pa.array(out[key], pa.string()) for key in keys}
    for at, column in enumerate(columns):
        values = list(chain.from_iterable(part[last + 1][at] for part in parts))
        if pa.types.is_list(types[column]):
            values = [[] if value is None else value for value in values]
        table[column] = pa.array(values, types[column])
    return pa.table(table)
