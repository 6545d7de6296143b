"""Work that several sessions do at once: every row once, no two parts that share a node at a time, and a clean end."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from kgdx.graph.neo4j.bulk_tables import SessionRows, parts, write_apart
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable

EDGES = pa.table({"start": [f"d{n % 97}" for n in range(2_000)], "end": [f"p{n % 31}" for n in range(2_000)]})
LOOPS = pa.table({"start": [f"d{n % 97}" for n in range(2_000)], "end": [f"d{n % 31}" for n in range(2_000)]})
NODES = pa.table({"id": [f"d{n}" for n in range(2_000)]})
TABLES: list[GraphTable] = [
    NodeTable("Disease", NODES),
    RelationTable("HAS_PHENOTYPE", "Disease", "Phenotype", EDGES),
    RelationTable("IS_A", "Disease", "Disease", LOOPS),
]


@contextmanager
def session() -> Iterator[Any]:
    yield None


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("sessions", [1, 2, 5])
def test_every_row_is_in_one_part(table: GraphTable, sessions: int) -> None:
    cut = parts(table, table.rows, sessions, at_least=50)
    rows = Counter(str(row) for part in cut for row in part.rows.to_pylist())
    assert rows == Counter(map(str, table.rows.to_pylist()))
    assert len(cut) >= sessions


@pytest.mark.parametrize("table", TABLES[1:], ids=lambda table: table.name)
def test_parts_that_share_a_node_share_a_lock(table: RelationTable) -> None:
    cut = parts(table, table.rows, 3, at_least=50)
    touched = [
        {(table.start_label, id) for id in part.rows["start"].to_pylist()}
        | {(table.end_label, id) for id in part.rows["end"].to_pylist()}
        for part in cut
    ]
    for one, nodes in zip(cut, touched, strict=True):
        assert all(one.locks & other.locks for other, those in zip(cut, touched, strict=True) if nodes & those)


def test_few_rows_stay_together() -> None:
    assert len(parts(TABLES[1], EDGES, 8, at_least=10_000)) == 1


def test_parts_are_written_at_once_and_never_beside_one_with_the_same_lock() -> None:
    cut = parts(TABLES[2], LOOPS, 4, at_least=50)
    running: list[SessionRows] = []
    most, guard = [0], threading.Lock()
    by_rows = {id(part.rows): part for part in cut}
    written: Counter[int] = Counter()

    def write(_: Any, rows: pa.Table) -> None:
        part = by_rows[id(rows)]
        with guard:
            assert not any(part.locks & other.locks for other in running)
            running.append(part)
            most[0] = max(most[0], len(running))
            written[id(rows)] += 1
        time.sleep(0.002)
        with guard:
            running.remove(part)

    write_apart(cut, write, session, 4)
    assert set(written.values()) == {1} and len(written) == len(cut) and 1 < most[0] <= 4


def test_what_fails_is_raised_and_nothing_else_is_begun() -> None:
    begun: list[int] = []

    def write(_: Any, rows: pa.Table) -> None:
        begun.append(rows.num_rows)
        raise ValueError("no more room")

    with pytest.raises(ValueError, match="no more room"):
        write_apart([SessionRows(NODES.slice(at, 1)) for at in range(100)], write, session, 3)
    assert 1 <= len(begun) <= 3


def test_an_interruption_does_not_wait_for_a_server_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    from kgdx.graph.neo4j import bulk_tables as parallel

    monkeypatch.setattr(parallel, "_LEAVE_SECONDS", 0.1)
    freed, begun = threading.Event(), []

    def write(_: Any, rows: pa.Table) -> None:
        begun.append(rows)
        freed.wait(60)

    def interrupt(self: threading.Thread, timeout: float | None = None) -> None:
        if timeout is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "join", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_apart([SessionRows(NODES.slice(at, 1)) for at in range(10)], write, session, 2)
    freed.set()
    assert len(begun) <= 2
