"""What questions want is told by their words, in Chinese and English, names left aside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case import Span
from kgdx.policies.intents import GAP, Want, masked, negated, remainder, wants


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("〇有哪些症状？", {Want.SYMPTOM}),
        ("〇需要做哪些检查？", {Want.TEST}),
        ("〇吃什么药", {Want.DRUG}),
        ("治疗〇的药物有哪些？", {Want.CURE, Want.DRUG}),
        ("如何治疗〇", {Want.CURE}),
        ("〇有哪些并发症？", {Want.COMORBIDITY}),
        ("〇会并发什么疾病", {Want.COMORBIDITY}),
        ("什么病会并发〇？", {Want.DISEASE, Want.COMORBIDITY}),
        ("哪些疾病会有〇的症状？", {Want.DISEASE, Want.SYMPTOM}),
        ("〇的禁忌药有哪些", {Want.CONTRAINDICATION}),
        ("〇跟哪些基因有关", {Want.GENE}),
        ("什么是〇", {Want.DESCRIPTION}),
        ("What are the symptoms of 〇?", {Want.SYMPTOM}),
        ("which tests and which drugs for 〇?", {Want.TEST, Want.DRUG}),
        ("Which drug is contraindicated in 〇?", {Want.CONTRAINDICATION}),
        ("Which diseases are treated by 〇?", {Want.DISEASE, Want.CURE}),
        ("What disease causes 〇 and 〇?", {Want.DISEASE}),
        ("Which genes cause 〇?", {Want.GENE}),
        ("What is 〇?", {Want.DESCRIPTION}),
        ("hello", set()),
    ],
)
def test_wants_are_told_by_words(rest: str, expected: set[Want]) -> None:
    assert set(wants(rest)) == expected


def test_wants_come_in_the_order_of_the_question() -> None:
    assert wants("〇要做什么检查，吃什么药，怎么治疗？") == (Want.TEST, Want.DRUG, Want.CURE)


def test_no_part_of_a_name_counts_as_a_word() -> None:
    question = "药物性肝炎有哪些症状"
    assert wants(masked(question, [Span(0, 5)])) == (Want.SYMPTOM,)


@given(st.text(max_size=80), st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), max_size=4))
def test_any_text_is_masked_and_read(text: str, pairs: list[tuple[int, int]]) -> None:
    spans = [Span(min(pair), max(pair) + 1) for pair in pairs if max(pair) < len(text)]
    rest = masked(text, spans)
    assert rest.count(GAP) >= min(len(spans), 1)
    wants(rest)
    remainder(rest)


@pytest.mark.parametrize(
    ("question", "name", "no"),
    [
        ("cough without fever", "fever", True),
        ("cough and fever", "fever", False),
        ("咳嗽但没有发热", "发热", True),
        ("咳嗽伴发热", "发热", False),
        ("no seizures", "seizures", True),
    ],
)
def test_what_is_not_there_is_told_from_what_is(question: str, name: str, no: bool) -> None:
    at = question.index(name)
    assert negated(question, Span(at, at + len(name))) is no


@pytest.mark.parametrize(
    ("question", "name"),
    [("Which tests are recommended for pertusis?", "pertusis"), ("What is pertusis?", "pertusis"), ("what?", "")],
)
def test_what_is_left_may_be_a_name(question: str, name: str) -> None:
    assert remainder(question) == name
