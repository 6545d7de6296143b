from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from kgdx.errors import UsageError
from kgdx.render.pages import page, write
from render.pages.documents import large, small


def test_a_page_is_written_and_may_be_written_again(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    write(page(small()), target)
    write(page(large(5)), target)
    assert target.read_text(encoding="utf-8") == page(large(5))
    assert os.listdir(tmp_path) == ["report.html"]


def test_another_file_is_not_overwritten_unless_forced(tmp_path: Path) -> None:
    target = tmp_path / "thesis.html"
    target.write_text("<!doctype html><title>mine</title>")
    with pytest.raises(UsageError, match="exists and is no page of kgdx: name another file, or add --force"):
        write(page(small()), target)
    assert "<title>mine" in target.read_text()
    write(page(small()), target, force=True)
    assert "<title>mine" not in target.read_text(encoding="utf-8")


@pytest.mark.parametrize(("place", "says"), [("", "is a folder"), ("no/such/report.html", "there is no folder")])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, place: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        write(page(small()), tmp_path / place)


def test_a_file_that_fails_half_way_leaves_the_old_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = write(page(small()), tmp_path / "report.html")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="No space left on device"):
        write(page(large(5)), target)
    assert target.read_text(encoding="utf-8") == page(small())
    assert os.listdir(tmp_path) == ["report.html"]


def test_two_that_write_at_once_leave_one_whole_page(tmp_path: Path) -> None:
    target, pages = tmp_path / "report.html", [page(small()), page(large(50))]
    writers = [threading.Thread(target=write, args=(pages[at % 2], target)) for at in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert target.read_text(encoding="utf-8") in pages
    assert os.listdir(tmp_path) == ["report.html"]
