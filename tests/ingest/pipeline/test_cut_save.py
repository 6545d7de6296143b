"""After a save that was cut short: damage is neither passed over nor recorded as what was written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import kgdx
from kgdx import api
from kgdx.errors import StoreError
from kgdx.ingest.pipeline import build_files
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


def recorded(folder: GraphFolder) -> None:
    build = folder.current().path
    build.joinpath("files.json").unlink()
    build_files.record(build)


def test_verify_names_a_file_that_is_in_no_list(tiny_graph: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_graph, tmp_path / "graph")
    GraphFolder(tmp_path / "graph").current().snapshot.joinpath("stray.arrow").touch()
    assert api.verify(store=tmp_path / "graph").faults == ("snapshot/stray.arrow is in no list",)


def test_verify_holds_the_snapshot_to_its_own_digests(tiny_graph: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_graph, tmp_path / "graph")
    folder = GraphFolder(tmp_path / "graph")
    folder.current().snapshot.joinpath("gene.arrow").write_bytes(b"other")
    recorded(folder)
    assert api.verify(store=folder.path).faults == ("snapshot/gene.arrow is not what snapshot.json says",)


def test_verify_asks_a_graph_whose_files_are_sound(tiny_graph: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_graph, tmp_path / "graph")
    folder = GraphFolder(tmp_path / "graph")
    folder.current().store.joinpath("schema.json").write_text("{")
    recorded(folder)
    (fault,) = api.verify(store=folder.path).faults
    assert fault.startswith("the graph cannot be asked")


def test_a_full_disk_refuses_a_save_before_it_begins(
    tiny_graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny_graph, tmp_path / "graph")
    with monkeypatch.context() as patch:
        patch.setattr(build_files, "_ROOM", 1 << 62)
        with pytest.raises(StoreError, match=r"^the disk is full at .*: free some space"):
            save(tmp_path / "graph", 1)
    found = api.verify(store=tmp_path / "graph")
    assert not found.faults and not found.unchecked
