"""The small graph, compiled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import small_graph
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker, meanings
from small_graph import Topics


@pytest.fixture(scope="module")
def topics() -> Iterator[None]:
    """An encoder of which every vector can be worked out by hand, in place of the one that is installed or not."""
    meanings.vectors_of.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meanings, "usual", Topics)
        patch.setattr(meanings, "_installed", lambda: True)
        yield
    meanings.vectors_of.cache_clear()


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    folder: Path = tmp_path_factory.mktemp("rank")
    return compile_snapshot(small_graph.tables(), folder / "snapshot", "f1")


@pytest.fixture(scope="session")
def ranker(snapshot: Snapshot) -> Ranker:
    return Ranker.open(snapshot)
