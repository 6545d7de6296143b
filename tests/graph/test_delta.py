"""A delta turns one graph into another, on every store, and one that does not fit is refused."""

from __future__ import annotations

import copy
import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from graph.arcade.test_embedded import process
from graph.conftest import Backend
from graph.graphs import AWKWARD, Graph, Row
from kgdx.errors import StoreError
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.protocol import Delta, GraphTable, NodeTable, RelationTable
from kgdx.graph.tables import fingerprint

ANNOTATED = ("HAS_PHENOTYPE", "Disease", "Phenotype")
GENES = ("ASSOCIATED_GENE", "Disease", "Gene")


def tables_of(nodes: dict[str, list[Row]], edges: dict[tuple[str, str, str], list[Row]] | None = None) -> list[Any]:
    """Rows as tables, edges before nodes: a store may not rely on the order."""
    graph = Graph()
    for key, rows in (edges or {}).items():
        graph.edges[key] += rows
    for label, rows in nodes.items():
        graph.nodes[label] += rows
    return sorted(graph.tables(), key=lambda table: isinstance(table, NodeTable))


def every_third(rows: list[Row]) -> list[Row]:
    gone = rows[::3]
    del rows[::3]
    return gone


def changed(graph: Graph) -> tuple[Graph, Delta]:
    """The graph after every kind of change, and the delta that makes it."""
    after = copy.deepcopy(graph)
    annotations = after.of(*ANNOTATED)
    gone = {ANNOTATED: every_third(annotations), GENES: every_third(after.of(*GENES))}
    touched = {edge[end] for edges in after.edges.values() for edge in edges for end in ("start", "end")}
    genes = after.nodes["Gene"]
    lonely = [row for row in genes if row["id"] not in touched]
    genes[:] = [row for row in genes if row["id"] in touched]
    new: Row = {"id": "NCBIGene:new", "name": AWKWARD[0], "source": "later"}
    phrase: Row = {"id": "KGDX:alone", "name": AWKWARD[4], "source": "later"}
    ends = {"start": annotations[0]["start"], "end": annotations[-1]["end"], "source": "later"}
    more = {
        ANNOTATED: [ends | {"modifiers": ["a", AWKWARD[5]]}, ends | {"numerator": 3, "percentage": 12.5}],
        GENES: [{"start": ends["start"], "end": new["id"], "source": "later", "association": "MENDELIAN"}],
    }
    for key, rows in more.items():
        after.of(*key).extend(rows)
    genes.append(new)
    after.nodes["Symptom"].append(phrase)
    diseases = after.nodes["Disease"]
    diseases[:20] = [{"id": row["id"], "source": "later", "synonyms": [AWKWARD[1], ""]} for row in diseases[:20]]
    return after, Delta(
        removed=tables_of({"Gene": [{"id": row["id"]} for row in lonely]}, gone),
        added=tables_of({"Gene": [new], "Symptom": [phrase]}, more),
        changed=tables_of({"Disease": diseases[:20]}),
    )


def lonely_gene(graph: Graph) -> None:
    graph.nodes["Gene"].append({"id": "NCBIGene:lonely", "name": "LONELY", "source": "made0"})


@pytest.fixture(scope="module")
def before(small_graph: Graph) -> Graph:
    graph = copy.deepcopy(small_graph)
    lonely_gene(graph)
    return graph


def test_a_delta_turns_one_graph_into_the_other(backend: Backend, before: Graph) -> None:
    after, delta = changed(before)
    store = backend.new(before.tables())
    store.apply(delta)
    assert {name: n for name, n in store.counts().items() if name != "Build"} == after.counts()
    assert store.fingerprint() == fingerprint(after.tables()) != fingerprint(before.tables())
    again = backend.reopen(store)
    assert [row["id"] for row in again.run("disease_by_id", disease=after.nodes["Disease"][0]["id"])]
    assert again.fingerprint() == fingerprint(after.tables())


def test_the_opposite_delta_leads_back(backend: Backend, before: Graph) -> None:
    after, there = changed(before)
    store = backend.new(before.tables())
    store.apply(there)
    known = before.index("Disease")
    old = {"Gene": [row for row in before.nodes["Gene"] if after.node("Gene", row["id"]) is None]}
    diseases = [known[row["id"]] for row in after.nodes["Disease"][:20]]
    gone = [table for table in there.removed if isinstance(table, RelationTable)]
    lost = {(row["start"], row["end"]) for table in gone for row in table.rows.to_pylist()}
    assert lost
    edges = {key: before.of(*key)[::3] for key in (ANNOTATED, GENES)}
    store.apply(Delta(there.added, tables_of(old, edges), tables_of({"Disease": diseases})))
    assert store.fingerprint() == fingerprint(before.tables())


def test_an_empty_delta_changes_nothing(backend: Backend, before: Graph) -> None:
    store = backend.new(before.tables())
    store.apply(Delta())
    store.apply(Delta(removed=[NodeTable("Gene", pa.table({"id": pa.array([], pa.string())}))]))
    assert store.fingerprint() == fingerprint(before.tables())


def test_of_equal_edges_as_many_go_as_there_are_rows(backend: Backend, before: Graph) -> None:
    edge = before.of(*GENES)[0]
    graph = copy.deepcopy(before)
    graph.of(*GENES).extend([edge, edge])
    store = backend.new(graph.tables())
    store.apply(Delta(removed=tables_of({}, {GENES: [edge, edge]})))
    assert store.fingerprint() == fingerprint(before.tables())


EDGE: Row = {"start": "OMIM:0000001", "end": "HP:none", "source": "made0"}


@pytest.mark.parametrize(
    ("delta", "says"),
    [
        (Delta(removed=tables_of({"Gene": [{"id": "NCBIGene:none"}]})), "1 Gene that should go are not there"),
        (Delta(removed=tables_of({"Phenotype": [{"id": "HP:0000001"}]})), "Phenotype.* edges that stay"),
        (Delta(removed=tables_of({}, {ANNOTATED: [EDGE]})), "HP:none|1 Disease-HAS_PHENOTYPE->Phenotype"),
        (Delta(removed=tables_of({}, {ANNOTATED: [EDGE | {"end": "HP:0000001", "onset": "HP:none"}]})), "not there"),
        (Delta(added=tables_of({}, {ANNOTATED: [EDGE]})), "no Phenotype HP:none"),
        (Delta(added=tables_of({"Gene": [{"id": "NCBIGene:0000001", "source": "s"}]})), "there (twice|already)"),
        (Delta(changed=tables_of({"Gene": [{"id": "NCBIGene:none", "source": "s"}]})), "not every Gene"),
        (Delta(removed=[NodeTable("Gene", pa.table({"id": ["a"], "colour": ["red"]}))]), "no property 'colour'"),
        (Delta(removed=[RelationTable(*ANNOTATED, pa.table({"start": ["a"], "end": ["b"]}))]), "without 'source'"),
    ],
)
def test_a_delta_that_does_not_fit_is_refused(backend: Backend, before: Graph, delta: Delta, says: str) -> None:
    store = backend.new(before.tables())
    with pytest.raises(StoreError, match=says) as caught:
        store.apply(delta)
    assert "\n" not in str(caught.value)


def test_a_reader_applies_nothing(backend: Backend, before: Graph) -> None:
    store = backend.new(before.tables())
    store.write("set_build", fingerprint="f")
    with pytest.raises(StoreError, match="reading only"):
        backend.reopen(store).apply(Delta())


KILLED = """
import os, signal
import pyarrow as pa
from kgdx.graph.arcade import embedded as arcade
from kgdx.graph.protocol import Delta
from kgdx.graph.protocol import NodeTable
store = ArcadeStore.open(sys.argv[1], read_only=False)
arcade.ArcadeStore._reopen = lambda self: os.kill(os.getpid(), signal.SIGKILL)
store.apply(Delta(added=[NodeTable("Gene", pa.table({"id": ["g"], "name": ["G"], "source": ["s"]}))]))
"""


def test_a_killed_change_never_opens_as_whole(tmp_path: Path, before: Graph) -> None:
    with ArcadeStore.create(tmp_path / "graph") as store:
        store.load(before.tables())
    killed = process(KILLED, tmp_path / "graph")
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    with pytest.raises(StoreError, match="half-loaded"):
        ArcadeStore.open(tmp_path / "graph")


def test_a_large_part_is_found_by_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: Graph) -> None:
    monkeypatch.setattr("kgdx.graph.arcade.bulk_load._FEW", 0)
    after, delta = changed(before)
    with ArcadeStore.create(tmp_path / "graph") as store:
        store.load(before.tables())
        store.apply(delta)
        assert store.fingerprint() == fingerprint(after.tables())


def test_the_rows_of_a_delta_are_counted() -> None:
    edges: list[GraphTable] = tables_of({}, {ANNOTATED: [EDGE, EDGE]})
    delta = Delta(edges, tables_of({"Gene": [{"id": "g"}]}), tables_of({"Gene": [{"id": "h"}]}))
    assert delta.rows == 4
    assert delta.growth() == {"HAS_PHENOTYPE": -2, "Gene": 1}
