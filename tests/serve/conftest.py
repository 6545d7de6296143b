"""A server of the tests' own: `kgdx serve` as a process, on a real graph, as a user starts it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conftest import require_module


@dataclass
class Running:
    """A server that runs: its address and the lines of its log so far."""

    address: str
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    @property
    def log(self) -> str:
        return "\n".join(self.lines)


@contextmanager
def serving(store: Path | str, *options: str, environ: dict[str, str] | None = None) -> Iterator[Running]:
    command = [sys.executable, "-m", "kgdx", "serve", "--store", str(store), "--port", "0", "--workers", "1", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environ)
    assert process.stderr is not None
    lines: list[str] = []
    address = ""
    for line in process.stderr:
        lines.append(line.rstrip())
        if "listening on " in line:
            address = line.partition("listening on ")[2].strip().rstrip("/")
            break
    assert address, lines
    stream = process.stderr
    reading = threading.Thread(target=lambda: lines.extend(line.rstrip() for line in stream), daemon=True)
    reading.start()
    try:
        yield Running(address, process, lines)
    finally:
        process.terminate()
        process.wait(30)
        reading.join(5)
        stream.close()


@pytest.fixture(scope="session")
def server(default_graph: Path) -> Iterator[Running]:
    """A server on the default graph, without a limit of the rate."""
    require_module("fastapi", "serve")
    with serving(default_graph, "--rate", "0") as running:
        yield running


Start = Callable[..., Iterator[Running]]
