"""Builds that are really killed, interrupted, starved of disk, or started twice: the old graph stays whole."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kgdx.errors import StoreLockedError
from kgdx.load.build import build
from kgdx.load.clock import SHARES
from kgdx.load.folder import GraphFolder
from kgdx.store.arcade import ArcadeStore
from kgdx.store.snapshot import Snapshot

pytestmark = pytest.mark.slow

SCRIPT = """
import json, os, signal, sys
sys.path.insert(0, sys.argv[4])
from load import hooked
from kgdx.errors import KgdxError
from kgdx.load.build import build

folder, stage, act = sys.argv[1], sys.argv[3], sys.argv[5]
sources = json.loads(sys.argv[2])
seen = 0

def progress(event):
    global seen
    if event.stage == stage:
        seen += 1
        if stage != "load" or seen == 4:  # in the middle of the bulk load, not before it
            if act == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            elif act == "interrupt":
                signal.raise_signal(signal.SIGINT)
            elif act == "wait":
                print("waiting", flush=True)
                sys.stdin.readline()

if act == "full":
    import resource
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(stage), int(stage)))
try:
    build(sources, folder, progress=progress, compile=[hooked.count_diseases])
except KgdxError as error:
    print(f"{type(error).__name__} {error}")
    sys.exit(error.exit_code)
"""


def command(folder: GraphFolder, sources: dict[str, str], stage: str, act: str) -> list[str]:
    here = str(Path(__file__).parents[1])
    return [sys.executable, "-c", SCRIPT, str(folder.path), json.dumps(sources), stage, here, act]


@pytest.fixture
def graph(tmp_path: Path, core_sources: dict[str, str]) -> GraphFolder:
    folder = GraphFolder(tmp_path / "graph")
    build(core_sources, folder)
    return folder


def is_whole(folder: GraphFolder) -> bool:
    with folder.reading() as held, ArcadeStore.open(held.store) as store:
        snapshot = Snapshot.open(held.snapshot, store.fingerprint())
        return snapshot.rows("disease") == store.counts()["Disease"]


@pytest.mark.parametrize("act", ["kill", "interrupt"])
@pytest.mark.parametrize("stage", list(SHARES))
def test_a_build_stopped_in_any_stage_leaves_the_old_graph_and_the_next_one_cleans_up(
    graph: GraphFolder, core_sources: dict[str, str], stage: str, act: str
) -> None:
    old = graph.current()
    ended = subprocess.run(command(graph, core_sources, stage, act), check=False, capture_output=True, text=True)
    assert ended.returncode == -(signal.SIGKILL if act == "kill" else signal.SIGINT), ended.stderr
    assert graph.current() == old and is_whole(graph)
    left = [path for path in (graph.path / "builds").iterdir() if path != old.path]
    assert len(left) == (1 if act == "kill" else 0)
    build(core_sources, graph)
    assert [path.name for path in (graph.path / "builds").iterdir()] == [graph.current().id]
    assert is_whole(graph)


@pytest.mark.parametrize("limit", [2_000, 20_000, 100_000])
def test_a_full_disk_leaves_the_old_graph(graph: GraphFolder, core_sources: dict[str, str], limit: int) -> None:
    old = graph.current()
    ended = subprocess.run(
        command(graph, core_sources, str(limit), "full"), check=False, capture_output=True, text=True
    )
    assert ended.returncode > 0 and ended.stdout.startswith("StoreError"), ended.stdout + ended.stderr
    assert len(ended.stdout.splitlines()) == 1
    assert graph.current() == old and is_whole(graph)


def test_of_two_builders_the_second_is_told_and_the_first_finishes(
    graph: GraphFolder, core_sources: dict[str, str]
) -> None:
    old = graph.current()
    first = subprocess.Popen(
        command(graph, core_sources, "check", "wait"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert first.stdout is not None and first.stdout.readline() == "waiting\n"
    with pytest.raises(StoreLockedError, match="building or writing"):
        build(core_sources, graph)
    assert is_whole(graph), "and the old graph can be read meanwhile"
    first.communicate("go on\n")
    assert first.returncode == 0
    assert graph.current() != old and is_whole(graph)
