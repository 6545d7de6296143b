"""Abbreviations, and which of their readings a text decides for."""

from __future__ import annotations

import pytest

from kgdx.terms.abbreviations import NONE, readings, uses


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("HTN on treatment", "Hypertension"),
        ("RP, night blindness, ERG flat", "Rod-cone dystrophy"),
        ("RP of the fingers in the cold", "Raynaud phenomenon"),
        ("ASD with left-to-right shunt on echo", "Atrial septal defect"),
        ("ASD, speech delay, poor eye contact", "Autism"),
        ("spastic CP after preterm birth", "Cerebral palsy"),
        ("CP radiating to the arm, troponin", "Chest pain"),
        ("MR with systolic murmur, mitral valve", "Mitral regurgitation"),
        ("MR, seizures, speech delay", "Intellectual disability"),
    ],
)
def test_the_words_around_decide(text: str, name: str) -> None:
    found, issues = uses(text)
    assert ([use.reading.name for use in found], issues) == ([name], [])
    assert all(text[use.start : use.end] in readings() for use in found)


def test_where_nothing_decides_none_is_read_and_all_readings_are_said() -> None:
    found, issues = uses("Known CP.")
    assert not found
    assert [issue.message for issue in issues] == ["'CP' may be Cerebral palsy or Chest pain or Cleft palate"]
    assert issues[0].where == "characters 6-8"


def test_a_reading_that_is_no_finding_takes_the_place_of_one() -> None:
    found, _ = uses("MR imaging of the brain, T2 scan")
    assert [use.reading.id for use in found] == [NONE]


def test_an_abbreviation_that_the_text_explains_is_left_to_it() -> None:
    assert uses("RP, night blindness", {"RP"}) == ([], [])


def test_a_long_text_is_read_in_time_that_grows_with_its_length() -> None:
    found, _ = uses("HTN and RP with night vision loss. " * 3000)
    assert len(found) == 6000
