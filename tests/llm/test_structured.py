"""JSON of a form, out of whatever a model writes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from conftest import require_module
from kgdx.errors import LlmError
from kgdx.llm.chat import Completion, Message, Request, names, prompt
from kgdx.llm.structured import LONGEST, parse, structured

require_module("json_repair", "llm")

VERSIONS = {
    "answer": (2, "11ef8c7bfc6c8aad"),
    "answer_open": (2, "52194be6e25748f1"),
    "doctor_abstain": (1, "82b240fd04930324"),
    "doctor_differential": (1, "6c76c648c14e9b41"),
    "doctor_hearing": (1, "d559c24fafd6144d"),
    "doctor_plain": (1, "5599619704918746"),
    "doctor_record": (1, "91801faad42e2a23"),
    "doctor_thought": (1, "be55cadad7e7c913"),
    "doctor_turn": (1, "581ac2ae16c6007e"),
    "doctor_wording": (1, "d15dab99f81cd4fe"),
    "judge": (1, "3a1358c681d92f76"),
    "measurement": (1, "b6132c4fe43085d6"),
    "patient": (1, "622d8a8d8163ccd9"),
    "plain": (1, "fa1bcc38172a15c9"),
    "plan": (3, "c6b8a73c9c600932"),
    "relations": (1, "4bb2a5bb87e28360"),
    "rerank": (2, "70842f1649573b65"),
    "rerank_variants": (1, "9019c2ffc47d6b82"),
    "same_disease": (1, "61cb868b2605527a"),
    "second_reader": (3, "a2d0a1cac53aee56"),
    "second_reader_names": (1, "0f6bee9027b7f7e1"),
    "symptoms": (1, "4c3adf49881d6b26"),
    "tags": (1, "8708a93a88785883"),
    "thought": (1, "6b7f33203872c57d"),
    "thought_answer": (1, "88d5094b231dd08f"),
    "thought_diagnosis": (1, "3e29465d5ea6882a"),
    "thought_direct": (1, "ca9f6e7f192d8227"),
    "tool_calls": (1, "9b798e3e9b7d2466"),
    "vignette": (1, "6b12d293e52a714f"),
}
"""Version of each prompt, and the digest of its words: new words need a new version."""


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: str


class Items(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    items: list[Item]


class Scripted:
    """A model that gives these answers in turn."""

    name = "m"

    def __init__(self, *answers: str | LlmError) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []

    def ask(self, request: Request, on_text: object = None) -> Completion:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, LlmError):
            raise answer
        return Completion(answer, "m")


ASKED = Request((Message("user", "list them"),))
GOOD = '{"items": [{"name": "咳嗽"}, {"name": "发热"}]}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Sure! Here you are:\n{GOOD}\nAnything else?",
        f"An example is {{}} and the answer is {GOOD}",
        GOOD.replace('"', "'"),
        GOOD[:-1],
        GOOD[:-2] + ",]}",
        "<think>{ maybe } </think>" + GOOD,
    ],
)
def test_an_answer_that_is_meant_right_is_read(text: str) -> None:
    assert [item.name for item in parse(text, Items)[0].items] == ["咳嗽", "发热"]


def test_an_item_that_was_cut_off_is_left_out() -> None:
    found, mended = parse(GOOD[:-6], Items)
    assert ([item.name for item in found.items], mended) == (["咳嗽"], True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "there are none",
        "[]",
        "null",
        '{"items": "咳嗽"}',
        '{"items": [{"name": 7}]}',
        '{"items": [], "more": 1}',
        "[" * 10_000,
        '{"items": ' * 5_000,
        "{" * LONGEST,
        "x" * (LONGEST + 1),
    ],
)
def test_an_answer_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text, Items)


@given(st.text(max_size=400) | st.text(alphabet='{}[]":,\\ntems咳', max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(parse(text, Items)[0], Items)


@given(st.lists(st.text(max_size=20), max_size=5), st.text(alphabet="abc .\n", max_size=30))
def test_whatever_was_meant_is_read_within_prose(named: list[str], prose: str) -> None:
    text = prose + json.dumps({"items": [{"name": name} for name in named]}) + prose
    assert [item.name for item in parse(text, Items)[0].items] == named


def test_a_wrong_answer_is_asked_for_again_with_what_is_wrong() -> None:
    model = Scripted('{"items": 3}', GOOD)
    found = structured(model, ASKED, Items)
    assert (len(found.value.items), found.asked) == (2, 2)
    last = model.requests[1].messages
    assert last[-2] == Message("assistant", '{"items": 3}')
    assert "items" in last[-1].content
    assert model.requests[0].schema == Items.model_json_schema()


def test_a_model_that_never_gets_it_right_is_given_up() -> None:
    with pytest.raises(LlmError, match="no JSON as asked for") as caught:
        structured(Scripted("no", "still not", "nor now"), ASKED, Items)
    assert caught.value.kind == "malformed"


@pytest.mark.parametrize("text", ["I'm sorry, but I can't help with that.", "抱歉，我无法回答。", "I cannot do this."])
def test_a_refusal_in_words_is_recognised_and_not_asked_again(text: str) -> None:
    model = Scripted(text)
    with pytest.raises(LlmError) as caught:
        structured(model, ASKED, Items)
    assert (caught.value.kind, len(model.requests)) == ("refused", 1)


def test_what_was_complete_of_a_truncated_answer_is_used() -> None:
    cut = LlmError("stopped", kind="truncated", partial=GOOD[:-6])
    found = structured(Scripted(cut), ASKED, Items)
    assert ([item.name for item in found.value.items], found.mended) == (["咳嗽"], True)


def test_a_truncated_answer_without_anything_whole_is_an_error() -> None:
    with pytest.raises(LlmError, match="stopped"):
        structured(Scripted(LlmError("stopped", kind="truncated", partial='{"ite')), ASKED, Items)


@pytest.mark.parametrize("name", names())
def test_a_prompt_whose_words_change_gets_a_new_version(name: str) -> None:
    found = prompt(name)
    digest = hashlib.sha256(f"{found.system}\0{found.user}".encode()).hexdigest()[:16]
    assert (found.version, digest) == VERSIONS[name]


@pytest.mark.parametrize("name", names())
def test_a_prompt_fills_in_what_it_is_given_and_nothing_within_it(name: str) -> None:
    found = prompt(name)
    fields = set(re.findall(r"\$(\w+)", f"{found.user}\n{found.system}"))
    messages = found.messages(**dict.fromkeys(fields, "costs $100 and $text {x}"))
    assert [each.role for each in messages] == ["system", "user"]
    assert "costs $100 and $text {x}" in messages[1].content


def test_an_unknown_prompt_is_named() -> None:
    with pytest.raises(LlmError, match="no prompt is called 'nonsense'"):
        prompt("nonsense")
