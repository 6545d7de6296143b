"""The public API on a Neo4j server: the same diagnosis as on the embedded graph, down to the evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgdx
from kgdx import api

pytestmark = pytest.mark.neo4j

FILES = {"hp": "hp.obo", "hpoa": "phenotype.hpoa", "genes": "genes_to_phenotype.txt"}
TEXT = "A girl with seizures and low muscle tone, no fever."


@pytest.fixture(scope="module")
def folder(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("graph")
    kgdx.build({name: str(tiny / file) for name, file in FILES.items()}, store=made)
    return made


@pytest.fixture(scope="module")
def server(neo4j_uri: str, folder: Path) -> str:
    """Address of a Neo4j that holds the same graph as ``folder``."""
    api.push(store=folder, neo4j=neo4j_uri, force=True)
    return neo4j_uri


def test_the_diagnosis_is_the_same_on_both_stores(server: str, folder: Path) -> None:
    with kgdx.open(folder) as embedded, kgdx.open(server) as remote:
        here, there = embedded.diagnose(TEXT), remote.diagnose(TEXT)
        assert there.to_dict(trace=False) == here.to_dict(trace=False)
        assert there.trace == here.trace
        assert all(again.same for again in remote.replay(here))


def test_a_run_is_saved_and_replayed_on_the_server(server: str) -> None:
    with kgdx.open(server) as graph:
        diagnosis = graph.diagnose(TEXT)
        run = kgdx.save(diagnosis, graph)
        once = graph.status()
        assert kgdx.save(diagnosis, graph) == run
        assert graph.status() == once
        assert graph.run("run_candidates", run_id=run)
        assert all(again.same for again in graph.replay(run))


def test_a_pulled_graph_diagnoses_the_same(server: str, tmp_path: Path) -> None:
    report = api.pull(store=tmp_path / "pulled", neo4j=server)
    with kgdx.open(tmp_path / "pulled") as pulled, kgdx.open(server) as remote:
        assert report.counts["Disease"] == pulled.status()["nodes"]["Disease"]
        assert [c.id for c in pulled.diagnose(TEXT).candidates] == [c.id for c in remote.diagnose(TEXT).candidates]
