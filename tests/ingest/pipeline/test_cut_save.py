"""After a save that was cut short: damage is neither passed over nor recorded as what was written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import kgdx
from kgdx import api
from kgdx.errors import StoreError
from kgdx.ingest.pipeline.graph_folder import GraphFolder


@pytest.fixture
def cut(tiny_graph: Path, tmp_path: Path) -> GraphFolder:
    """A graph with a saved patient, whose last save was cut short."""
    shutil.copytree(tiny_graph, tmp_path / "graph")
    save(tmp_path / "graph", 1)
    folder = GraphFolder(tmp_path / "graph")
    folder.current().path.joinpath("writing").touch()
    return folder


def save(folder: Path, age: int) -> None:
    with kgdx.open(folder) as graph:
        graph.save(graph.diagnose(["HP:0001250"], age=age))


def damage(folder: GraphFolder) -> None:
    """Change a finding's name in its page, so that the file's size stays."""
    (file,) = folder.current().store.glob("Phenotype_0.*.bucket")
    content = file.read_bytes()
    assert b"Seizure" in content
    file.write_bytes(content.replace(b"Seizure", b"Leisure"))


def test_verify_says_what_it_cannot_check(cut: GraphFolder) -> None:
    found = api.verify(store=cut.path)
    assert not found.faults and "cut short" in found.unchecked[0]
    save(cut.path, 2)
    again = api.verify(store=cut.path)
    assert not again.faults and not again.unchecked


def test_damage_after_a_cut_save_is_not_recorded_as_truth(cut: GraphFolder) -> None:
    damage(cut)
    assert any("Phenotype" in fault for fault in api.verify(store=cut.path).faults)
    with pytest.raises(StoreError, match="damaged.*Phenotype"):
        save(cut.path, 2)
    assert api.verify(store=cut.path).faults
