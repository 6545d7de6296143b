"""Much at once over Bolt: tables in by batches, tables out column by column, a source removed in parts.

Several sessions write at once, and none waits for what another one has locked. To make an edge locks the nodes at both
its ends; two transactions that share nodes wait for each other, and in a circle at worst. So nodes are sorted into
buckets by a hash of their id, edges into cells by the buckets of their two ends, and two cells are written at the same
time only if they have no bucket in common (the bipartite and monopartite schemes of Neo4j's parallel loader for Spark,
without its rounds: a session takes the next cell that is free).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain, repeat
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kgdx.config import Neo4jAccess
from kgdx.errors import StoreError
from kgdx.graph.neo4j.bolt import rows_of, translated
from kgdx.graph.protocol import Delta, GraphTable, NodeTable, RelationTable, Row
from kgdx.graph.tables import conformed, misfit, present, title, wanted_columns
from kgdx.graph.templates import statement
from kgdx.schema import Schema

if TYPE_CHECKING:
    import neo4j
    import pyarrow as pa

Session = Callable[[], AbstractContextManager["neo4j.Session"]]
"""Opens a session."""

_LEAVE_SECONDS = 3.0  # what an interrupted user waits at most for the batches that are on their way


@dataclass(frozen=True, slots=True)
class SessionRows:
    """Rows that one session writes; no other part that is being written may have any of its locks."""

    rows: pa.Table
    locks: frozenset[tuple[str, int]] = frozenset()


def parts(table: GraphTable, rows: pa.Table, sessions: int, at_least: int) -> list[SessionRows]:
    """Cut a table's rows for some sessions: nodes by ranges of their ids, edges into cells that share no node.

    Example:
        >>> import pyarrow as pa
        >>> nodes = pa.table({"id": ["OMIM:3", "OMIM:1", "OMIM:2"]})
        >>> [part.rows["id"].to_pylist() for part in parts(NodeTable("Disease", nodes), nodes, 2, 2)]
        [['OMIM:1', 'OMIM:2'], ['OMIM:3']]
    """
    if sessions == 1 or rows.num_rows <= at_least:
        return [SessionRows(rows)]
    if isinstance(table, NodeTable):
        size = max(at_least, math.ceil(rows.num_rows / (2 * sessions)))
        rows = rows.sort_by("id")
        return [SessionRows(rows.slice(first, size)) for first in range(0, rows.num_rows, size)]
    number = min(4 * sessions, math.ceil(rows.num_rows / at_least))
    start, end = (_buckets(rows.column(name), number) for name in ("start", "end"))
    order = np.argsort(start * number + end, kind="stable")
    cells, sizes = np.unique(start * number + end, return_counts=True)
    sorted_rows = rows.take(order)
    first = np.cumsum(sizes) - sizes
    found = []
    for cell in np.argsort(-sizes, kind="stable").tolist():  # the largest first, so that none is left alone at the end
        one, other = divmod(int(cells[cell]), number)
        locks = frozenset({(table.start_label, one), (table.end_label, other)})
        found.append(SessionRows(sorted_rows.slice(int(first[cell]), int(sizes[cell])), locks))
    return found


def _buckets(ids: pa.ChunkedArray, number: int) -> np.ndarray:
    import polars as pl

    return cast(np.ndarray, (cast(pl.Series, pl.from_arrow(ids)).hash() % number).to_numpy()).astype(np.int64)


def write_apart(
    todo: Sequence[SessionRows], write: Callable[[neo4j.Session, pa.Table], None], session: Session, sessions: int
) -> None:
    """Write parts, as many at once as there are sessions and no two that share a lock.

    Where one fails, no other one is begun, and its error is raised as soon as those on their way are done. An
    interrupted one does not wait for them for longer than some seconds.
    """
    if sessions == 1 or len(todo) == 1:
        with session() as opened:
            for part in todo:
                write(opened, part.rows)
        return
    turns = _Turns(todo)

    def work() -> None:
        try:
            with session() as opened:
                for part in turns:
                    write(opened, part.rows)
                    turns.done(part)
        except BaseException as error:  # raised again by the one that waits
            turns.fail(error)

    threads = [Thread(target=work, daemon=True) for _ in range(min(sessions, len(todo)))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException as error:
        turns.fail(error)
        for thread in threads:
            thread.join(_LEAVE_SECONDS / len(threads))
        raise
    if turns.failed:
        raise turns.failed[0]


class _Turns:
    def __init__(self, todo: Sequence[SessionRows]) -> None:
        self._todo = list(todo)
        self._locked: set[tuple[str, int]] = set()
        self._turn = Condition()
        self.failed: list[BaseException] = []

    def __iter__(self) -> Iterator[SessionRows]:
        """Yield parts until none is left; waits while those that are left are locked."""
        while (part := self._next()) is not None:
            yield part

    def _next(self) -> SessionRows | None:
        with self._turn:
            while self._todo and not self.failed:
                for at, part in enumerate(self._todo):
                    if not part.locks & self._locked:
                        self._locked |= part.locks
                        return self._todo.pop(at)
                self._turn.wait()
            return None

    def done(self, part: SessionRows) -> None:
        with self._turn:
            self._locked -= part.locks
            self._turn.notify_all()

    def fail(self, error: BaseException) -> None:
        with self._turn:
            self.failed.append(error)
            self._turn.notify_all()


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
    import pyarrow as pa

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
    batches = chain([[]], iter(lambda: result.fetch(_FETCH_RECORDS), []))
    return pa.concat_tables(_arrow(records, keys, wanted, types) for records in batches).combine_chunks()


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
    import pyarrow as pa

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
