"""The public API on a Neo4j server: the same diagnosis as embedded, and processes that save at once."""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path

import pytest

import kgdx
from conftest import ROOT
from kgdx import api
from kgdx.config import Settings
from kgdx.graph.neo4j.neo4j_store import Neo4jStore

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


@pytest.mark.neo4j
def test_the_diagnosis_is_the_same_on_both_stores(server: str, folder: Path) -> None:
    with kgdx.open(folder) as embedded, kgdx.open(server) as remote:
        here, there = embedded.diagnose(TEXT), remote.diagnose(TEXT)
        assert there.to_dict(trace=False) == here.to_dict(trace=False)
        assert there.trace == here.trace
        assert all(again.same for again in remote.replay(here))


@pytest.mark.neo4j
def test_a_run_is_saved_and_replayed_on_the_server(server: str) -> None:
    with kgdx.open(server) as graph:
        diagnosis = graph.diagnose(TEXT)
        run = kgdx.save(diagnosis, graph)
        once = graph.status()
        assert kgdx.save(diagnosis, graph) == run
        assert graph.status() == once
        assert graph.run("run_candidates", run_id=run)
        assert all(again.same for again in graph.replay(run))


@pytest.mark.neo4j
def test_a_pulled_graph_diagnoses_the_same(server: str, tmp_path: Path) -> None:
    report = api.pull(store=tmp_path / "pulled", neo4j=server)
    with kgdx.open(tmp_path / "pulled") as pulled, kgdx.open(server) as remote:
        assert report.counts["Disease"] == pulled.status()["nodes"]["Disease"]
        assert [c.id for c in pulled.diagnose(TEXT).candidates] == [c.id for c in remote.diagnose(TEXT).candidates]


PROCESSES = 8

#: Saves of each; 60 of each is the trial in the documentation.
EACH = int(os.environ.get("KGDX_SAVES", "4"))


def check(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    found = importlib.import_module("benchmarks.writers").trial(store, PROCESSES, EACH)
    assert found.whole and found.kept == PROCESSES * EACH, found


@pytest.mark.heavy
def test_eight_processes_save_into_an_embedded_graph(
    tiny_graph: Path, tmp_path: Path, kgdx_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny_graph, tmp_path / "graph")
    check(str(tmp_path / "graph"), monkeypatch)
    assert not api.verify(store=tmp_path / "graph").faults


@pytest.mark.heavy
@pytest.mark.neo4j
def test_eight_processes_save_on_a_server(
    neo4j_uri: str, tiny_graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = Settings.load().neo4j(neo4j_uri)
    monkeypatch.setenv("KGDX_NEO4J_PASSWORD", access.password or "")
    monkeypatch.setenv("KGDX_HOME", str(tmp_path / "home"))
    api.push(store=tiny_graph, neo4j=neo4j_uri, force=True)
    check(neo4j_uri, monkeypatch)
    with Neo4jStore.unchecked(access) as store:
        store.clear()
