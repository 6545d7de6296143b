"""What is of patients is its owner's alone, whatever the umask: saved cases, pages, results, and the state folder."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgdx
from conftest import TINY, TINY_FILES
from kgdx.render.pages.page import write


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    return [
        f"{stat.S_IMODE(path.lstat().st_mode):o} {path.relative_to(folder.parent)}"
        for path in (folder, *folder.rglob("*"))
        if path.lstat().st_mode & 0o077
    ]


def test_a_graph_with_saved_cases_is_its_owners_alone(kgdx_home: Path, tmp_path: Path) -> None:
    kgdx.build({name: str(TINY / file) for name, file in TINY_FILES.items()})
    with kgdx.open() as graph:
        number = graph.snapshot.column("has_phenotype", "phenotype")[0]
        result = graph.diagnose([str(graph.snapshot.column("phenotype", "id")[number])], top=3)
        graph.save(result, text=True)
    write(result.to_html(), tmp_path / "page.html")
    builds = kgdx_home / "graphs" / "default" / "builds"
    assert open_to_others(next(builds.iterdir())) == []
    for folder in (kgdx_home, kgdx_home / "graphs", kgdx_home / "graphs" / "default", builds):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o600


def test_whatever_a_command_writes_is_its_owners_alone(tiny_graph: Path, kgdx_home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir(0o700)
    command = [sys.executable, "-m", "kgdx", "diagnose", "--hpo", "HP:0001250", "--store", str(tiny_graph)]
    done = subprocess.run([*command, "--html", str(out / "page.html")], capture_output=True, text=True, umask=0)
    assert done.returncode == 0 and list(out.iterdir()), done.stderr
    assert open_to_others(out) == []
