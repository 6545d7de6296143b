"""Findings put together from a place of the body and what is felt there."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgdx.terms.sites
from kgdx.case.patient import Finding, Span
from kgdx.terms.normalise import read_table
from kgdx.terms.sites import at_sites


def names(text: str) -> set[str]:
    return {each.label for each in at_sites(text, (), lambda _: True)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("her elbow hurts when she lifts the kettle", {"Elbow pain"}),
        ("no feeling in both feet and the left hand", {"Hypoesthesia"}),
        ("knees and ankles are swollen", {"Joint swelling", "Ankle swelling"}),
        ("pain in the hips, shoulders and jaw", {"Hip pain", "Shoulder pain", "Jaw pain"}),
        ("can't turn my head to the left", {"Limited neck range of motion"}),
        ("his calf is tender and twitches", {"Calf pain", "Fasciculations"}),
        ("My LEFT Arm won’t do what I tell it", {"Upper limb muscle weakness"}),
        ("手指和手腕都肿", {"Finger swelling", "Wrist swelling"}),
        ("右膝盖弯不了，上下楼都疼", {"Limited knee flexion/extension", "Knee pain"}),
        ("眼皮老是抽动", {"Eyelid fasciculation"}),
    ],
)
def test_place_and_quality_make_a_finding(text: str, expected: set[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "the elbow does not hurt",
        "knee fine. It hurts elsewhere",
        "back to work, sore losers all",
        "手术后伤口疼",
        "脚不肿",
        "荨麻疹",
        "red reflex in both eyes",
        "shakes her head",
        "\u017fore \u017fhin",
    ],
)
def test_words_that_only_look_like_it_make_none(text: str) -> None:
    assert not names(text)


def test_what_a_longer_wording_says_is_not_said_again() -> None:
    whole = Finding("HP:0000001", span=Span(0, 17))
    assert not at_sites("elbow hurts badly", [whole], lambda _: True)


def test_every_finding_has_a_place_and_a_quality_of_the_table() -> None:
    rows = read_table(Path(kgdx.terms.sites.__file__).with_name("sites.tsv"))
    named = {kind: {row[1] for row in rows if row[0] == kind} for kind in ("site", "quality")}
    cells = [(row[1], row[2]) for row in rows if row[0] == "finding"]
    assert len(set(cells)) == len(cells)
    assert all(site in {*named["site"], "*"} and quality in named["quality"] for site, quality in cells)
