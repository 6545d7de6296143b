"""Several processes save different patients at once: every save is kept once, on both kinds of store."""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path

import pytest

from conftest import ROOT
from kgdx import api
from kgdx.config import Settings
from kgdx.graph.neo4j.neo4j_store import Neo4jStore

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
