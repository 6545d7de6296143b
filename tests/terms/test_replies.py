"""Answers in words: what yes, no and don't know look like in English and Chinese, and what is none of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.terms.replies import COMMANDS, STATUSES, read_reply


@pytest.mark.parametrize(
    ("words", "meaning", "rest"),
    [
        ("y", "present", ""),
        ("Yes.", "present", ""),
        ("yes, in both hands", "present", "in both hands"),
        ("Yes in both hands", "present", "in both hands"),
        ("no", "absent", ""),
        ("No, but he coughs", "absent", "but he coughs"),
        ("no but he coughs", "absent", "but he coughs"),
        ("I don’t know", "unknown", ""),
        ("not sure, maybe last year", "unknown", "maybe last year"),
        ("?", "unknown", ""),
        ("", "unknown", ""),
        ("   ", "unknown", ""),
        ("有", "present", ""),
        ("有，三天前开始", "present", "三天前开始"),
        ("是的两只手都有", "present", "两只手都有"),
        ("没有。", "absent", ""),
        ("没有，但是咳嗽", "absent", "但是咳嗽"),
        ("不知道", "unknown", ""),
        ("skip", "skip", ""),
        ("跳过", "skip", ""),
        ("b", "back", ""),
        ("为什么", "why", ""),
        ("结束", "finish", ""),
    ],
)
def test_the_beginning_of_an_answer_says_what_it_means(words: str, meaning: str, rest: str) -> None:
    assert read_reply(words)[:2] == (meaning, rest)


@pytest.mark.parametrize(
    "words",
    [
        "no fever but a cough",
        "没有发烧，有咳嗽",
        "有时头痛得厉害",
        "never mind the cough",
        "back pain",
        "finishing school",
    ],
)
def test_words_that_say_something_of_their_own_are_left_to_the_reader(words: str) -> None:
    assert read_reply(words)[:2] == ("", words)


@pytest.mark.parametrize(("words", "dated"), [("三天前开始", True), ("since Monday", True), ("in both hands", False)])
def test_since_when_is_noticed(words: str, dated: bool) -> None:
    assert read_reply(words).dated is dated


@given(st.text(max_size=200))
def test_any_text_is_read_and_nothing_of_it_is_lost(words: str) -> None:
    said = read_reply(words)
    assert said.meaning in ("", *STATUSES, *COMMANDS)
    assert said.rest in words
    if not said.meaning:
        assert said.rest == words.strip()
