"""What is done with the Neo4j driver: it connects, and moves much at once."""

from __future__ import annotations

import base64
import logging
import ssl
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from itertools import chain, repeat
from threading import Thread
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kgdx.config import Neo4jAccess
from kgdx.errors import ConfigError, StoreError
from kgdx.graph.neo4j.bolt_errors import refuse_old, silent, translated
from kgdx.graph.neo4j.parallel import Session, parts, write_apart
from kgdx.graph.protocol import Delta, GraphTable, NodeTable, RelationTable, Row, T, plain
from kgdx.graph.tables import conformed, misfit, present, title, wanted_columns
from kgdx.graph.templates import statement
from kgdx.schema import Schema

if TYPE_CHECKING:
    import neo4j

_CONNECT_SECONDS = 4.5
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


def rows_of(tx: neo4j.ManagedTransaction | neo4j.Transaction, text: str, parameters: Mapping[str, Any]) -> list[Row]:
    """Run a statement and return its rows as plain Python."""
    result = tx.run(text, parameters)  # type: ignore[arg-type]
    keys = result.keys()
    return [dict(zip(keys, map(plain, record.values()), strict=True)) for record in result]


# Much at once over Bolt: tables in by batches, tables out column by column, a source removed in parts.


_LOAD_ROWS = 10_000
_FETCH_RECORDS = 500  # a record of an export holds hundreds of rows
_INCOMPLETE = "the graph there is incomplete now; mend the cause and replace it with `kgdx push --force`"


def load_table(session: Session, table: GraphTable, schema: Schema, access: Neo4jAccess, sessions: int = 1) -> int:
    """Make the rows of a table, each batch in a transaction of its own; returns how many."""
    rows = conformed(table, schema)
    if isinstance(table, NodeTable):
        text = statement("load_nodes", schema, label=table.label)
    else:
        text = statement("load_relations", schema, type=table.type, start=table.start_label, end=table.end_label)

    def write(opened: neo4j.Session, rows: pa.Table) -> None:
        for at in range(0, rows.num_rows, _LOAD_ROWS):
            part = [present(row) for row in rows.slice(at, _LOAD_ROWS).to_pylist()]
            if isinstance(table, RelationTable):
                part = [{"start": row.pop("start"), "end": row.pop("end"), "properties": row} for row in part]
            try:
                with translated(access, writing=True):
                    opened.execute_write(_load_part, text, part)
            except _MissingEnd:
                raise _missing_end(opened, table, part, schema, access) from None
            except StoreError as error:
                raise StoreError(f"{title(table)}: {error.message}", hint=_INCOMPLETE) from error

    write_apart(parts(table, rows, sessions, _LOAD_ROWS), write, session, sessions)
    return int(rows.num_rows)


def export_table(
    tx: neo4j.ManagedTransaction,
    table: GraphTable,
    columns: Sequence[str],
    schema: Schema,
    starts: Sequence[str] | None = None,
) -> pa.Table:
    """All rows of the class or relation that ``table`` names, or the edges of nodes; absent lists are empty."""
    types = wanted_columns(table, columns, schema)
    if isinstance(table, NodeTable):
        keys: tuple[str, ...] = ("id",)
        text = statement("export_nodes", schema, label=table.label)
    else:
        keys = ("start", "end")
        name = "export_relations" if starts is None else "export_relations_of"
        text = statement(name, schema, type=table.type, start=table.start_label, end=table.end_label)
    wanted = [column for column in types if column not in keys]
    result = tx.run(text, {"columns": wanted} if starts is None else {"columns": wanted, "ids": list(starts)})
    parts = [_arrow([], keys, wanted, types)]
    while records := result.fetch(_FETCH_RECORDS):
        parts.append(_arrow(records, keys, wanted, types))
    return pa.concat_tables(parts).combine_chunks()


def remove_rows(session: neo4j.Session, delta: Delta, schema: Schema, access: Neo4jAccess) -> None:
    """Remove what a delta (conformed) removes, edges first, each batch in a transaction of its own."""
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
    """Give nodes (conformed) new properties, each batch in a transaction of its own."""
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
