"""A machine for which the embedded engine has no package: what needs it says so at once, and the rest works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kgdx
from kgdx import api
from kgdx.config import Settings
from kgdx.errors import StoreError
from kgdx.graph.arcade import arcade_engine
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.graph.snapshot import Snapshot
from kgdx.ingest.pipeline.graph_folder import GraphFolder
from kgdx.rank.ranker import Ranker

SAID = "the embedded engine is not installed on this machine: use a Neo4j with `--store bolt://…`"


def sources(tiny: Path) -> dict[str, str]:
    return {"hp": str(tiny / "hp.obo"), "hpoa": str(tiny / "phenotype.hpoa")}


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arcadedb", None)


@pytest.mark.usefixtures("without")
def test_what_needs_the_engine_says_what_to_do_before_it_begins(tiny_graph: Path, kgdx_home: Path) -> None:
    for call in (lambda: kgdx.open(tiny_graph).run("sources"), kgdx.build, lambda: kgdx.open(build=True)):
        with pytest.raises(StoreError) as raised:
            call()
        assert str(raised.value).startswith(SAID)
    assert not list(kgdx_home.rglob("builds"))


@pytest.mark.usefixtures("without")
def test_a_snapshot_is_ranked_over_without_the_engine(tiny_graph: Path) -> None:
    snapshot = Snapshot.open(GraphFolder(tiny_graph).current().snapshot)
    assert Ranker.open(snapshot).rank((["HP:0001250"], [])).candidates


def test_no_import_loads_the_engine() -> None:
    code = (
        "import sys; sys.modules['arcadedb'] = None; import kgdx.api, kgdx.cli.commands, kgdx.graph.neo4j.neo4j_store\n"
        "assert 'pyarrow' not in sys.modules, 'a diagnosis on a server needs no Arrow'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_engine_is_there_where_it_is_promised() -> None:
    arcade_engine.require()


@pytest.mark.neo4j
@pytest.mark.usefixtures("without")
def test_a_graph_is_built_on_a_server_and_diagnosed_without_the_engine(
    neo4j_uri: str, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGDX_NEO4J_PASSWORD", Settings.load().neo4j(neo4j_uri).password or "")
    monkeypatch.setenv("KGDX_HOME", str(tmp_path))
    built = kgdx.build(sources(tiny), store=neo4j_uri)
    with kgdx.open(neo4j_uri) as graph:
        assert graph.fingerprint == built.fingerprint
        run = graph.save(graph.diagnose(["HP:0001250"]))
    again = kgdx.build(sources(tiny), store=neo4j_uri)
    assert again.sources["user"].loaded, "what was saved is carried over"
    with kgdx.open(neo4j_uri) as graph:
        assert graph.run("run_candidates", run_id=run) and graph.diagnose(["HP:0001250"], explain=1).candidates
    assert api.misfits(store=neo4j_uri) == ()
    assert not list(tmp_path.rglob("store"))


@pytest.mark.neo4j
def test_a_database_of_others_is_not_built_over(neo4j_uri: str, tiny: Path) -> None:
    with Neo4jStore.unchecked(Settings.load().neo4j(neo4j_uri)) as store:
        store.clear()
        store._run_alone("CREATE (:Theirs {id: 1})")
        with pytest.raises(StoreError, match="no graph of kgdx.*--force"):
            kgdx.build(sources(tiny), store=neo4j_uri)
        store.clear()
