"""What questions want is told by their words, in Chinese and English, names left aside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case import Span
from kgdx.policies.question_reading import GAP, Want, masked, negated, of_causes, remainder, wants


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
        ("Can a father pass 〇 to his son?", {Want.RECURRENCE}),
        ("〇的父亲会把病传给儿子吗？", {Want.RECURRENCE}),
        ("Can I breastfeed while taking 〇?", {Want.SAFETY}),
        ("〇会引起什么病？", {Want.COMORBIDITY}),
        ("〇容易导致哪些疾病？", {Want.COMORBIDITY}),
        ("〇的并发症有哪些疾病", {Want.COMORBIDITY}),
        ("〇会并发的疾病有哪些", {Want.COMORBIDITY}),
        ("并发〇的疾病有哪些？", {Want.DISEASE, Want.COMORBIDITY}),
        ("〇并发于哪些疾病", {Want.DISEASE, Want.COMORBIDITY}),
        ("〇是由什么病引发的？", {Want.DISEASE}),
        ("哪些慢性病会引起〇", {Want.DISEASE}),
        ("什么药治病", {Want.DRUG, Want.CURE}),
        ("〇、〇，最可能的诊断？", {Want.DISEASE}),
        ("怎么诊断〇？", {Want.TEST}),
        ("为什么会〇、〇？", {Want.DISEASE}),
        ("〇的症状是什么", {Want.SYMPTOM}),
        ("〇常伴随哪些疾病", {Want.TOGETHER}),
        ("Which diseases can 〇 cause?", {Want.COMORBIDITY}),
        ("What can 〇 lead to?", {Want.COMORBIDITY}),
        ("Which symptoms does 〇 cause?", {Want.SYMPTOM}),
        ("In which diseases does 〇 develop?", {Want.DISEASE}),
        ("Which diseases can lead to 〇?", {Want.DISEASE}),
        ("Which diseases often occur together with 〇?", {Want.TOGETHER, Want.DISEASE}),
        ("What can be done about 〇?", {Want.CURE}),
        ("Which genes are associated with 〇?", {Want.GENE}),
        ("〇挂什么科", {Want.DEPARTMENT}),
        ("〇会遗传给孩子吗", {Want.INHERITANCE}),
        ("〇一般几岁发病", {Want.ONSET}),
        ("〇的患病率是多少", {Want.PREVALENCE}),
        ("〇怎么传播的", {Want.TRANSMISSION}),
        ("哪些人容易得〇", {Want.RISK}),
        ("〇能活多久", {Want.COURSE}),
        ("〇不能吃什么", {Want.DIET}),
        ("〇怎么预防", {Want.PREVENTION}),
        ("〇和〇有什么区别", {Want.DIFFERENCE}),
        ("〇是什么病毒引起的", {Want.CAUSE}),
        ("Is 〇 hereditary?", {Want.INHERITANCE}),
        ("How is 〇 passed on?", {Want.INHERITANCE}),
        ("How common is 〇?", {Want.PREVALENCE}),
        ("At what age do symptoms of 〇 start?", {Want.ONSET}),
        ("Which doctor treats 〇?", {Want.DEPARTMENT}),
        ("Is 〇 contagious?", {Want.TRANSMISSION}),
        ("What is the life expectancy with 〇?", {Want.COURSE}),
        ("What is the difference between 〇 and 〇?", {Want.DIFFERENCE}),
        ("what should I take for 〇", {Want.DRUG}),
        ("My son was diagnosed with 〇, how long will he live?", {Want.COURSE}),
    ],
)
def test_wants_are_told_by_words(rest: str, expected: set[Want]) -> None:
    assert set(wants(rest)) == expected


def test_wants_come_in_the_order_of_the_question() -> None:
    assert wants("〇要做什么检查，吃什么药，怎么治疗？") == (Want.TEST, Want.DRUG, Want.CURE)


def test_long_questions_are_read_in_time_that_grows_with_their_length() -> None:
    for unit in ("can 〇 ", "〇会", "how do ", "什么", "which what ", "〇 "):
        wants(unit * 3_000)


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


@pytest.mark.parametrize(
    ("rest", "causes"),
    [
        ("哪些疾病会引起〇？", True),
        ("Which underlying diseases cause 〇?", True),
        ("哪些疾病会有〇的症状？", False),
        ("Which diseases have the symptoms 〇?", False),
    ],
)
def test_questions_of_causes_are_told_from_those_of_signs(rest: str, causes: bool) -> None:
    assert of_causes(rest) is causes
