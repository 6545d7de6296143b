from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kgdx.case import Case, Finding, Resolution, Status
from kgdx.cli import inputs
from kgdx.cli.options import TermOptions
from kgdx.errors import CaseError, UsageError


class Seizures:
    """Knows one term."""

    def resolve(self, term: str) -> Resolution:
        return Resolution(Finding("HP:0001250", label="Seizure")) if term == "HP:0001250" else Resolution()


@pytest.mark.parametrize(
    "word", ["missing.json", "cases/patient.jsonl.gz", "/nowhere/note", "./note", "~/note", "my note.txt", "C:\\a"]
)
def test_what_is_written_like_a_path_must_exist(word: str) -> None:
    with pytest.raises(CaseError, match="no such file"):
        inputs.existing(word)


@pytest.mark.parametrize(
    "words",
    [
        "fever and seizures",
        "3/6 systolic murmur",
        "nausea/vomiting",
        "发热/头痛",
        "Seizures.\nSince 2020 a note.txt",
        "a" * 100_000,
        "nul\0byte",
        "She takes 2.5 mg.",
    ],
)
def test_words_are_text(words: str) -> None:
    assert inputs.existing(words) is None


def test_an_existing_file_is_read_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fever").write_text("seizures", "utf-8")
    monkeypatch.chdir(tmp_path)
    case = inputs.one("fever")
    assert case is not None
    assert case.text == "seizures"


def test_terms_are_added_to_a_case_and_replace_what_it_said() -> None:
    case = Case("p", (Finding("HP:0001250", Status.ABSENT),))
    assert inputs.with_terms(case, TermOptions(hpo=["HP:0001250"]), Seizures()).observed == ("HP:0001250",)


def test_nothing_given_says_how_to_give_something() -> None:
    with pytest.raises(UsageError, match="no patient is given: as in"):
        inputs.with_terms(None, TermOptions(), Seizures())
    with pytest.raises(UsageError, match="--not takes back what was read of a patient: give the patient, too"):
        inputs.with_terms(None, TermOptions(withdrawn=["HP:0001250"]), Seizures())


def test_ids_are_separated_by_commas_but_names_keep_theirs() -> None:
    assert inputs.split(["HP:1, HP:2,", "Leukodystrophy, hypomyelinating"]) == [
        "HP:1",
        "HP:2",
        "Leukodystrophy, hypomyelinating",
    ]


def test_a_folder_is_for_batch(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="kgdx batch"):
        inputs.one(str(tmp_path))


def test_only_json_lines_are_counted_beforehand(tmp_path: Path) -> None:
    plain, packed, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz", tmp_path / "c.json"
    plain.write_text("{}\n\n{}\n")
    packed.write_bytes(gzip.compress(b"{}\n{}\n{}"))
    other.write_text("{}")
    assert [inputs.lines(str(path)) for path in (plain, packed, other)] == [2, 3, None]


def test_a_damaged_archive_has_no_count(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}\n" * 9999)[:-20])
    assert inputs.lines(str(path)) is None
