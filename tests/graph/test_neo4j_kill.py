"""Copies from and to a real server whose Python process is killed half-way: what is left never opens as whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from kgdx.config import Neo4jAccess, Settings
from kgdx.errors import StoreError
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.copies import push
from kgdx.graph.neo4j import local_server
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.ingest.pipeline.build import pull
from kgdx.ingest.pipeline.graph_folder import GraphFolder

pytestmark = [pytest.mark.neo4j, pytest.mark.java, pytest.mark.maven, pytest.mark.heavy]

#: A push of an embedded store in batches of a few rows, so that it is still writing when it is killed.
PUSH = """
import sys
from functools import partial
from kgdx.config import Settings
from kgdx.graph import copies as copy
from kgdx.graph.neo4j import bulk_tables as _transfer
from kgdx.graph.arcade.embedded import ArcadeStore
_transfer._LOAD_ROWS = 5
copy._OFFLINE_ROWS = int(sys.argv[3])
settings = Settings.load()
with ArcadeStore.open(sys.argv[1]) as source:
    copy.push(source, settings, settings.neo4j(sys.argv[2]), force=True, progress=partial(print, flush=True))
"""

PULL = """
import sys
from functools import partial
from kgdx.config import Settings
from kgdx.ingest.pipeline.build import pull
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
with Neo4jStore.connect(Settings.load().neo4j(sys.argv[1])) as source:
    pull(source, sys.argv[2], force=True, progress=partial(print, flush=True))
"""

OVER_BOLT, OFFLINE = str(10**9), "1"


def kill_at(
    step: str, script: str, *arguments: object, environ: Mapping[str, str], by: signal.Signals = signal.SIGKILL
) -> None:
    """Run a script and kill its process as soon as it prints a line with ``step`` in it."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KGDX_", "NEO4J_"))}
    kept |= {name: os.environ[name] for name in ("KGDX_CACHE", "NEO4J_HOME") if name in os.environ}
    with subprocess.Popen(command, env={**kept, **environ}, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if step in line:
                process.send_signal(by)
        assert process.wait(timeout=60) == -by, "".join(lines)


def another_home(tmp_path: Path, access: Neo4jAccess) -> dict[str, str]:
    """The environment of somebody for whom the server is not a local one of their own."""
    assert access.password is not None
    return {"KGDX_HOME": str(tmp_path / "another home"), "KGDX_NEO4J_PASSWORD": access.password}


@pytest.mark.parametrize(("step", "by"), [("Comparing", signal.SIGKILL), ("IS_A", signal.SIGINT)])
def test_killed_push_over_bolt_leaves_no_graph_that_opens(
    empty: Neo4jAccess, embedded: ArcadeStore, tmp_path: Path, step: str, by: signal.Signals
) -> None:
    environ = another_home(tmp_path, empty)
    kill_at(step, PUSH, embedded.url, empty.uri, OVER_BOLT, environ=environ, by=by)
    with pytest.raises(StoreError, match="is incomplete: .*: replace it with `kgdx push --force`"):
        Neo4jStore.connect(empty)
    elsewhere = Settings.load(environ=environ)
    assert push(embedded, elsewhere, empty, force=True).fingerprint == embedded.fingerprint()
    with Neo4jStore.connect(empty) as store:
        assert store.counts() == embedded.counts()


def test_killed_offline_import_leaves_the_graph_of_before(
    settings: Settings, empty: Neo4jAccess, embedded: ArcadeStore
) -> None:
    running = local_server.status(settings)
    assert running is not None
    with Neo4jStore.create(empty) as store:
        store.write("put_case", case_id="precious", source="user")
    kill_at("Importing", PUSH, embedded.url, empty.uri, OFFLINE, environ={"KGDX_HOME": str(settings.home)})
    assert local_server.status(settings) is None
    ports = [int(address.rpartition(":")[2]) for address in (running.bolt, running.http)]
    local_server.up(settings, bolt_port=ports[0], http_port=ports[1], heap="600m")
    with Neo4jStore.connect(settings.neo4j()) as store:
        assert store.counts() == {"Build": 1, "PatientCase": 1}


@pytest.mark.parametrize("step", ["Loading", "Comparing"])
def test_killed_pull_leaves_the_graph_of_before(
    empty: Neo4jAccess, embedded: ArcadeStore, tmp_path: Path, step: str
) -> None:
    environ = another_home(tmp_path, empty)
    push(embedded, Settings.load(environ=environ), empty)
    folder = GraphFolder(tmp_path / "graph")
    kill_at(step, PULL, empty.uri, folder.path, environ=environ)
    assert not folder.exists
    with pytest.raises(StoreError), folder.reading():
        pass
    with Neo4jStore.connect(empty, read_only=False) as source:
        pull(source, folder)
        source.write("put_case", case_id="new", source="user")
    kill_at(step, PULL, empty.uri, folder.path, environ=environ)
    with folder.reading() as build, ArcadeStore.open(build.store) as held:
        assert held.fingerprint() == embedded.fingerprint()
        assert held.counts() == embedded.counts()
