"""Commands that share their work out print what one process prints, and end all of it when they are interrupted."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import require_module

Invoke = Callable[..., subprocess.CompletedProcess[str]]
TERMS = ("HP:0001250", "HP:0001252", "HP:0004322", "HP:0001945")
TIMES = ("ms", "ms_median", "ms_p95", "ms_mean")
HOWS = [pytest.param([], id="processes"), pytest.param(["--ray", "local"], id="ray", marks=pytest.mark.heavy)]


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    lines = [
        {
            "id": f"p{number}",
            "observed": [TERMS[number % 4], TERMS[(number + 1) % 4]],
            "diseases": [f"OMIM:10000{1 + number % 2}"],
        }
        for number in range(12)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {"id": "none", "diseases": ["OMIM:1"]}]))
    return path


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: timeless(each) for name, each in value.items() if name not in TIMES and "ms" not in name}
    return [timeless(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "rank"],
        ["evaluate", "retrieve", "--methods", "fused", "--at", "1,2"],
        ["evaluate", "inquiry", "--questions", "3", "--start", "1"],
        ["leaderboard", "--methods", "plans", "--known", "1"],
    ],
    ids=lambda command: command[1],
)
def test_many_processes_measure_what_one_does(invoke: Invoke, cases: Path, command: list[str]) -> None:
    one, many = (invoke(*command, str(cases), "--json", *how) for how in ([], ["--jobs", "2"]))
    assert one.returncode == many.returncode == 0, many.stderr
    assert timeless(json.loads(many.stdout)) == timeless(json.loads(one.stdout))


@pytest.mark.heavy
def test_a_batch_on_ray_gives_the_lines_of_one_process(invoke: Invoke, cases: Path) -> None:
    require_module("ray", "cluster")
    one, many = (invoke("batch", str(cases), *how) for how in (["--jobs", "1"], ["--ray", "local", "--jobs", "2"]))
    assert (one.returncode, one.stdout) == (many.returncode, many.stdout)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (["--jobs", "0"], "--jobs': Input should be greater than or equal to 1"),
        (["--ray", "nowhere"], "'nowhere' is no address of Ray: give host and port of `ray start --head`, or local"),
    ],
)
def test_what_cannot_be_shared_out_is_told_in_a_line(invoke: Invoke, cases: Path, how: list[str], told: str) -> None:
    if "--ray" in how:
        require_module("ray", "cluster")
    done = invoke("evaluate", "rank", str(cases), *how)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in " ".join(done.stderr.split())


def test_an_address_where_nobody_answers_is_told_in_a_line(invoke: Invoke, cases: Path) -> None:
    require_module("ray", "cluster")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    done = invoke("batch", str(cases), "--ray", address)
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and f"nobody answers at {address}" in done.stderr


def test_ray_that_is_missing_is_told_in_a_line(invoke: Invoke, cases: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = invoke("batch", str(cases), "--ray", "local")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.strip().endswith('--ray needs an optional dependency: pip install "kgdx[cluster]"')


@pytest.mark.parametrize(
    "asked",
    [
        ["batch", "--rerank", "m", "--max-calls", "1", "--ray", "local"],
        ["evaluate", "retrieve", "--rerank", "m", "--max-calls", "1", "--ray", "local"],
        ["leaderboard", "--llm", "m", "--max-calls", "1", "--jobs", "2"],
    ],
    ids=lambda asked: asked[1],
)
def test_a_model_is_asked_by_one_process_alone(
    invoke: Invoke, cases: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGDX_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    done = invoke(*asked, str(cases))
    assert (done.returncode, done.stdout) == (2, "")
    assert "without --rerank" in done.stderr or "without --llm" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="sends the interrupt of a terminal")
@pytest.mark.parametrize("how", HOWS)
def test_an_interrupt_ends_all_processes(home: Path, tmp_path: Path, how: list[str]) -> None:
    if how:
        require_module("ray", "cluster")
    path = tmp_path / "many.jsonl"
    path.write_text('{"id": "p", "observed": ["HP:0001250"]}\n' * 60_000)
    out = tmp_path / "lines.jsonl"
    running = subprocess.Popen(
        [sys.executable, "-m", "kgdx", "batch", str(path), "--jobs", "2", "--out", str(out), *how],
        env={**os.environ, "KGDX_HOME": str(home)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        until(lambda: out.exists() and out.stat().st_size > 0)
        os.killpg(running.pid, signal.SIGINT)
        _, said = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130
    assert "Traceback" not in said
    until(lambda: not members(running.pid))


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


def members(group: int) -> list[str]:
    """Processes of a session that are still there."""
    found = []
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = each.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(session) == group and state != "Z":
            found.append(each.parent.name)
    return found
