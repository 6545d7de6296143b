from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import small_graph
from kgdx.errors import AbsentError, MissingExtraError, StoreError, UsageError
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.learn.hetero_graph import GraphChoice, HeteroGraph, geometric, hetero_data, hetero_graph
from worded_graph import Letters, Make


def named(graph: HeteroGraph, relation: str) -> set[tuple[str, str]]:
    head, tail = ("disease", "symptom") if relation == "has_symptom" else (relation, relation)
    return {(graph.texts[head][one], graph.texts[tail][other]) for one, other in graph.edges[relation].T}


def test_nodes_and_links_are_those_the_graph_states(snapshot: Snapshot, letters: Letters) -> None:
    graph = hetero_graph(snapshot, letters)
    told = graph.statistics()
    assert told["nodes"] == {"disease": 20, "symptom": 12}
    assert told["relations"]["has_symptom"] == {"links": 80, "isolated": {"disease": 0, "symptom": 0}}
    assert ("chest00", "cough") in named(graph, "has_symptom")
    assert graph.inputs["symptom"].shape == (12, letters.width)


def test_diseases_with_most_of_their_symptoms_in_common_are_similar(make: Make, letters: Letters) -> None:
    stated = [("X:a", "cough"), ("X:a", "fever"), ("X:b", "cough"), ("X:b", "fever"), ("X:c", "fever"), ("X:c", "itch")]
    choice = GraphChoice(gamma=0.5)
    assert hetero_graph(make(stated), letters, choice).edges["similar_diseases"].tolist() == [[0], [1]]


def test_symptoms_are_similar_from_tau_on_or_by_cooccurrence(make: Make, letters: Letters) -> None:
    stated = [("X:a", "dry cough"), ("X:a", "cough"), ("X:b", "itch"), ("X:b", "cough")]
    snapshot = make(stated)
    pair = hetero_graph(snapshot, letters, GraphChoice(tau=0.5)).edges["similar_symptoms"].tolist()
    assert pair == [[0], [1]]
    assert "similar_symptoms" not in hetero_graph(snapshot, letters, GraphChoice(tau=1.0)).edges
    both = hetero_graph(snapshot, letters, GraphChoice(tau=1.0, cooccurrence=1)).edges["similar_symptoms"].tolist()
    assert both == [[0, 0], [1, 2]]


@pytest.mark.parametrize(
    "wrong", [{"tau": 1.5}, {"tau": -0.1}, {"tau": float("nan")}, {"gamma": 0.0}, {"cooccurrence": -1}]
)
def test_thresholds_outside_their_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="give a number"):
        GraphChoice(**wrong)


@pytest.mark.parametrize("relations", [("has_symptoms",), ("lacks_phenotype",), ("similar_symptoms",), ()])
def test_relations_that_cannot_be_learned_on_are_refused(relations: Sequence[str]) -> None:
    with pytest.raises(UsageError, match="one of"):
        GraphChoice(tuple(relations))


def test_a_graph_without_symptoms_says_so(make: Make, letters: Letters) -> None:
    with pytest.raises(AbsentError, match=r"no links to learn on \(has_symptom\)"):
        hetero_graph(make([], extra=["X:a"]), letters)


def test_sources_that_state_nothing_and_languages_without_names_leave_no_links(
    snapshot: Snapshot, letters: Letters
) -> None:
    for choice in (GraphChoice(sources=("nobody",)), GraphChoice(languages=("zh",))):
        with pytest.raises(AbsentError, match="other relations, sources or languages"):
            hetero_graph(snapshot, letters, choice)


def test_an_empty_relation_takes_no_part(snapshot: Snapshot, letters: Letters) -> None:
    graph = hetero_graph(snapshot, letters, GraphChoice(("has_symptom", "recommend_drug")))
    assert list(graph.edges) == ["has_symptom"]
    assert list(graph.rows) == ["disease", "symptom"]


def test_one_disease_makes_a_graph(make: Make, letters: Letters) -> None:
    graph = hetero_graph(make([("X:a", "cough"), ("X:a", "fever")]), letters)
    assert graph.statistics()["nodes"] == {"disease": 1, "symptom": 2}


def test_vectors_that_are_no_numbers_are_refused(
    snapshot: Snapshot, letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = type(letters).encode
    monkeypatch.setattr(
        type(letters),
        "encode",
        lambda self, texts: np.where(np.array([["t" in t] for t in texts]), np.nan, encode(self, texts)),
    )
    with pytest.raises(StoreError, match="letters gives no numbers for"):
        hetero_graph(snapshot, letters)


def test_phenotypes_and_their_hierarchy_make_a_graph(tmp_path: Path, letters: Letters) -> None:
    snapshot = compile_snapshot(small_graph.tables(), tmp_path / "snapshot", "f1")
    graph = hetero_graph(
        snapshot, letters, GraphChoice(("has_phenotype", "is_a", "associated_gene", "similar_diseases"))
    )
    nodes = graph.statistics()["nodes"]
    assert set(nodes) == {"disease", "phenotype", "gene"} and nodes["gene"] == 2
    assert graph.edges["is_a"].shape[1] == sum(parent is not None for parent in small_graph.TERMS.values())


@pytest.mark.usefixtures("torch_here")
def test_pytorch_geometric_trains_its_own_models_on_it(snapshot: Snapshot, letters: Letters) -> None:
    geometric("this test")  # imports it without its warning
    import torch
    from torch_geometric.nn import SAGEConv, to_hetero
    from torch_geometric.transforms import ToUndirected

    data = hetero_data(hetero_graph(snapshot, letters))
    assert data.validate()
    assert data["disease"].num_nodes == 20 and data["disease"].row.tolist() == list(range(20))
    data = ToUndirected()(data)

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = SAGEConv((-1, -1), 8)

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            return self.layer(x, edge_index)

    made = to_hetero(Net(), data.metadata())(data.x_dict, data.edge_index_dict)
    assert made["symptom"].shape == (12, 8)


@pytest.mark.parametrize("missing", ["torch", "torch_geometric"])
def test_without_torch_the_extra_is_named(
    snapshot: Snapshot, letters: Letters, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=r'pip install "kgdx\[learn\]"'):
        hetero_data(hetero_graph(snapshot, letters))
