"""Any text that is asked is either taken, in a form that can be written down, or refused with a reason."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from kgdx.api.questions import MAX_QUESTION, checked
from kgdx.errors import UsageError
from kgdx.results.words import clean

hostile = st.text(
    alphabet=st.sampled_from(["\ud800", "\udcff", "a", "咳", " ", "?", "\0", "\x1b", "\u202e"]), max_size=20
)


@given(st.text(max_size=200) | hostile)
def test_any_question_is_taken_or_refused(question: str) -> None:
    try:
        taken = checked(question)
    except UsageError:
        assert not any(each.isalnum() for each in question)
        return
    assert taken == taken.strip() and len(taken) <= MAX_QUESTION
    taken.encode("utf-8")


@given(st.text(max_size=100) | hostile)
def test_what_is_shown_holds_nothing_that_steers_a_terminal(text: str) -> None:
    shown = clean(text)
    assert not any(unicodedata.category(each) == "Cc" and each not in "\t\n" for each in shown)
    assert not set(shown) & set("\x1b\x07\x00\u202e\u2066\u200b\u061c")
    assert clean(shown) == shown
    shown.encode("utf-8")
