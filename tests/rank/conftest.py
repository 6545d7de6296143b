"""The small graph, compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

import small_graph
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    folder: Path = tmp_path_factory.mktemp("rank")
    return compile_snapshot(small_graph.tables(), folder / "snapshot", "f1")


@pytest.fixture(scope="session")
def ranker(snapshot: Snapshot) -> Ranker:
    return Ranker.open(snapshot)
