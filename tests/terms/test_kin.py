"""Relatives in a text: who has a finding, who only tells of the patient."""

from __future__ import annotations

import pytest

from kgdx.terms.context import statuses
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


@pytest.mark.parametrize(
    ("text", "finding", "status"),
    [
        ("Sister d. cardiomyopathy.", "cardiomyopathy", "family"),
        ("There is a strong history of deafness in the family.", "deafness", "family"),
        ("There is deafness on the maternal side.", "deafness", "family"),
        ("Migraines run in the family.", "Migraines", "family"),
        ("An uncle on my dad's side had dementia.", "dementia", "family"),
        ("His big sister also walks on her toes.", "walks on her toes", "family"),
        ("He falls. Our other child has ataxia too.", "ataxia", "family"),
        ("He falls. My older boy also has seizures.", "seizures", "family"),
        ("I get dizzy. My grandad had a tremor.", "tremor", "family"),
        ("Gran had glaucoma.", "glaucoma", "family"),
        ("Nobody else in the family has seizures.", "seizures", "family"),
        ("Lives with his brother, has ataxia.", "ataxia", "present"),
        ("Both she and her brother have scoliosis.", "scoliosis", "present"),
        ("His mum says he has seizures.", "seizures", "present"),
        ("他爸个子矮，他妈也矮。", "个子矮", "family"),
        ("外甥有癫痫", "癫痫", "family"),
        ("孩子的二姨也有癫痫", "癫痫", "family"),
        ("其弟有癫痫。", "癫痫", "family"),
        ("家里有人耳聋。", "耳聋", "family"),
        ("妈妈发现孩子眼球震颤", "眼球震颤", "present"),
    ],
)
def test_whose_a_finding_is_in_lay_words(text: str, finding: str, status: str) -> None:
    start = text.index(finding)
    assert str(statuses(text, [(start, start + len(finding))])[0]) == status
