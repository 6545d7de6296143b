"""The graph folder: what is current, who may read and write, and what is left of a save that was cut short."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

import kgdx
from kgdx import api
from kgdx.errors import StoreError, StoreLockedError
from kgdx.ingest.pipeline import build_files
from kgdx.ingest.pipeline.graph_folder import GraphFolder


@pytest.fixture
def folder(tmp_path: Path) -> GraphFolder:
    found = GraphFolder(tmp_path / "graph")
    publish(found, "first")
    return found


def publish(folder: GraphFolder, content: str) -> None:
    with folder.building() as made:
        made.report.write_text(content)


def builds(folder: GraphFolder) -> list[str]:
    return sorted(path.name for path in (folder.path / "builds").iterdir())


def test_no_graph_says_how_to_build_one(tmp_path: Path) -> None:
    empty = GraphFolder(tmp_path / "none")
    assert not empty.exists
    for attempt in (empty.reading, empty.writing):
        with pytest.raises(StoreError, match="kgdx build"), attempt():
            pass
    assert not empty.path.exists()


def test_a_new_build_takes_the_place_of_the_old_one(folder: GraphFolder) -> None:
    old = folder.current()
    publish(folder, "second")
    assert folder.current().report.read_text() == "second"
    assert builds(folder) == [folder.current().id] and folder.current() != old


def test_a_failed_build_leaves_the_old_one(folder: GraphFolder) -> None:
    old = folder.current()
    with pytest.raises(ValueError, match="stop"), folder.building() as made:
        made.report.write_text("half")
        raise ValueError("stop")
    assert folder.current() == old and builds(folder) == [old.id]


def test_what_a_killed_build_left_goes_with_the_next_one(folder: GraphFolder) -> None:
    (folder.path / "builds" / "killed" / "store").mkdir(parents=True)
    (folder.path / ".CURRENT.killed").write_text("killed")
    publish(folder, "second")
    assert builds(folder) == [folder.current().id]
    assert not list(folder.path.glob(".CURRENT.*"))


def test_readers_share_and_do_not_hold_up_a_builder(folder: GraphFolder) -> None:
    with folder.reading() as first, folder.reading() as second:
        assert first == second
        publish(folder, "second")
        assert first.report.read_text() == "first", "the old build stays while it is read"
    publish(folder, "third")
    assert builds(folder) == [folder.current().id], "and goes afterwards"


def test_a_writer_waits_for_nobody_for_long(folder: GraphFolder) -> None:
    with folder.reading(), pytest.raises(StoreLockedError, match="is reading"), folder.writing(wait_s=0.1):
        pass
    with folder.writing():
        with pytest.raises(StoreLockedError, match="is writing"), folder.reading(wait_s=0.1):
            pass
        with pytest.raises(StoreLockedError, match="nothing was changed"), folder.writing(wait_s=0.1):
            pass
        with pytest.raises(StoreLockedError, match="building or writing"), folder.building():
            pass
    with folder.writing(wait_s=0.1):
        pass


def test_a_second_builder_is_told(folder: GraphFolder) -> None:
    with folder.building(), pytest.raises(StoreLockedError, match="building or writing"), folder.building():
        pass


def test_people_who_decide_at_once_wait_for_each_other(folder: GraphFolder) -> None:
    file = folder.path / "decided"
    file.write_text("")

    def decide(word: str) -> None:
        with folder.deciding():
            before = file.read_text()
            time.sleep(0.001)
            file.write_text(f"{before}{word} ")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(decide, map(str, range(40))))
    assert sorted(map(int, file.read_text().split())) == list(range(40))
    with folder.deciding(), pytest.raises(StoreLockedError, match="changing mappings"), folder.deciding(wait_s=0.0):
        pass


def test_locks_end_with_the_process_that_held_them(folder: GraphFolder) -> None:
    code = (
        "import os, sys; from kgdx.ingest.pipeline.graph_folder import GraphFolder\n"
        "with GraphFolder(sys.argv[1]).building(): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(folder.path)], check=False).returncode == -9
    assert len(builds(folder)) == 2
    publish(folder, "second")
    assert builds(folder) == [folder.current().id]


def test_a_current_build_that_is_gone_or_points_elsewhere_is_refused(folder: GraphFolder) -> None:
    for name in ("gone", "../..", ""):
        (folder.path / "CURRENT").write_text(name)
        with pytest.raises(StoreError, match="is not there"), folder.reading():
            pass


def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"), GraphFolder(tmp_path / "file").building():
        pass


def test_a_reader_that_finds_its_build_replaced_reads_the_new_one(
    folder: GraphFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = folder.current()
    answers = iter([old])
    real = folder._current
    publish(folder, "second")
    monkeypatch.setattr(folder, "_current", lambda: next(answers, None) or real())
    with ExitStack() as stack:
        assert stack.enter_context(folder.reading()).report.read_text() == "second"


def test_a_lock_that_somebody_removed_is_made_again(folder: GraphFolder) -> None:
    lock = folder.current().path / "lock"
    for attempt in (folder.reading, folder.writing):
        lock.unlink()
        with attempt(0.0) as build:
            assert build.report.read_text() == "first"
        assert lock.exists()


@pytest.mark.parametrize("damage", ["", "gone-build\n", None])
def test_a_build_finds_the_complete_one_again_where_current_was_lost(folder: GraphFolder, damage: str | None) -> None:
    old = folder.current()
    (folder.path / "builds" / "99999999T000000Z-half").mkdir()
    pointer = folder.path / "CURRENT"
    pointer.unlink() if damage is None else pointer.write_text(damage)
    with pytest.raises(ValueError, match="stop"), folder.building():
        assert folder.current() == old
        raise ValueError("stop")
    assert folder.current() == old and builds(folder) == [old.id]


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
