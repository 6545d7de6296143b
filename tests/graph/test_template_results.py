"""Every read template on every store, and its compiled form: what plain Python computes, in a total order."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import graph.oracles_actions
import graph.oracles_cases
import graph.oracles_evidence
import graph.oracles_primekg  # noqa: F401  registers its oracles
import kgdx
from graph.conftest import Backend
from graph.graphs import Graph
from graph.oracles import BUILT, ORACLES, sorted_rows
from kgdx import api
from kgdx.config import Settings
from kgdx.graph.compiled_templates import COMPILED, CompiledQueries
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable, Row, Store
from kgdx.graph.snapshot_compile import compile_snapshot, snapshot_tables
from kgdx.graph.templates import templates

READS = sorted(name for name, template in templates().items() if template.kind == "read")


@pytest.fixture(scope="module")
def loaded(backend: Backend, graph: Graph) -> Iterator[Store]:
    store = backend.new(graph.tables())
    store.write("set_build", **BUILT)
    store = backend.reopen(store)
    yield store
    store.close()


@pytest.fixture(scope="module")
def compiled(loaded: Store, tmp_path_factory: pytest.TempPathFactory) -> CompiledQueries:
    return CompiledQueries(compile_snapshot(snapshot_tables(loaded), tmp_path_factory.mktemp("snapshot") / "s", "f"))


def test_every_read_template_has_an_oracle() -> None:
    assert sorted(ORACLES) == READS


def test_every_relation_that_a_template_reads_has_more_than_3000_rows(graph: Graph) -> None:
    counts = graph.counts()
    text = " ".join(templates()[name].text for name in READS)
    read = {type_ for type_, _, _ in graph.edges if type_ in text}
    assert {"HAS_PHENOTYPE", "IS_A", "OBSERVED", "SAME_AS", "CONSIDERED"} <= read
    assert {type_: counts[type_] for type_ in read if counts[type_] <= 3000} == {}


@pytest.mark.parametrize("name", READS)
def test_template_returns_what_the_data_says_compiled_too(
    loaded: Store, compiled: CompiledQueries, graph: Graph, name: str
) -> None:
    oracle = ORACLES[name]
    rows_seen = 0
    for parameters in oracle.parameters(graph):
        rows = loaded.run(name, **parameters)
        assert name not in COMPILED or compiled.run(name, **parameters) == rows, parameters
        got = [_unordered(row, oracle.lists) for row in rows]
        expected = [_unordered(row, oracle.lists) for row in oracle.compute(graph, **parameters)]
        assert _keys(got) == _keys(expected), parameters
        assert all(tuple(row) == templates()[name].columns for row in got)
        if oracle.order:
            by = [column.lstrip("-") for column in oracle.order]
            assert [[r[c] for c in by] for r in got] == [[r[c] for c in by] for r in sorted_rows(got, oracle.order)]
        rows_seen += len(got)
    assert rows_seen > 0, "no parameters gave a row: the comparison would prove nothing"


def _unordered(row: Row, lists: tuple[str, ...]) -> Row:
    return {name: sorted(value) if name in lists else value for name, value in row.items()}


def _keys(rows: list[Row]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True, default=_refuse) for row in rows)


def _refuse(value: Any) -> str:
    raise AssertionError(f"a row holds {type(value).__name__}, which is not plain Python")


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


PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "graph-queries.md"

OURS = {
    "Marfan syndrome": "Tiny epilepsy syndrome 1, autosomal recessive",
    "Ectopia lentis": "Seizure",
    "Scoliosis": "Hypotonia",
    "OMIM:154700": "OMIM:100001",
    "PMID:20301510": "PMID:22222222",
}


def queries() -> list[str]:
    """The queries of the page, asked about what the tiny graph has."""
    found = re.findall(r"```cypher\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return [re.sub("|".join(OURS), lambda name: OURS[name[0]], text) for text in found]


def test_the_embedded_store_answers_all(tiny_graph: Path) -> None:
    with kgdx.open(tiny_graph) as graph:
        answers = [graph.store._database.query(text, {}) for text in queries()]
    assert len(answers) == 12
    assert [number for number, rows in enumerate(answers, 1) if not rows] == []
    inherited = {row["relation"] for row in answers[1]}
    assert inherited <= {"HAS_INHERITANCE", "HAS_COURSE"}
    assert [row["is"] for row in answers[6]] == ["wider"]


def test_neo4j_answers_alike(tiny_graph: Path, neo4j_uri: str) -> None:
    api.push(store=tiny_graph, neo4j=neo4j_uri, force=True)
    with kgdx.open(tiny_graph) as graph, Neo4jStore.unchecked(Settings.load().neo4j(neo4j_uri)) as server:
        for text in queries():
            found = [dict(row) for row in server._driver.execute_query(text).records]
            assert found == [dict(row) for row in graph.store._database.query(text, {})], text
        server.clear()
