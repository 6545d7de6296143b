"""Development notes and real text: what is read of them, whatever their layout."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from kgdx.case import Case, Finding, Status, case_from_text
from kgdx.case.person import years_of
from kgdx.evaluate.text_accuracy import evaluate_text
from kgdx.terms.extractor import Extractor

NOTES = Path(__file__).resolve().parents[1] / "data" / "notes" / "reading_dev.jsonl"

SENTENCES = [
    "No seizures, hypotonia or ataxia.",
    "Her mother has migraine and she has ptosis.",
    "FHx: deafness in father. O/E: scoliosis.",
    "Fever: no, cough: yes",
    "w/o nystagmus but with cataract",
    "否认抽搐、发热。查体：肌张力低下",
    "母亲有偏头痛，患儿有白内障。",
]


def notes() -> list[dict[str, Any]]:
    return [json.loads(line) for line in NOTES.read_text(encoding="utf-8").splitlines()]


def read(text: str, reader: Extractor) -> list[tuple[str, str]]:
    return [(finding.id, str(finding.status)) for finding in reader.extract(text).findings]


def test_annotations_stand_in_their_notes() -> None:
    for note in notes():
        for each in note["findings"]:
            assert note["text"][each["start"] :].startswith(each["text"]), note["id"]
    assert {(note["language"], note["register"]) for note in notes()} == {
        (language, register)
        for language in ("en", "zh")
        for register in ("ward", "gp", "lay", "triage", "checklist", "lab")
    }


def test_the_notes_are_read(hpo_reader: Extractor) -> None:
    wanted = found = right = given_ = 0
    for note in notes():
        case = Case.from_text(note["text"], hpo_reader)
        own = [each for each in note["findings"] if each["who"] == "patient"]
        stated = [f for f in case.findings if f.status in (Status.PRESENT, Status.ABSENT) and f.method != "measured"]
        wanted += len(own)
        found += sum(any(matches(f, each) for f in stated) for each in own)
        given_ += len(stated)
        right += sum(any(matches(f, each) for each in own) for f in stated)
        assert years_of(case.age) == pytest.approx(note["age_years"], abs=0.01), note["id"]
        assert case.sex.lower() == note["sex"], note["id"]
        relatives = {curie for each in note["findings"] if each["who"] == "relative" for curie in each["hpo"]}
        patients = {curie for each in own for curie in each["hpo"]}
        assert not {f.id for f in stated if f.status is Status.PRESENT} & (relatives - patients), note["id"]
    assert found / wanted > 0.9
    assert right / given_ > 0.9


def matches(finding: Finding, gold: dict[str, Any]) -> bool:
    return finding.id in gold["hpo"] and finding.status == gold["status"]


@examples(40)
@given(st.sampled_from(SENTENCES), st.data())
def test_further_blanks_change_nothing(hpo_reader: Extractor, text: str, data: st.DataObject) -> None:
    wide = "".join(sign * (data.draw(st.integers(1, 3)) if sign == " " else 1) for sign in text)
    assert read(wide, hpo_reader) == read(text, hpo_reader)


@examples(60)
@given(
    st.text(max_size=80)
    | st.lists(st.sampled_from([*" ".join(SENTENCES).split(), "(-)", "?", "\n", "RP", "[x]"])).map(" ".join)
)
def test_any_text_is_read_within_itself(hpo_reader: Extractor, text: str) -> None:
    for finding in hpo_reader.extract(text).findings:
        assert finding.span is None or 0 <= finding.span.start < finding.span.end <= len(text)


def test_two_languages_in_a_sentence_and_misread_letters(hpo_reader: Extractor) -> None:
    assert read("患儿有 seizures，no ataxia", hpo_reader) == [("HP:0001250", "present"), ("HP:0001251", "absent")]
    assert ("HP:0000252", "present") in read("rnicr0 cephaly; microcephalv", hpo_reader)


def test_two_that_are_told_together_both_count(hpo_reader: Extractor) -> None:
    assert len(case_from_text("Bloating and loose stools after meals", hpo_reader).observed) == 2


def test_two_patients_are_said_in_one_line(hpo_reader: Extractor) -> None:
    extraction = hpo_reader.extract("Patient 1 has seizures. Patient 2 has ataxia.")
    assert [(f.id, str(f.status)) for f in extraction.findings] == [
        ("HP:0001250", "present"),
        ("HP:0001251", "unknown"),
    ]
    assert [issue.message for issue in extraction.issues] == [
        "the text tells of 2 patients: Patient 1 (characters 0-9), Patient 2 (characters 24-33)"
    ]


def test_a_long_note_takes_no_longer_for_its_length(hpo_reader: Extractor) -> None:
    text = (" ".join(SENTENCES) + "\n") * 400
    begin = time.process_time()
    hpo_reader.extract(text)
    assert time.process_time() - begin < 30


def test_abstracts_are_read_well(hpo_reader: Extractor, shared_data: Path) -> None:
    with gzip.open(shared_data / "gsc-plus-dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        docs = [json.loads(line) for line in lines]
    result = evaluate_text(hpo_reader, docs)
    assert result["n"] == len(docs) == 123
    assert result["f1"] > 0.74
    assert result["precision"] > 0.8


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Cleft palate and bilateral sensorineural hearing loss", {"HP:0000175", "HP:0000407"}),
        ("short stature; hypertelorism; low-set ears", {"HP:0004322", "HP:0000316", "HP:0000369"}),
        ("shortness of breath on exertion", {"HP:0002094"}),
        ("患儿身材矮小，双眼上睑下垂，无抽搐", {"HP:0004322", "HP:0000508", "HP:0001250"}),
    ],
)
def test_plain_phrases_are_read(hpo_reader: Extractor, text: str, expected: set[str]) -> None:
    assert expected <= {finding.id for finding in hpo_reader.extract(text).findings}
