"""A server of the tests' own: `kgdx serve` as a process, on a real graph, as a user starts it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import require_module

if TYPE_CHECKING:
    from playwright.sync_api import Page


@dataclass
class Running:
    """A server that runs: its address and the lines of its log so far."""

    address: str
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    model: Any = None

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


@contextmanager
def watched(page: Page, address: str, *expected: str) -> Iterator[Page]:
    """A page that lets nothing out and has no complaint but those that hold one of ``expected``."""
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    yield page
    assert [each for each in complaints if not any(one in each for one in expected)] == []
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


@pytest.fixture
def page(browser_page: Page, server: Running) -> Iterator[Page]:
    """The workbench with its example."""
    with watched(browser_page, server.address, "status of 4") as page:
        page.goto(server.address)
        page.wait_for_selector("#ranking li", timeout=30_000)
        yield page


def violations(page: Page) -> list[str]:
    """Return what axe finds wrong with a page."""
    from axe_playwright_python.sync_playwright import Axe

    found: list[dict[str, Any]] = Axe().run(page).response["violations"]
    return [f"{each['id']}: {[node['target'] for node in each['nodes']][:3]}" for each in found]
