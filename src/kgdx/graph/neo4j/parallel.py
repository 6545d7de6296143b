"""Work that several sessions of one database do at once, so that none of them waits for what another one has locked.

To make an edge locks the nodes at both its ends. Two transactions that share nodes wait for each other, and in a circle
at worst. So nodes are sorted into buckets by a hash of their id, edges into cells by the buckets of their two ends, and
two cells are written at the same time only if they have no bucket in common (the bipartite and monopartite schemes of
Neo4j's parallel loader for Spark, without its rounds: a session takes the next cell that is free).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Condition, Thread
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from kgdx.graph.protocol import GraphTable, NodeTable

if TYPE_CHECKING:
    import neo4j

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
    sorted_rows = rows.take(pa.array(order))
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
    """Hands out parts, each to one thread, and none that shares a lock with one that is being written."""

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
