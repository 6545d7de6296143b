"""A small graph built once for all tests of the command line, and the ways to call it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = subprocess.CompletedProcess[str]


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory, tiny_graph: Path) -> Path:
    """A state folder with the tiny graph in it; tests that change it take a copy."""
    folder = tmp_path_factory.mktemp("home")
    shutil.copytree(tiny_graph, folder / "graphs" / "default")
    return folder


@pytest.fixture
def kgdx_(home: Path) -> Callable[..., Run]:
    """Runs the real command in a process of its own, output and errors apart."""

    def run(*arguments: str, stdin: str | None = None, home: Path = home, **environment: str) -> Run:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KGDX_")}
        return subprocess.run(
            [sys.executable, "-m", "kgdx", *arguments],
            input="" if stdin is None else stdin,
            env={**kept, "KGDX_HOME": str(home), "COLUMNS": "80", **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def invoke(home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    """Runs the command in this process, which is quicker."""
    from kgdx.cli import main

    monkeypatch.setenv("KGDX_HOME", str(home))
    for name in ("KGDX_STORE", "KGDX_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: str) -> Run:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        shown = capfd.readouterr()
        return Run(arguments, ended.value.code, shown.out, shown.err)

    return run


@pytest.fixture
def own_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No model but that of the test, and no answers from before."""
    for name in ("KGDX_LLM_BASE_URL", "KGDX_LLM_MODEL", "KGDX_LLM_API_KEY", "KGDX_LLM_MAX_CALLS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KGDX_CACHE", str(tmp_path))
    monkeypatch.setenv("KGDX_LLM_ATTEMPTS", "1")
