from __future__ import annotations

import builtins
from typing import Any

import pytest

from conftest import require_module
from kgdx.case import Case
from kgdx.errors import MissingExtraError, UsageError
from render.terminal.examples import DIAGNOSIS, FIRST


def test_evidence_becomes_a_graph_of_neo4j_viz() -> None:
    require_module("neo4j_viz", "viz")
    graph = DIAGNOSIS.to_neo4j_viz()
    captions = {node.id: node.caption for node in graph.nodes}
    assert captions["HP:0002217"] == "Slow-growing hair"
    assert len(captions) == len(graph.nodes), "each node once"
    ends = {(edge.source, edge.caption, edge.target) for edge in graph.relationships}
    assert ("p1", "OBSERVED", "HP:0002217") in ends
    assert (FIRST.id, "HAS_PHENOTYPE", "HP:0002217") in ends, "against the path, along the relation"
    assert "Slow-growing hair" in graph.render().data


def test_candidates_are_chosen_by_id() -> None:
    require_module("neo4j_viz", "viz")
    assert DIAGNOSIS.to_neo4j_viz("OMIM:150230").nodes == []
    with pytest.raises(UsageError, match="OMIM:9 is not among"):
        DIAGNOSIS.to_neo4j_viz("OMIM:9")
    assert type(DIAGNOSIS)(Case("p")).to_neo4j_viz().nodes == []


def test_without_neo4j_viz_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **named: Any) -> Any:
        if name == "neo4j_viz":
            raise ImportError(name)
        return real(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"kgdx\[viz\]"):
        DIAGNOSIS.to_neo4j_viz()
