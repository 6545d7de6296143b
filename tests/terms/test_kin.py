"""Relatives in a text: who has a finding, who only tells of the patient."""

from __future__ import annotations

import pytest

from kgdx.terms.kin import relatives


@pytest.mark.parametrize(
    "text",
    [
        "Mom has ...",
        "Mother: ...",
        "her maternal grandmother had ...",
        "Twin brother also has ...",
        "母亲有偏",
        "父患耳",
        "患儿姐姐也有",
    ],
)
def test_a_relative_of_whom_something_is_told_is_found(text: str) -> None:
    assert [each.kind for each in relatives(text)] == ["forward"]


@pytest.mark.parametrize(
    "text",
    [
        "Mum reports ...",
        "his mother noticed ...",
        "Mother well, father healthy",
        "seen with her mother",
        "brought in by his dad with ...",
        "born to consanguineous parents",
        "母亲诉患儿",
        "父母体健",
        "由母亲带来",
    ],
)
def test_a_relative_who_only_speaks_or_is_well_has_nothing(text: str) -> None:
    assert list(relatives(text)) == []


def test_a_relative_behind_a_finding_owns_it() -> None:
    assert [each.kind for each in relatives("... in father")] == ["backward"]
    assert [each.kind for each in relatives("... (mother)")] == ["behind"]


def test_the_relative_whom_a_lay_text_is_about_is_the_patient() -> None:
    assert list(relatives("My mum has ...", "mum")) == []
