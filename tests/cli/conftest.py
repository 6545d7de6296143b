"""A small graph built once for all tests of the command line, and the ways to call it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile

import pytest

Run = subprocess.CompletedProcess[str]

#: Settings of the machine, which no test is to see; those that its other fixtures make stay.
OUTSIDE = {name: value for name, value in os.environ.items() if name.startswith("KGDX_")}


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory, tiny_graph: Path) -> Path:
    """A state folder with the tiny graph in it; tests that change it take a copy."""
    folder = tmp_path_factory.mktemp("home")
    shutil.copytree(tiny_graph, folder / "graphs" / "default")
    return folder


@pytest.fixture
def invoke(home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    """Runs the command in this process, where all is loaded; output and errors apart."""
    from kgdx.cli import main

    for name, value in OUTSIDE.items():
        if os.environ.get(name) == value:
            monkeypatch.delenv(name)
    monkeypatch.setenv("KGDX_HOME", str(home))
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: str, stdin: str = "", home: Path | None = None, **environment: str) -> Run:
        with monkeypatch.context() as patch, TemporaryFile("w+", encoding="utf-8") as given:
            for name, value in {**({"KGDX_HOME": str(home)} if home else {}), **environment}.items():
                patch.setenv(name, value)
            given.write(stdin)
            given.seek(0)
            patch.setattr(sys, "stdin", given)
            with pytest.raises(SystemExit) as ended:
                main(arguments)
        shown = capfd.readouterr()
        return Run(arguments, ended.value.code or 0, shown.out, shown.err)

    return run


@pytest.fixture
def kgdx_(home: Path) -> Callable[..., Run]:
    """Runs the command in a process of its own, for what a process alone can show."""

    def run(*arguments: str, **environment: str) -> Run:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KGDX_")}
        return subprocess.run(
            [sys.executable, "-m", "kgdx", *arguments],
            stdin=subprocess.DEVNULL,
            env={**kept, "KGDX_HOME": str(home), "COLUMNS": "80", **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def own_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No model but that of the test, and no answers from before."""
    for name in ("KGDX_LLM_BASE_URL", "KGDX_LLM_MODEL", "KGDX_LLM_API_KEY", "KGDX_LLM_MAX_CALLS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KGDX_CACHE", str(tmp_path))
    monkeypatch.setenv("KGDX_LLM_ATTEMPTS", "1")
