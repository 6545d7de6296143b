"""Ages and sexes as people write them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case import Case
from kgdx.case.ages import subject
from kgdx.case.demographics import described, mentions
from kgdx.case.person import years_of


@pytest.mark.parametrize(
    ("text", "age", "sex"),
    [
        ("22F with seizures", "P22Y", "FEMALE"),
        ("68M c/o chest pain", "P68Y", "MALE"),
        ("A 3-day-old male", "P3D", "MALE"),
        ("4 yo girl", "P4Y", "FEMALE"),
        ("女,52岁", "P52Y", "FEMALE"),
        ("女，52岁，头痛", "P52Y", "FEMALE"),
        ("患儿男3月，抽搐", "P3M", "MALE"),
        ("患儿，女，10月龄", "P10M", "FEMALE"),
        ("aged 7, seizures", "P7Y", "UNKNOWN"),
        ("4yo M", "P4Y", "MALE"),
        ("4yoM with cough", "P4Y", "MALE"),
        ("M/34 with ataxia", "P34Y", "MALE"),
        ("F, 34 y", "P34Y", "FEMALE"),
        ("34/M", "P34Y", "MALE"),
        ("34 year old gentleman", "P34Y", "MALE"),
        ("Pt is a 56 y.o. F", "P56Y", "FEMALE"),
        ("5yr old boy", "P5Y", "MALE"),
        ("5-yr-old boy", "P5Y", "MALE"),
        ("6/12 old girl", "P6M", "FEMALE"),
        ("9 mo F", "P9M", "FEMALE"),
        ("9mo boy", "P9M", "MALE"),
        ("3 wk old baby boy", "P3W", "MALE"),
        ("7 week old girl", "P7W", "FEMALE"),
        ("2 1/2 year old girl", "P30M", "FEMALE"),
        ("2.5-year-old girl", "P30M", "FEMALE"),
        ("Age 34, female", "P34Y", "FEMALE"),
        ("Age: 34 Sex: M", "P34Y", "MALE"),
        ("Age/Sex: 34/F", "P34Y", "FEMALE"),
        ("Patient: 12 y, female", "P12Y", "FEMALE"),
        ("my daughter is 6 and has fits", "P6Y", "FEMALE"),
        ("my son (8) gets tummy ache", "P8Y", "MALE"),
        ("My little boy, 3, can't hear", "P3Y", "MALE"),
        ("our 2 year old can't walk. He falls", "P2Y", "MALE"),
        ("I am a 34 year old woman", "P34Y", "FEMALE"),
        ("I'm 34, female", "P34Y", "FEMALE"),
        ("I'm a 45 year old man", "P45Y", "MALE"),
        ("term newborn girl, day 2 of life", "P2D", "FEMALE"),
        ("Day 5 of life, male", "P5D", "MALE"),
        ("DOL 3 female", "P3D", "FEMALE"),
        ("baby girl, 5 days old", "P5D", "FEMALE"),
        ("1 year 3 months old boy", "P15M", "MALE"),
        ("18-month-old girl. Brother aged 5 has seizures", "P18M", "FEMALE"),
        ("Girl, 15 months", "P15M", "FEMALE"),
        ("患者，男性，45岁", "P45Y", "MALE"),
        ("男性患者，45岁", "P45Y", "MALE"),
        ("患儿女，1岁6个月", "P18M", "FEMALE"),
        ("女孩，2岁半", "P30M", "FEMALE"),
        ("男婴，生后3天", "P3D", "MALE"),
        ("出生3天男婴", "P3D", "MALE"),
        ("5岁男童", "P5Y", "MALE"),
        ("我女儿6岁，抽搐", "P6Y", "FEMALE"),
        ("我儿子今年8岁", "P8Y", "MALE"),
        ("我今年35岁，女", "P35Y", "FEMALE"),
        ("宝宝8个月，男宝", "P8M", "MALE"),
        ("老年男性，70岁", "P70Y", "MALE"),
        ("男孩3岁", "P3Y", "MALE"),
        ("姓名：某 性别：男 年龄：45岁", "P45Y", "MALE"),
        ("性别 女 年龄 30", "P30Y", "FEMALE"),
        ("年龄：8月 性别：女", "P8M", "FEMALE"),
        ("女 34 y", "P34Y", "FEMALE"),
        ("患者女性，四十五岁", "P45Y", "FEMALE"),
        ("三岁女孩", "P3Y", "FEMALE"),
        ("一岁半男孩", "P18M", "MALE"),
        ("Sex: female, age 45", "P45Y", "FEMALE"),
        ("45 M", "P45Y", "MALE"),
        ("45 y F, HTN", "P45Y", "FEMALE"),
        ("45yF", "P45Y", "FEMALE"),
        ("Mr Jones, 67, has tremor", "P67Y", "MALE"),
        ("She is 34 and has ataxia", "P34Y", "FEMALE"),
        ("This lady, 72, has tremor", "P72Y", "FEMALE"),
        ("A 9-year-old was referred. He has ataxia", "P9Y", "MALE"),
        ("Ex-32-week preterm boy, now 4 months", "P4M", "MALE"),
        ("Girl born at 38 weeks; now 5 years old", "P5Y", "FEMALE"),
        ("seizures since 3 months of age in a 2 year old boy", "P2Y", "MALE"),
        ("Onset at 5 years. 20-year-old man", "P20Y", "MALE"),
        ("3 y 2 m female", "P38M", "FEMALE"),
        ("0岁11月男", "P11M", "MALE"),
        ("11m old girl", "P11M", "FEMALE"),
        ("11/12 male", "P11M", "MALE"),
        ("Male, 3 days of age", "P3D", "MALE"),
        ("I'm 19, female.", "P19Y", "FEMALE"),
        ("Newborn F: vomiting", None, "FEMALE"),
        ("我今年45岁女的", "P45Y", "FEMALE"),
        ("女儿12岁，长得矮", "P12Y", "FEMALE"),
        ("My dad, 70, shuffles", "P70Y", "MALE"),
        ("我爸50岁，手抖", "P50Y", "MALE"),
    ],
)
def test_age_and_sex_are_read(text: str, age: str | None, sex: str) -> None:
    found = described(Case("p", text=text))
    assert (years_of(found.age), found.sex) == (pytest.approx(years_of(age)) if age else None, sex)


@pytest.mark.parametrize(
    "text",
    [
        "fever for 5 days",
        "when she was 6 years old",
        "Her 5-year-old brother has fits",
        "rash 3/7",
        "BP 120/80",
        "since 2010",
        "T 38.1 F",
        "母亲45岁",
        "咳嗽3个月",
        "5岁时起病",
    ],
)
def test_spans_of_time_and_relatives_ages_are_not_the_patients(text: str) -> None:
    assert described(Case("p", text=text)).age is None


def test_the_relative_whom_a_lay_text_is_about_is_the_patient() -> None:
    assert subject("My mum has fits.") and not subject("My mum has migraine and I get dizzy.")


@given(st.text(alphabet="0123/ .,-yomwdoldFMmaleof月岁女男天我妈my dad", max_size=60))
def test_every_statement_stands_in_the_text(text: str) -> None:
    for each in mentions(text):
        assert 0 <= each.span.start < each.span.end <= len(text)
        assert text[each.span.start : each.span.end] == each.text


def test_a_long_text_is_read_in_time() -> None:
    begin = time.process_time()
    mentions("She is 34 years old, her 3 year old son has 2 toys. " * 2000)
    assert time.process_time() - begin < 10
