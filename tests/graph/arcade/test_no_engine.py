"""A machine for which the embedded engine has no package: what needs it says so at once, and the rest works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kgdx
from kgdx.errors import StoreError
from kgdx.graph.arcade import arcade_engine
from kgdx.graph.snapshot import Snapshot
from kgdx.ingest.pipeline.graph_folder import GraphFolder
from kgdx.rank.ranker import Ranker

SAID = "the embedded engine is not installed on this machine: use a Neo4j with `--store bolt://…`"


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
        "import sys; sys.modules['arcadedb'] = None; import kgdx.api, kgdx.cli.commands, kgdx.graph.neo4j.neo4j_store"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_engine_is_there_where_it_is_promised() -> None:
    arcade_engine.require()
