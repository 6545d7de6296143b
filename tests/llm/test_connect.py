"""Thoughts before an answer are no part of it, whole or streamed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.config import LlmAccess
from kgdx.errors import LlmError
from kgdx.llm.chat import Message, Request
from kgdx.llm.connect import connect, split_reasoning
from llm.server import Reply, Say, in_turn, serving

ASKED = Request((Message("user", "?"),))


def asked(reply: Reply, *, streamed: bool) -> tuple[str, str]:
    """What a model behind an endpoint answers, and what was heard of it on the way."""
    heard: list[str] = []
    with serving(in_turn(reply)) as server:
        model = connect(LlmAccess("m", server.url, attempts=1))
        answer = model.ask(ASKED, heard.append if streamed else None)
    return answer.text, "".join(heard)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "said", ["<think>\nDrugs [1]?\n</think>\n\nIt is flu [E1].", "\n<think></think>It is flu [E1]."]
)
def test_thoughts_are_left_out(said: str, streamed: bool) -> None:
    text, heard = asked(Say(said), streamed=streamed)
    assert text == "It is flu [E1]."
    assert heard == (text if streamed else "")


def test_an_answer_without_thoughts_is_heard_from_its_first_piece_on() -> None:
    assert asked(Say("<thin ice> is safe"), streamed=True) == ("<thin ice> is safe", "<thin ice> is safe")


@pytest.mark.parametrize("streamed", [False, True])
def test_thoughts_alone_are_no_answer(streamed: bool) -> None:
    with pytest.raises(LlmError, match="gave no answer") as caught:
        asked(Say("<think>What could it be?</think>"), streamed=streamed)
    assert caught.value.kind == "malformed"


def test_thoughts_that_reach_the_limit_leave_nothing_of_an_answer() -> None:
    with pytest.raises(LlmError, match="token limit") as caught:
        asked(Say("<think>What could", finish="length"), streamed=False)
    assert (caught.value.kind, caught.value.partial) == ("truncated", "")


@given(st.text(max_size=60).filter(lambda text: "think>" not in text))
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert split_reasoning(text) == ("", text)
    assert split_reasoning(f"<think>{text}</think>answer") == (text.strip(), "answer")
