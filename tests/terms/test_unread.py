"""What is read of measured values, and what of a text is left unread."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case import Finding, Span
from kgdx.terms.measured.amounts import MEASURED, measures
from kgdx.terms.normalise import word_list
from kgdx.terms.unread import NOTHING, unread, with_values


def finding(text: str, words: str) -> Finding:
    start = text.index(words)
    return Finding("HP:0000001", span=Span(start, start + len(words)), text=words)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("HbA1c 9.8 %", 9.8, "%"),
        ("HbA1c 9.8%", 9.8, "%"),
        ("糖化血红蛋白10.2%", 10.2, "%"),
        ("空腹血糖13.1 mmol/L", 13.1, "mmol/L"),
        ("CK 18,400 U/L", 18400.0, "U/L"),
        ("血尿酸598 μmol/L", 598.0, "μmol/L"),
        ("白细胞16.2×10^9/L", 16.2, "×10^9/L"),
        ("体温38.0℃", 38.0, "℃"),
        ("T 38.1", 38.1, ""),
        ("FEV1/FVC 0.52", 0.52, ""),
        ("WBC 15.4", 15.4, ""),
        ("心率112次/分", 112.0, "次/分"),
        ("proteinuria 1.2 g/d", 1.2, "g/d"),
        ("ceruloplasmin 0.06 g/L", 0.06, "g/L"),
        ("BP 95/60 mmHg", None, "mmHg"),
    ],
)
def test_a_measured_value_is_read_with_its_unit(text: str, value: float | None, unit: str) -> None:
    assert [(each.value, each.unit) for each in measures(text)] == [(value, unit)]


@pytest.mark.parametrize(
    "text", ["since 4 days", "22F", "type 2 diabetes", "three times a week", "3岁", "HP:0001250", "P3Y"]
)
def test_ages_durations_and_names_are_no_measured_values(text: str) -> None:
    assert measures(text) == []


def test_a_value_right_behind_a_finding_is_the_findings() -> None:
    text = "fever to 39.2 °C, cough, platelets 62, 发热约39.5℃"
    found = with_values(text, [finding(text, "fever"), finding(text, "cough"), finding(text, "发热")])
    assert [(each.value, each.unit) for each in found] == [(39.2, "°C"), (None, ""), (39.5, "℃")]


def test_a_value_that_is_no_findings_own_is_unread_with_its_number() -> None:
    text = "Thirsty and HbA1c 9.8 %, fever to 39 °C"
    found = with_values(text, [finding(text, "Thirsty"), finding(text, "fever")])
    parts = unread(text, found)
    assert [(text[each.start : each.end], each.note, each.value, each.unit) for each in parts] == [
        ("and HbA1c 9.8 %", MEASURED, 9.8, "%")
    ]


def test_each_clause_without_a_finding_is_named() -> None:
    text = "Feels odd. Cough, hair falls out；最近睡得不好，咳嗽. "
    parts = unread(text, [finding(text, "Cough"), finding(text, "咳嗽")])
    assert [(text[each.start : each.end], each.note) for each in parts] == [
        ("Feels odd", NOTHING),
        ("hair falls out", NOTHING),
        ("最近睡得不好", NOTHING),
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Dear doctor, this 5-year-old girl has odd spells", ["this 5-year-old girl has odd spells"]),
        ("Hi, my son, 8. Thank you", []),
        ("患儿，女，3岁。手脚总是冰凉", ["手脚总是冰凉"]),
        ("您好，我女儿今年5岁", []),
        ("PMH: none. Her toes overlap", ["Her toes overlap"]),
    ],
)
def test_what_says_nothing_of_the_patients_state_is_not_named(text: str, parts: list[str]) -> None:
    assert [text[each.start : each.end] for each in unread(text, [])] == parts


@given(text=st.text(alphabet="abC 19.,;%/°Lmgol，。痛\n", max_size=60), data=st.data())
def test_every_letter_lies_in_a_finding_its_clause_or_an_unread_part(text: str, data: st.DataObject) -> None:
    ends = data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=2).map(sorted))
    read = [Finding("HP:1", span=Span(*ends))] if ends[0] < ends[1] else []
    parts = unread(text, with_values(text, read))
    assert all(0 <= each.start < each.end <= len(text) for each in parts)
    assert [each.start for each in parts] == sorted(each.start for each in parts)
    if not read and not any(word in word_list("plain") for word in re.findall(r"[a-z]+", text.lower())):
        covered = {place for each in parts for place in range(each.start, each.end)}
        assert all(place in covered for place, letter in enumerate(text) if letter.isalpha())


def test_each_clause_of_a_long_text_has_its_own_part() -> None:
    text = "Glucose 5.1 mmol/L and fever to 39 °C, " * 5000
    found = [Finding("HP:1", span=Span(at + 23, at + 28)) for at in range(0, len(text), 39)]
    assert len(unread(text, with_values(text, found))) == 5000
