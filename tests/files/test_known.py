"""Lists of files: what was cut, changed or removed is named, and what was only copied is not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from kgdx.files import known


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    (made / "inner").mkdir(parents=True)
    for name in ("a", "inner/b", "empty"):
        (made / name).write_bytes(b"" if name == "empty" else name.encode() * 50)
    return made


def test_what_was_cut_changed_or_removed_is_named(folder: Path) -> None:
    files = known.known(folder, known.listed(folder))
    assert known.faults(folder, files) == []
    os.truncate(folder / "a", 3)
    (folder / "inner" / "b").write_bytes(b"inner/c" * 50)
    (folder / "empty").unlink()
    assert known.faults(folder, files) == [
        "a has 3 bytes, not 50",
        "empty is gone",
        "inner/b is not what was written",
    ]


def test_a_change_that_keeps_size_and_time_shows_when_all_is_read(folder: Path) -> None:
    files = known.known(folder, known.listed(folder))
    before = (folder / "a").stat()
    (folder / "a").write_bytes(b"b" * 50)
    os.utime(folder / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert known.faults(folder, files) == []
    assert known.faults(folder, files, whole=True) == ["a is not what was written"]


def test_a_copy_without_its_times_is_read_and_found_equal(folder: Path, tmp_path: Path) -> None:
    files = known.known(folder, known.listed(folder))
    shutil.copytree(folder, tmp_path / "copy", copy_function=shutil.copyfile)
    os.utime(tmp_path / "copy" / "a", ns=(1, 1))
    assert known.touched(tmp_path / "copy", files) and known.faults(tmp_path / "copy", files) == []


@pytest.mark.parametrize("damage", ["", "[]", '{"layout": 1}', "cut"])
def test_a_damaged_list_is_none(folder: Path, damage: str) -> None:
    files = known.known(folder, known.listed(folder))
    known.write_list(folder / "list", files)
    assert known.read_list(folder / "list") == files
    text = (folder / "list").read_text()
    (folder / "list").write_text(text[: len(text) // 2] if damage == "cut" else damage)
    assert known.read_list(folder / "list") is None
    (folder / "list").write_text(text.replace('"a": [50', '"a": [51'))
    assert known.read_list(folder / "list") is None, "its own checksum is part of it"


def test_files_that_were_given_each_others_names_are_noticed(tmp_path: Path) -> None:
    """They were of one size, and written at one moment as far as the disk tells."""
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(name.encode() * 4)
        os.utime(tmp_path / name, ns=(10**18, 10**18))
    files = known.known(tmp_path, ["a", "b"])
    (tmp_path / "a").rename(tmp_path / "c")
    (tmp_path / "b").rename(tmp_path / "a")
    (tmp_path / "c").rename(tmp_path / "b")
    assert known.faults(tmp_path, files) == ["a is not what was written", "b is not what was written"]
