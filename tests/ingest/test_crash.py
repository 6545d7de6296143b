"""Builds that are killed, interrupted, starved of disk, or started by many at once."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import kgdx
from conftest import TINY
from ingest import hooked
from ingest.conftest import FILES
from kgdx import api
from kgdx.errors import SourceError, StoreLockedError
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.snapshot import Snapshot
from kgdx.ingest.pipeline.build import build, update
from kgdx.ingest.pipeline.build_report import SHARES, BuildProgress
from kgdx.ingest.pipeline.graph_folder import GraphFolder
from kgdx.ingest.records import Records
from kgdx.ingest.sources import read

SCRIPT = """
import json, os, signal, sys
sys.path.insert(0, sys.argv[4])
from ingest import hooked
from kgdx.errors import KgdxError
from kgdx.ingest.pipeline import build as builds, build_stages as engine, graph_folder as folders
from kgdx.graph.arcade.bulk_load import BulkLoad

folder, stage, act, kind = sys.argv[1], sys.argv[3], sys.argv[5], sys.argv[6]
sources = json.loads(sys.argv[2])
seen = 0
last = {"parse": 3, "load": 4 if kind == "build" else 2}  # in the middle of it, not before it
if kind == "build":
    engine.DELTA_ALWAYS = engine.DELTA_SHARE = 0  # so that it loads the store anew

def end(*given):
    if act == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif act == "interrupt":
        signal.raise_signal(signal.SIGINT)
    elif act == "wait":
        print("waiting", flush=True)
        sys.stdin.readline()

def progress(event):
    global seen
    if event.stage == stage:
        seen += 1
        if seen == last.get(stage, 1):
            end()

if stage == "apply":
    BulkLoad.check = end
if stage == "publish":
    folders.os.replace = end
if act == "full":
    import resource
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(stage), int(stage)))
try:
    make = getattr(builds, kind)
    make(sources, folder, progress=progress, derive=[hooked.ALIKE], compile=[hooked.count_diseases])
except KgdxError as error:
    print(f"{type(error).__name__} {error}")
    sys.exit(error.exit_code)
"""


def command(folder: GraphFolder, sources: dict[str, str], stage: str, act: str, kind: str = "build") -> list[str]:
    here = str(Path(__file__).parents[1])
    return [sys.executable, "-c", SCRIPT, str(folder.path), json.dumps(sources), stage, here, act, kind]


CORE = {name: TINY / FILES[name] for name in ("hp", "hpoa", "genes")}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = GraphFolder(tmp_path_factory.mktemp("built") / "graph")
    build({name: str(path) for name, path in CORE.items()}, folder)
    return folder.path


@pytest.fixture
def graph(tmp_path: Path, built: Path) -> GraphFolder:
    return GraphFolder(shutil.copytree(built, tmp_path / "graph", symlinks=True))


def is_whole(folder: GraphFolder) -> bool:
    with folder.reading() as held, ArcadeStore.open(held.store) as store:
        snapshot = Snapshot.open(held.snapshot, store.fingerprint())
        return snapshot.rows("disease") == store.counts()["Disease"]


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The sources in a new version, none of which any build has read."""
    found, folder = {}, tmp_path_factory.mktemp("edited")
    for name, path in CORE.items():
        new = folder / path.name
        new.write_text(path.read_text("utf-8").replace("DECIPHER:18", "DECIPHER:19") + "\n", "utf-8")
        found[name] = str(new)
    return found


@pytest.fixture(scope="module")
def scratch(edited: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Fingerprint of a build of the new version from nothing."""
    return build(edited, tmp_path_factory.mktemp("scratch") / "graph", derive=[hooked.ALIKE]).fingerprint


STAGES = [*SHARES, "publish"]

BEFORE = {name: set(list(SHARES)[:number]) & {"parse", "check", "derive"} for number, name in enumerate(STAGES)}
"""Stages whose results a build that was stopped in one leaves for the next."""


def goes_on(folder: GraphFolder, sources: dict[str, str], stage: str, scratch: str, kind: str) -> None:
    """Run what was stopped again: it makes nothing that had been made, and gives what it would have given."""
    make = build if kind == "build" else update
    report = make(sources, folder, derive=[hooked.ALIKE], compile=[hooked.count_diseases])
    for each in report.stages:
        if each.stage in BEFORE.get(stage, BEFORE["load"]):
            assert each.made == 0, each
    if stage == "parse":
        assert sum(each.found for each in report.stages if each.stage == "parse") >= 2
    assert report.fingerprint == scratch
    assert [path.name for path in (folder.path / "builds").iterdir()] == [folder.current().id]
    assert not list((folder.path / "stages").glob("*/.*"))
    assert is_whole(folder)


@pytest.mark.heavy
@pytest.mark.parametrize(("stage", "act"), [*((stage, "kill") for stage in STAGES), ("load", "interrupt")])
def test_a_build_stopped_in_any_stage_leaves_the_old_graph_and_the_next_one_goes_on(
    graph: GraphFolder, edited: dict[str, str], scratch: str, stage: str, act: str
) -> None:
    old = graph.current()
    ended = subprocess.run(command(graph, edited, stage, act), check=False, capture_output=True, text=True)
    assert ended.returncode == -(signal.SIGKILL if act == "kill" else signal.SIGINT), ended.stderr
    assert graph.current() == old and is_whole(graph)
    left = [path for path in (graph.path / "builds").iterdir() if path != old.path]
    assert len(left) == (1 if act == "kill" else 0)
    goes_on(graph, edited, stage, scratch, "build")


@pytest.mark.heavy
@pytest.mark.parametrize("stage", ["check", "load", "apply", "publish"])
def test_an_update_killed_in_any_stage_leaves_the_old_graph_and_the_next_one_goes_on(
    graph: GraphFolder, edited: dict[str, str], scratch: str, stage: str
) -> None:
    old = graph.current()
    ended = subprocess.run(command(graph, edited, stage, "kill", "update"), check=False, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert graph.current() == old and is_whole(graph)
    goes_on(graph, edited, stage, scratch, "update")


@pytest.mark.heavy
def test_stages_that_are_damaged_are_made_again(graph: GraphFolder, core_sources: dict[str, str]) -> None:
    first = build(core_sources, graph)
    files = sorted((graph.path / "stages").glob("*/*/*.arrow"))
    files[0].write_bytes(files[0].read_bytes()[:-10])
    files[-1].unlink()
    assert build(core_sources, graph).fingerprint == first.fingerprint
    for file in (graph.path / "stages" / "parsed").glob("*/*.arrow"):
        file.write_bytes(bytes(file.stat().st_size))
    for folder in [*(graph.path / "stages" / "nodes").iterdir(), *(graph.path / "stages" / "relations").iterdir()]:
        (folder / "facts.json").unlink()
    again = build(core_sources, graph)
    assert again.fingerprint == first.fingerprint
    assert [each.made for each in again.stages if each.stage == "parse"] == [1] * len(core_sources)


@pytest.mark.heavy
def test_a_file_that_changes_while_it_is_read_is_refused(
    graph: GraphFolder, core_sources: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = graph.current()
    mine = tmp_path / "genes.txt"
    mine.write_bytes(Path(core_sources["genes"]).read_bytes() + b"\n")

    def growing(path: Path, *given: object) -> Records:
        found = read(path, *given)  # type: ignore[arg-type]
        if path == mine:
            with mine.open("a") as file:
                file.write("30\tGENC\tHP:0007359\tFocal-onset seizure\t-\tOMIM:100002\n")
        return found

    with monkeypatch.context() as patched:
        patched.setattr("kgdx.ingest.pipeline.parse.read", growing)
        with pytest.raises(SourceError, match="genes.txt changed while it was read: wait"):
            build({**core_sources, "genes": str(mine)}, graph)
    assert graph.current() == old
    assert build({**core_sources, "genes": str(mine)}, graph).sources["genes"].read == 6


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("limit", "kind"), [(2_000, "build"), (20_000, "build"), (100_000, "build"), (20_000, "update")]
)
def test_a_full_disk_leaves_the_old_graph(graph: GraphFolder, edited: dict[str, str], limit: int, kind: str) -> None:
    old = graph.current()
    ended = subprocess.run(
        command(graph, edited, str(limit), "full", kind), check=False, capture_output=True, text=True
    )
    assert ended.returncode > 0 and ended.stdout.startswith("StoreError"), ended.stdout + ended.stderr
    assert len(ended.stdout.splitlines()) == 1
    assert graph.current() == old and is_whole(graph)


@pytest.mark.heavy
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


FIRST = """
import json, sys
from kgdx.api import opening
from kgdx.ingest.pipeline import build as builds
from kgdx.ingest.pipeline.graph_folder import GraphFolder

sources, hold = json.loads(sys.argv[1]), sys.argv[2]
make = builds.build

def told(event):
    if event.detail.startswith("waiting for another process"):
        print("waits", flush=True)
    elif event.stage == hold:
        print("holds", flush=True)
        sys.stdin.readline()

builds.build = lambda _, folder, **how: make(sources, folder, **how)
print("starts", flush=True)
report = opening.ensure_default_graph(told)
folder = GraphFolder(opening.Settings.load().graph_folder)
print("built" if report else "found", folder.current().id, flush=True)
"""


def process(home: Path, sources: dict[str, str], hold: str = "") -> subprocess.Popen[str]:
    """Start a process that wants the first graph; it holds at a stage of its build until it is told to go on."""
    command = [sys.executable, "-c", FIRST, json.dumps(sources), hold]
    environ = os.environ | {"KGDX_HOME": str(home), "KGDX_STORE": ""}
    return subprocess.Popen(
        command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def until(started: subprocess.Popen[str], line: str) -> None:
    assert started.stdout is not None
    for said in started.stdout:
        if said.strip() == line:
            return
    pytest.fail(f"it never said {line!r}")


def end(started: subprocess.Popen[str]) -> list[str]:
    out, err = started.communicate("go on\n", timeout=120)
    assert started.returncode == 0, err
    return out.splitlines()[-1].split()


def folder_of(home: Path) -> GraphFolder:
    return GraphFolder(home / "graphs" / "default")


@pytest.mark.heavy
def test_of_processes_that_start_together_one_builds_and_all_have_its_graph(
    tmp_path: Path, core_sources: dict[str, str]
) -> None:
    ended = [end(started) for started in [process(tmp_path, core_sources) for _ in range(3)]]
    assert sorted(how for how, _ in ended) == ["built", "found", "found"]
    assert {build for _, build in ended} == {folder_of(tmp_path).current().id}
    assert len(list((folder_of(tmp_path).path / "builds").iterdir())) == 1


@pytest.mark.heavy
def test_a_waiting_process_takes_over_where_the_builder_is_killed(tmp_path: Path, core_sources: dict[str, str]) -> None:
    first = process(tmp_path, core_sources, "derive")
    until(first, "holds")
    second, third = (process(tmp_path, core_sources) for _ in range(2))
    until(second, "waits")
    until(third, "waits")
    first.send_signal(signal.SIGKILL)
    first.communicate()
    ended = [end(second), end(third)]
    assert sorted(how for how, _ in ended) == ["built", "found"]
    assert {build for _, build in ended} == {folder_of(tmp_path).current().id}


def test_it_waits_for_a_build_that_someone_else_has_begun(tmp_path: Path, core_sources: dict[str, str]) -> None:
    with folder_of(tmp_path).building() as build:
        waiting = process(tmp_path, core_sources)
        until(waiting, "waits")
        build.report.write_text("{}", "utf-8")
    assert end(waiting) == ["found", build.id]


def test_a_graph_that_is_there_is_left_alone(
    tmp_path: Path, core_sources: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGDX_STORE", str(tmp_path / "mine"))
    kgdx.build(core_sources)
    before = GraphFolder(tmp_path / "mine").current()
    told: list[BuildProgress] = []
    assert api.ensure_default_graph(told.append) is None
    assert not told
    assert GraphFolder(tmp_path / "mine").current() == before


def test_a_server_needs_no_graph_in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KGDX_HOME", str(tmp_path))
    monkeypatch.setenv("KGDX_STORE", "bolt://localhost:7687")
    assert api.ensure_default_graph() is None
    assert not list(tmp_path.iterdir())
