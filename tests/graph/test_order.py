"""The order of rows is total: whichever way a graph was loaded, both stores return equal lists, and the oracle's."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from graph.conftest import Backend
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable, Row, Store

CASE = "case:0000000000000001"
TERMS = [f"HP:{number:07d}" for number in range(1, 40)]
STATED = ("id", "onset", "span_start", "span_end", "matched", "method", "score", "text")


def findings(type: str, chance: random.Random) -> RelationTable:
    """Findings that agree in most of what they state, with absent values, in any order."""
    values: dict[str, tuple[pa.DataType, Sequence[Any]]] = {
        "onset": (pa.string(), (None, "P1Y", "HP:0003577")),
        "span_start": (pa.int64(), (None, 1, 3, 12)),
        "span_end": (pa.int64(), (None, 4, 20)),
        "matched": (pa.string(), (None, "a", "B", "é")),
        "method": (pa.string(), (None, "exact")),
        "score": (pa.float64(), (None, 0.5, 1.0)),
        "text": (pa.string(), (None, "fits")),
    }
    rows = {(chance.choice(TERMS), *(chance.choice(some) for _, some in values.values())) for _ in range(400)}
    columns = list(zip(*chance.sample(sorted(rows, key=str), len(rows)), strict=True))
    stated = {name: pa.array(columns[at], kind) for at, (name, (kind, _)) in enumerate(values.items(), 1)}
    ends = {"start": [CASE] * len(rows), "end": list(columns[0]), "source": ["user"] * len(rows)}
    return RelationTable(type, "PatientCase", "Phenotype", pa.table({**ends, **stated}))


def graph_in_any_order(seed: int) -> list[GraphTable]:
    rows, order = random.Random(1), random.Random(seed)
    steps = sorted({(rows.choice(TERMS), rows.choice(TERMS)) for _ in range(150)})
    nodes = order.sample(TERMS, len(TERMS))
    order.shuffle(steps)
    tables: list[GraphTable] = [
        NodeTable("Phenotype", pa.table({"id": nodes, "name": [f"n{int(id[3:]) % 5}" for id in nodes]})),
        NodeTable("PatientCase", pa.table({"id": [CASE], "source": ["user"]})),
    ]
    child, parent = zip(*steps, strict=True)
    isa = pa.table({"start": child, "end": parent, "source": ["hp"] * len(steps)})
    found = [findings(type, rows) for type in ("OBSERVED", "EXCLUDED")]
    turned = [replace(each, rows=each.rows.take(order.sample(range(n := each.rows.num_rows), n))) for each in found]
    return [*tables, RelationTable("IS_A", "Phenotype", "Phenotype", isa), *turned]


@pytest.fixture(scope="module")
def stores(backend: Backend) -> Iterator[list[tuple[list[Row], list[list[Row]]]]]:
    def asked(store: Store) -> tuple[list[Row], list[list[Row]]]:
        near = [store.run("phenotype_neighbours", phenotype=id) for id in TERMS]
        return store.run("case_findings", case_id=CASE), near

    yield [asked(backend.new(graph_in_any_order(seed))) for seed in (3, 4)]


def place(row: Row, names: Sequence[str]) -> tuple[Any, ...]:
    return tuple((row[name] is None, "" if row[name] is None else row[name]) for name in names)


def test_the_order_does_not_depend_on_that_of_the_load(stores: Any) -> None:
    assert stores[0] == stores[1]


def test_findings_and_neighbours_come_in_the_stated_order(stores: Any) -> None:
    found, near = stores[0]
    parts = [[row for row in found if row["relation"] == relation] for relation in ("OBSERVED", "EXCLUDED")]
    assert found == [row for part in parts for row in sorted(part, key=lambda row: place(row, STATED))]
    assert all(rows == sorted(rows, key=lambda row: (row["direction"], row["id"])) for rows in near)
    assert len(found) > 500 and sum(map(len, near)) > 200
