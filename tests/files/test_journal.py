"""The journal: whole records survive kills, full disks and hands; other runs, other writers and damage are one line."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from kgdx.errors import StoreError, StoreLockedError, UsageError
from kgdx.files.journal import Journal

ABOUT = {"model": "m", "seed": 0}


def kept(path: Path, about: dict[str, object] = ABOUT) -> list[dict[str, object]]:
    with Journal.open(path, about) as journal:
        return journal.records


def test_any_text_is_kept_and_every_line_is_json(tmp_path: Path) -> None:
    record = {"id": "a", "text": "half \ud83e 思\u2028\n\x00"}
    with Journal.open(tmp_path / "new" / "journal.jsonl", ABOUT) as journal:
        journal.add(record)
        assert journal.records == [record]
    assert kept(tmp_path / "new" / "journal.jsonl") == [record]
    lines = (tmp_path / "new" / "journal.jsonl").read_text("ascii").split("\n")
    assert [json.loads(line) for line in lines[:-1]] == [ABOUT, record] and lines[-1] == ""


def test_a_journal_that_is_cut_anywhere_has_the_whole_records_before_the_cut_and_goes_on(tmp_path: Path) -> None:
    path, records = tmp_path / "journal.jsonl", [{"n": n} for n in range(3)]
    with Journal.open(path, ABOUT) as journal:
        journal.add(*records)
    content = path.read_bytes()
    for cut in range(len(content)):
        path.write_bytes(content[:cut])
        whole = content[:cut].count(b"\n")
        with Journal.open(path, ABOUT) as journal:
            assert journal.records == records[: max(0, whole - 1)]
            journal.add({"n": 9})
        assert kept(path)[-1] == {"n": 9}


@pytest.mark.parametrize(("about", "said"), [({"model": "n"}, '"m" and is "n"'), ({"more": [1]}, "more was null")])
def test_a_journal_of_another_run_says_what_differs(tmp_path: Path, about: dict[str, object], said: str) -> None:
    kept(tmp_path / "journal.jsonl")
    with pytest.raises(UsageError, match=said):
        kept(tmp_path / "journal.jsonl", {**ABOUT, **about})


@pytest.mark.parametrize(("content", "line"), [("[1]\n", 1), ('{"model": "m", "seed": 0}\n{\n', 2), ("\n", 1)])
def test_a_damaged_line_is_named(tmp_path: Path, content: str, line: int) -> None:
    (tmp_path / "journal.jsonl").write_text(content)
    with pytest.raises(StoreError, match=rf"damaged \(line {line}\)"):
        kept(tmp_path / "journal.jsonl")


def test_one_process_at_a_time_writes(tmp_path: Path) -> None:
    with (
        Journal.open(tmp_path / "journal.jsonl", ABOUT),
        pytest.raises(StoreLockedError, match="another process"),
        Journal.open(tmp_path / "journal.jsonl", ABOUT),
    ):
        pass


def test_what_a_full_disk_cut_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with Journal.open(tmp_path / "journal.jsonl", ABOUT) as journal:
        journal.add({"n": 1})
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            with pytest.raises(StoreError, match="No space left on device.*what is finished stays"):
                journal.add({"n": 2})
        journal.add({"n": 3})
    assert kept(tmp_path / "journal.jsonl") == [{"n": 1}, {"n": 3}]


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        kept(tmp_path / "file" / "journal.jsonl")
