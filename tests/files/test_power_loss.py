"""What gets a name is on the disk before that, and the name right after: seen by the order of the system's calls."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import polars as pl
import pytest

import kgdx
from conftest import TINY, TINY_FILES
from kgdx import api
from kgdx.evaluate.runner import finish
from kgdx.files import known
from kgdx.files.journal import Journal
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import link_snapshot
from kgdx.ingest.alignment.decisions import Decisions
from kgdx.ingest.pipeline import quarantine
from kgdx.ingest.pipeline.graph_folder import GraphFolder
from kgdx.render.pages.page import MARK
from kgdx.render.pages.page import write as write_page
from kgdx.terms import text_index
from kgdx.terms.text_segment import TextPiece
from kgdx_train.sample_journal import Sample, SampleJournal
from kgdx_train.training_state import save_arrays


class Disk:
    """Notes which files and folders were brought to the disk, and what was given a name without that."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: dict[tuple[int, int], int] = {}
        self.awaited: set[Path] = set()
        self.named: list[str] = []
        self.faults: list[str] = []
        self.sync, self.turn = os.fsync, Lock()
        monkeypatch.setattr("os.fsync", self.fsync)
        for name in ("replace", "rename"):
            monkeypatch.setattr(f"os.{name}", self._naming(getattr(os, name)))

    def fsync(self, handle: int) -> None:
        state = os.fstat(handle)
        self.sync(handle)
        with self.turn:
            self.synced[state.st_dev, state.st_ino] = state.st_mtime_ns
            self.awaited -= {path for path in self.awaited if path.exists() and path.stat().st_ino == state.st_ino}

    def kept(self, path: Path) -> bool:
        state = path.stat()
        return self.synced.get((state.st_dev, state.st_ino)) == state.st_mtime_ns

    def _naming(self, call: Callable[..., None]) -> Callable[..., None]:
        def named(old: Any, new: Any, **given: Any) -> None:
            path = Path(old)
            every = [path, *path.rglob("*")] if path.is_dir() else [path]
            if path.parent.name != "stages" and Path(new).name not in ("damaged", "aside", "old"):
                self.faults += [f"{each.name} before {Path(new).name}" for each in every if not self.kept(each)]
                self.named.append(Path(new).name)
                self.awaited.add(Path(new).parent)
            if Path(new).name == "CURRENT":
                build = Path(new).parent / "builds" / path.read_text().strip()
                files = known.read_list(build / "files.json")
                assert files
                self.faults += [f"{name} before CURRENT" for name in files if not self.kept(build / name)]
                self.faults += [] if self.kept(build) else ["the build before CURRENT"]
            call(old, new, **given)

        return named

    def check(self, *names: str) -> None:
        assert self.faults == []
        assert not self.awaited, "a folder whose new name is not on the disk"
        assert not set(names) - set(self.named), self.named


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def graph(tiny_graph: Path, tmp_path: Path, kgdx_home: Path) -> Path:
    shutil.copytree(tiny_graph, tmp_path / "graph")
    with kgdx.open(tmp_path / "graph"):
        return tmp_path / "graph"


def test_a_build_and_an_update(tmp_path: Path, kgdx_home: Path, disk: Disk) -> None:
    sources = {name: str(TINY / file) for name, file in TINY_FILES.items()}
    kgdx.build(sources, store=tmp_path / "graph")
    disk.check("CURRENT", "files.json", "snapshot.json")
    disk.named.clear()
    other = tmp_path / "genes_to_phenotype.txt"
    other.write_bytes((TINY / "genes_to_phenotype.txt").read_bytes() + b"\n")
    api.update({"genes": str(other)}, store=tmp_path / "graph")
    disk.check("CURRENT", "files.json")


def test_a_save(graph: Path, disk: Disk) -> None:
    build = GraphFolder(graph).current().path
    before = known.read_list(build / "files.json")
    with kgdx.open(graph) as opened:
        opened.save(opened.diagnose(["HP:0001250"]))
    disk.check("files.json")
    after = known.read_list(build / "files.json")
    assert before and after
    written = [name for name, file in after.items() if before.get(name) != file]
    assert written and all(disk.kept(build / name) for name in written)


def test_a_linked_snapshot_and_what_is_derived(graph: Path, tmp_path: Path, disk: Disk) -> None:
    old = GraphFolder(graph).current().snapshot
    linked = link_snapshot(old, tmp_path / "made", "another")
    assert linked.fingerprint == "another"
    known.place(tmp_path / "made", tmp_path / "linked")
    Snapshot.open(tmp_path / "linked").derived("own", 1, lambda folder: np.save(folder / "a.npy", np.arange(3)))
    disk.check("linked", "own-1")


def test_indexes_of_names_and_texts(tmp_path: Path, disk: Disk) -> None:
    with known.whole_file(tmp_path / "names.sqlite") as temporary:
        sqlite3.connect(temporary).execute("CREATE TABLE name (id)").connection.close()
    pieces = [TextPiece(f"t{number}", "title", f"ataxia of kind {number}", "own") for number in range(40)]
    sizes = text_index.Sizes(shard=10, segment=20)
    text_index.build(tmp_path / "texts", "f", text_index.plain(lambda: iter(pieces)), sizes=sizes)
    disk.check("names.sqlite", "texts", "card.json")


def test_checkpoints_journals_and_what_users_keep(tmp_path: Path, disk: Disk) -> None:
    save_arrays(tmp_path / "state.safetensors", {"a": np.ones(3, np.float32)})
    with Journal.open(tmp_path / "work" / "journal.jsonl", {"of": "a test"}) as work:
        work.add({"id": 1})
        assert disk.kept(tmp_path / "work" / "journal.jsonl") and disk.kept(tmp_path / "work")
    finish(tmp_path / "work", [{"id": 1}], {"n": 1})
    with SampleJournal(tmp_path / "samples.jsonl").working({"model": "a"}) as samples:
        samples.add(("q", "answer", 0, 0), Sample("text"))
        assert disk.kept(tmp_path / "samples.jsonl")
    Decisions().write(tmp_path)
    frame = pl.DataFrame([], schema=quarantine.CORRECTION)
    quarantine.put_corrections(tmp_path, "own", frame)
    write_page("<!doctype html>" + MARK, tmp_path / "a.html")
    disk.check("state.safetensors", "own.parquet", "a.html")
