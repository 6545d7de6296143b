"""Headings tell what patients have from what else an article names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.ingest.extraction.annotate import about_symptoms


def kept(text: str) -> str:
    parts = about_symptoms(text)
    return "".join(char for place, char in enumerate(text) if parts.covers(place))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Fever and chills.", "Fever and chills."),
        ("Fever. Causes It is a virus.", "Fever."),
        ("Fever.\nCauses\nA virus.\nSymptoms\nRash.", "Fever.\nSymptoms\nRash."),
        ("Fever. Causes are unknown.", "Fever. Causes are unknown."),
        ("发热。\n并发症：\n肺炎。\n临床表现：\n咳嗽。", "发热。\n临床表现：\n咳嗽。"),
        ("治疗后发热。", "治疗后发热。"),
        ("Rash.\nSmith J. Rash. https://example.org. Accessed May 1, 2020.", "Rash.\n"),
    ],
)
def test_a_heading_ends_or_begins_what_patients_have(text: str, words: str) -> None:
    assert kept(text).strip() == words.strip()


@given(st.text())
def test_any_text_has_parts(text: str) -> None:
    parts = about_symptoms(text)
    assert list(parts.starts) == sorted(parts.starts)
    assert len(parts.starts) == len(parts.kept)
