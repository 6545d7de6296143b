"""Who the patient is, as a text says it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case import Case
from kgdx.case.demographics import described, mentions


@pytest.mark.parametrize(
    ("text", "age", "sex"),
    [
        ("22F with seizures", "P22Y", "FEMALE"),
        ("22 y/o female", "P22Y", "FEMALE"),
        ("45-year-old man", "P45Y", "MALE"),
        ("A 30-year-old previously healthy Chinese woman", "P30Y", "FEMALE"),
        ("a 3-month-old girl", "P3M", "FEMALE"),
        ("male infant with hypotonia", None, "MALE"),
        ("Newborn, female", None, "FEMALE"),
        ("男,45岁", "P45Y", "MALE"),
        ("3月龄女婴，反复抽搐", "P3M", "FEMALE"),
        ("患者女，22岁，5岁时起病", "P22Y", "FEMALE"),
        ("咳嗽3个月，男性，60岁", "P60Y", "MALE"),
        ("She has seizures.", None, "FEMALE"),
        ("No fever. 3-month-old girl.", "P3M", "FEMALE"),
        ("Two-year-old boy", "P2Y", "MALE"),
        ("Mrs. Smith is 54 years old.", "P54Y", "FEMALE"),
        ("The patient's 30-year-old mother has migraine.", None, "UNKNOWN"),
        ("A 40-year-old woman; her 3-year-old daughter is well.", "P40Y", "FEMALE"),
        ("Her 5-year-old brother has seizures.", None, "FEMALE"),
        ("When he was 5 years old he fell.", None, "MALE"),
        ("Temp: 101F, temperature of 99 F", None, "UNKNOWN"),
        ("fever for 5 days, cough for 3 months", None, "UNKNOWN"),
        ("boy, 4 years, waddling gait", "P4Y", "MALE"),
        ("Girl (6 months), fever", "P6M", "FEMALE"),
        ("woman, 3 years of pain", None, "FEMALE"),
        ("Age: 400", None, "UNKNOWN"),
    ],
)
def test_age_and_sex_are_read_where_they_are_the_patients(text: str, age: str | None, sex: str) -> None:
    found = described(Case("p", text=text))
    assert (found.age, found.sex, found.issues) == (age, sex, ())


@pytest.mark.parametrize(
    ("text", "onset"),
    [
        ("seizures since birth", "HP:0003577"),
        ("onset at age 5", "P5Y"),
        ("It began at 3 months of age.", "P3M"),
        ("childhood-onset ataxia", "HP:0011463"),
        ("seizures since the age of two", "P2Y"),
        ("onset of seizures at 6 months", "P6M"),
        ("5岁时起病", "P5Y"),
        ("出生后即有", "HP:0003577"),
        ("since 3 days", None),
        ("symptoms since 2019", None),
    ],
)
def test_onset_is_read_and_how_long_something_lasts_is_not(text: str, onset: str | None) -> None:
    assert described(Case("p", text=text)).onset == onset


@pytest.mark.parametrize(
    ("text", "related"),
    [
        ("Her parents are first cousins.", True),
        ("born to consanguineous parents", True),
        ("父母近亲结婚", True),
        ("non-consanguineous parents", False),
        ("There is no consanguinity.", False),
        ("否认近亲结婚", False),
        ("Her cousin is tall.", None),
    ],
)
def test_related_parents_are_read_and_so_is_their_denial(text: str, related: bool | None) -> None:
    assert described(Case("p", text=text)).family.consanguineous is related


def test_an_affected_relative_is_read() -> None:
    assert described(Case("p", text="His mother is similarly affected.")).family.affected == ("PARENT",)
    assert described(Case("p", text="Her brother has the same condition.")).family.affected == ("SIBLING",)
    assert described(Case("p", text="His brother also has fits.")).family.affected == ("SIBLING",)
    assert described(Case("p", text="父亲也有耳聋")).family.affected == ("PARENT",)
    assert described(Case("p", text="Her mother has migraine.")).family.affected == ()


def test_what_is_given_counts_and_the_contradiction_is_told_with_its_place() -> None:
    told = described(Case("p", text="A 7-year-old girl.", sex="MALE", age="P12Y"))
    assert (told.sex, told.age) == ("MALE", "P12Y")
    assert [issue.message for issue in told.issues] == [
        "the sex is given as male, the text says female",
        "the age is given as P12Y, the text says P7Y",
    ]
    assert told.issues[0].where == "characters 13-17"


def test_of_two_ages_in_one_text_neither_is_taken() -> None:
    told = described(Case("p", text="A 7-year-old girl. A 9-year-old girl."))
    assert told.age is None and told.sex == "FEMALE"
    assert "states more than one age: P7Y (characters 2-12) and P9Y" in told.issues[0].message


@given(st.text(alphabet="0129 -yearsoldmfMFmonth岁男女月龄,.，。父母近亲", max_size=60))
def test_each_statement_stands_where_it_says(text: str) -> None:
    for each in mentions(text):
        assert text[each.span.start : each.span.end] == each.text


@pytest.mark.parametrize(
    ("text", "age", "sex"),
    [
        ("I am 38, a mum of two, tired all the time.", "P38Y", "FEMALE"),
        ("Our little boy turned 5 in May.", "P5Y", "MALE"),
        ("I'm 33 and my periods are heavy.", "P33Y", "FEMALE"),
        ("my kid just turned three, his belly sticks out", "P3Y", "MALE"),
        ("F 19, vomiting", "P19Y", "FEMALE"),
        ("Our granddaughter, aged 2, isn't talking.", "P2Y", "FEMALE"),
        ("Worried about my toddler (18 months): he goes blue.", "P18M", "MALE"),
        ("我今年28，女，没劲。", "P28Y", "FEMALE"),
        ("本人男，三十岁，心慌", "P30Y", "MALE"),
        ("我30岁，月经不规律", "P30Y", "FEMALE"),
        ("我家小子6岁，坐不住", "P6Y", "MALE"),
        ("外孙七个月大，不会抬头", "P7M", "MALE"),
    ],
)
def test_age_and_sex_are_read_in_lay_words(text: str, age: str, sex: str) -> None:
    found = described(Case("p", text=text))
    assert (found.age, found.sex) == (age, sex)
