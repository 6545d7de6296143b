"""What a text says of a finding, on sentences written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgdx.case.patient import Status
from kgdx.terms.context import sentences, statuses

DATA = Path(__file__).resolve().parents[1] / "data"


def examples(language: str) -> list[tuple[str, str, str]]:
    lines = (DATA / f"context_{language}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.replace("\\n", "\n").split("\t") for line in lines if not line.startswith("#")]
    return [(text, finding, status) for text, finding, status in rows[1:]]


@pytest.mark.parametrize(("text", "finding", "status"), [*examples("en"), *examples("zh")])
def test_status_of_a_sentence(text: str, finding: str, status: str) -> None:
    start = text.index(finding)
    assert statuses(text, [(start, start + len(finding))]) == [Status(status)]


def test_sentences_end_at_stops_and_items() -> None:
    text = "No fever. Cough 2.5 days\n- rash\n\nEnd。无热"
    assert [text[start:].split()[0] for start in sentences(text)] == ["No", "Cough", "-", "End。无热", "无热"]


def test_words_of_a_finding_are_no_triggers() -> None:
    text = "absence of speech, seizures"
    assert statuses(text, [(0, 17), (19, 27)]) == [Status.PRESENT, Status.PRESENT]


def test_denied_in_the_family_says_nothing_of_the_patient() -> None:
    assert statuses("Her mother denies seizures.", [(18, 26)]) == [Status.ABSENT]
    assert statuses("No seizures in her mother; her father has no ataxia.", [(45, 51)]) == [Status.UNKNOWN]
