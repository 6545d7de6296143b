"""Every read template, on every store, returns what plain Python computes from the same data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import graph.oracles_actions
import graph.oracles_cases
import graph.oracles_evidence
import graph.oracles_primekg  # noqa: F401  registers its oracles
from graph.conftest import Backend
from graph.graphs import Graph
from graph.oracles import BUILT, ORACLES, sorted_rows
from kgdx.graph.protocol import Row, Store
from kgdx.graph.templates import templates

READS = sorted(name for name, template in templates().items() if template.kind == "read")


@pytest.fixture(scope="module")
def loaded(backend: Backend, graph: Graph) -> Iterator[Store]:
    store = backend.new(graph.tables())
    store.write("set_build", **BUILT)
    store = backend.reopen(store)
    yield store
    store.close()


def test_every_read_template_has_an_oracle() -> None:
    assert sorted(ORACLES) == READS


def test_every_relation_that_a_template_reads_has_more_than_3000_rows(graph: Graph) -> None:
    counts = graph.counts()
    text = " ".join(templates()[name].text for name in READS)
    read = {type_ for type_, _, _ in graph.edges if type_ in text}
    assert {"HAS_PHENOTYPE", "IS_A", "OBSERVED", "SAME_AS", "CONSIDERED"} <= read
    assert {type_: counts[type_] for type_ in read if counts[type_] <= 3000} == {}


@pytest.mark.parametrize("name", READS)
def test_template_returns_what_the_data_says(loaded: Store, graph: Graph, name: str) -> None:
    oracle = ORACLES[name]
    rows_seen = 0
    for parameters in oracle.parameters(graph):
        got = [_unordered(row, oracle.lists) for row in loaded.run(name, **parameters)]
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
