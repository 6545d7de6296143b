"""What a copy on a server is compared by: small relations and nodes whole, large relations by counts and samples."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

import pytest

from graph.conftest import Neo4jBackend
from graph.graphs import Graph
from kgdx.graph import copies as compare
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.graph.protocol import NodeTable, RelationTable

ANNOTATED = ("HAS_PHENOTYPE", "Disease", "Phenotype")
TITLE = "Disease-HAS_PHENOTYPE->Phenotype"


@pytest.fixture(scope="module")
def held(small_graph: Graph, neo4j_uri: str) -> Iterator[Neo4jStore]:
    backend = Neo4jBackend(neo4j_uri)
    store = backend.new(small_graph.tables())
    assert isinstance(store, Neo4jStore)
    yield store
    backend.close()


def without_reference(graph: Graph) -> None:
    """One of a thousand edges lacks a property: only the number of values tells."""
    next(edge for edge in graph.of(*ANNOTATED) if "references" in edge).pop("references")


def of_another_source(graph: Graph) -> None:
    graph.of(*ANNOTATED)[-1]["source"] = "another"


def all_reworded(graph: Graph) -> None:
    """As many values as before, all of them other ones: only the sample tells."""
    for edge in graph.of(*ANNOTATED):
        edge["evidence"] = "TAS"


@pytest.mark.neo4j
@pytest.mark.parametrize("change", [without_reference, of_another_source, all_reworded])
@pytest.mark.parametrize("whole_rows", [0, 1_000_000])
def test_a_changed_relation_is_found(
    held: Neo4jStore, small_graph: Graph, change: Callable[[Graph], None], whole_rows: int
) -> None:
    graph = copy.deepcopy(small_graph)
    change(graph)
    assert compare.difference(graph.tables(), held, whole_rows=whole_rows) == TITLE


@pytest.mark.neo4j
@pytest.mark.parametrize("whole_rows", [0, 1_000_000])
def test_an_equal_graph_has_no_difference(
    held: Neo4jStore, small_graph: Graph, monkeypatch: pytest.MonkeyPatch, whole_rows: int
) -> None:
    monkeypatch.setattr(compare, "SAMPLE_ROWS", 50)
    assert compare.difference(small_graph.tables(), held, whole_rows=whole_rows) is None


@pytest.mark.neo4j
def test_a_changed_node_is_found(held: Neo4jStore, small_graph: Graph) -> None:
    graph = copy.deepcopy(small_graph)
    graph.nodes["Gene"][0]["name"] += "!"
    assert compare.difference(graph.tables(), held, whole_rows=0) == "Gene"


def test_only_large_relations_are_sampled(small_graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not compare.sampled(small_graph.tables())
    monkeypatch.setattr(compare, "WHOLE_ROWS", 100)
    assert compare.sampled(table for table in small_graph.tables() if isinstance(table, RelationTable))
    assert not compare.sampled(table for table in small_graph.tables() if isinstance(table, NodeTable))
