"""`kgdx index` as a person calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from cli.conftest import Run


def test_a_folder_is_indexed_under_its_tag(invoke: Callable[..., Run], home: Path, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("Nickel causes dermatitis.")
    done = invoke("index", str(tmp_path / "texts"), "--tag", "guides")
    assert done.returncode == 0, done.stderr
    assert "1 pieces of texts of guides" in done.stdout
    again = invoke("index", str(tmp_path / "texts"), "--tag", "guides", "--json")
    assert json.loads(again.stdout) == {
        "pieces": 1,
        "sources": ["guides"],
        "k1": 1.5,
        "b": 0.75,
        "files": 1,
        "kinds": {"TXT": 1},
        "not_read": 0,
        "records": 1,
        "kept": 1,
        "refused": {},
        "named": [],
    }


def test_a_corpus_is_recognised_and_its_counts_add_up(invoke: Callable[..., Run], home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "textbooks"
    folder.mkdir()
    lines = ['{"id": "Gout_0", "title": "Gout", "content": "It hurts."}', "{", '{"id": "Gout_0", "content": "Twice."}']
    (folder / "Gout.jsonl").write_text("\n".join(lines))
    (folder / "cover.png").write_bytes(b"")
    done = invoke("index", str(folder), "--k1", "1.2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "1 pieces of texts of textbooks; k1 1.2, b 0.75",
        "1 files: 1 file of textbooks; 1 of other kinds are not read",
        "3 records: 1 kept, 2 refused",
        "  1: no JSON",
        "  1: an id that was there before",
        "  the first of them:",
        "    Gout.jsonl:2: no JSON",
        "    Gout.jsonl:3: an id that was there before, 'Gout_0'",
    ]
    other = json.loads(invoke("index", str(folder), "--k1", "2", "--b", "0.5", "--json").stdout)
    assert (other["k1"], other["b"], other["kept"]) == (2, 0.5, 1)


def test_what_cannot_be_indexed_is_one_line(invoke: Callable[..., Run], home: Path, tmp_path: Path) -> None:
    for arguments, said in (
        ((str(tmp_path / "none"),), "there is no folder"),
        ((str(tmp_path), "--tag", "a/b"), "a source cannot be called"),
        (("--tag", "x"), "a tag is for a folder"),
    ):
        done = invoke("index", *arguments)
        assert done.returncode != 0
        assert said in done.stderr and done.stderr.count("\n") == 1
