"""The first graph is built once, however many processes ask for it together."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import kgdx
from kgdx import api
from kgdx.ingest.pipeline.build_report import BuildProgress
from kgdx.ingest.pipeline.graph_folder import GraphFolder

SCRIPT = """
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
    command = [sys.executable, "-c", SCRIPT, json.dumps(sources), hold]
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
