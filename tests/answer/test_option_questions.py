"""What a question with options is, and which option an answer chooses."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.answer.option_questions import LETTERS, OptionQuestion, listed, read_option
from kgdx.errors import UsageError

OPTIONS = {"A": "Measles", "B": "Type 1 diabetes", "C": "Diabetes", "D": "Rubella"}


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("B", "B"),
        ("b", "B"),
        ("(B)", "B"),
        ("A.", "A"),
        ("**B**", "B"),
        ("### D", "D"),
        ("B. Type 1 diabetes", "B"),
        ("D\n\nBecause A is wrong", "D"),
        ("Answer:B", "B"),
        ("ANSWER: D", "D"),
        ("Answer: (C)", "C"),
        ("**Answer:** D", "D"),
        ("**Final Answer**\n\nD", "D"),
        ('{"answer": "B"}', "B"),
        ("so \\boxed{B}", "B"),
        ("$\\boxed{\\text{B}}$", "B"),
        ("The answer is B, a viral disease", "B"),
        ("The correct answer is type 1 diabetes.", "B"),
        ("The best answer is:\n\nB) Type 1 diabetes", "B"),
        ("I would choose option C", "C"),
        ("Option B is correct.", "B"),
        ("B is the correct answer.", "B"),
        ("A is incorrect. B is incorrect. C is correct.", "C"),
        ("**Answer: B. Type 1 diabetes**\n\nExplanation: A is a rash.", "B"),
        ("A. Measles\nB. Type 1 diabetes\nC. Diabetes\nD. Rubella\nAnswer: C", "C"),
        ("It could be A. Let me think. The correct answer is D because A is wrong", "D"),
        ("The answer is A. Wait, the answer is C.", "C"),
        ("<think>The answer is A</think>\nThe answer is B", "B"),
        ("A patient with a rash and lymph nodes has rubella", "D"),
        ("type 1 diabetes", "B"),
        ("答案：B", "B"),
        ("答案是Ｄ。", "D"),
        ("故选 A", "A"),
        ("选项B", "B"),
        ("正确答案为 (C) 糖尿病", "C"),
    ],
)
def test_the_option_that_an_answer_chooses_is_read(answer: str, letter: str) -> None:
    assert read_option(answer, OPTIONS) == letter


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "F",
        "Answer: F",
        "A or B",
        "A和B",
        "Answer: A, C",
        "The answer is A and B",
        "Neither A nor B",
        "None of the above",
        "The answer is not B",
        "Measles or rubella",
        "A patient with a rash",
        "The answer is a viral disease",
        "A. Measles\nB. Type 1 diabetes\n",
        "the answer choices are A, B, C and D. I don't know",
        "<think>The answer is A",
    ],
)
def test_an_answer_that_chooses_none_or_two_is_unreadable(answer: str) -> None:
    assert read_option(answer, OPTIONS) is None


@given(st.text(max_size=200))
def test_whatever_an_answer_says_it_chooses_an_option_or_none(answer: str) -> None:
    assert read_option(answer, OPTIONS) in {None, *OPTIONS}


@given(st.sampled_from(sorted(OPTIONS)), st.sampled_from(["{}", "({})", "**{}**.", "The answer is {}.", "答案是{}。"]))
def test_a_plain_statement_is_always_read(letter: str, form: str) -> None:
    assert read_option(form.format(letter), OPTIONS) == letter


@pytest.mark.parametrize(
    ("options", "gold", "said"),
    [
        ({"A": "x"}, "A", "1 options"),
        ({"A": "x", "B": " X."}, "A", "A and B are equal"),
        ({"A": "x", "B": " "}, "A", "option B is empty"),
        ({"A": "x", "C": "y"}, "A", "called A, C"),
        ({"A": "x", "B": "y"}, "C", "'C' is none of its options"),
    ],
)
def test_a_question_whose_options_cannot_be_chosen_from_is_refused(
    options: dict[str, str], gold: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        OptionQuestion("q1", "Which?", options, gold)


def test_an_empty_question_is_refused() -> None:
    with pytest.raises(UsageError, match="empty"):
        OptionQuestion("q1", " ", {"A": "x", "B": "y"})


def test_a_question_travels_and_its_words_stay_out_of_its_repr() -> None:
    asked = OptionQuestion("q1", "A man of 40 …", OPTIONS, "A", needed=("d1",), subject="OMIM:1")
    assert pickle.loads(pickle.dumps(asked)) == asked
    assert "man" not in repr(asked) and "Measles" not in repr(asked)
    assert hash(asked) == hash(pickle.loads(pickle.dumps(asked)))


def test_options_are_listed_a_line_each() -> None:
    assert listed({"A": "one\ntwo", "B": "three"}) == "A. one two\nB. three"
    assert len(LETTERS) == 26
