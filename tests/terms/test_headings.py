"""The parts of a note under its headings, and several patients in one text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case.patient import Status
from kgdx.terms.context import statuses
from kgdx.terms.headings import kind_at, parts, patients


def kinds(text: str) -> list[tuple[str, str]]:
    return [(part.kind, text[part.body : part.end].strip()) for part in parts(text)]


def test_a_heading_holds_to_the_next_one() -> None:
    assert kinds("PMH: asthma. FHx: deafness in father. O/E: ataxia") == [
        ("patient", "asthma."),
        ("family", "deafness in father."),
        ("patient", "ataxia"),
    ]


def test_a_family_without_anything_ends_there() -> None:
    text = "FHx nil, hypotonia"
    assert kind_at(parts(text), text.index("hypotonia")) == "patient"


def test_the_lines_below_a_heading_belong_to_it_up_to_an_empty_line() -> None:
    text = "Family history\nfather: ataxia\nsister: epilepsy\n\nShe is well"
    assert kind_at(parts(text), text.index("epilepsy")) == "family"
    assert kind_at(parts(text), text.index("She")) == "patient"


def test_what_is_denied_in_a_list_of_its_own_is_absent_up_to_the_full_stop() -> None:
    text = "Negatives: fever, rash. Seizures daily"
    spans = [(text.index(word), text.index(word) + len(word)) for word in ("fever", "rash", "Seizures")]
    assert statuses(text, spans) == [Status.ABSENT, Status.ABSENT, Status.PRESENT]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Patient 1 has ataxia. Patient 2 has fits.", 2),
        ("Twin A is well, twin B has fits", 2),
        ("患者1抽搐，患者2发热", 2),
        ("The first patient had ataxia, the second patient fits", 2),
        ("Patient 1 of the series", 0),
        ("Patient 2 years old", 0),
        ("患者3岁，患者2天前发热", 0),
    ],
)
def test_several_patients_are_noticed(text: str, count: int) -> None:
    assert len(patients(text)) == count


@given(st.text(alphabet="FHxPMO/E: .,\n-*abc家族史查体：，。无12 patient", max_size=120))
def test_parts_lie_in_the_text_in_its_order(text: str) -> None:
    found = parts(text)
    assert all(0 <= part.start <= part.body <= len(text) and part.end <= len(text) for part in found)
    assert [part.start for part in found] == sorted(part.start for part in found)
