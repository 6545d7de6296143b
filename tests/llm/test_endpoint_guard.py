"""What an endpoint may not do: send text elsewhere, answer without end, or fill the memory."""

from __future__ import annotations

import gzip
import json

import pytest

from conftest import require_module
from kgdx.config import LlmAccess
from kgdx.errors import LlmError
from kgdx.llm.budget import Budget, Meter
from kgdx.llm.chat import Message, Request
from kgdx.llm.endpoint import Endpoint
from kgdx.llm.response import LONGEST
from llm.server import Raw, Say, Server, in_turn, serving

require_module("openai", "llm")

TEXT = "The patient Jane Roe has ataxia since 1999."
ASKED = Request((Message("user", TEXT),))
STREAM = {"Content-Type": "text/event-stream"}


def client(server: Server, *, timeout: float = 5.0, meter: Meter | None = None) -> Endpoint:
    access = LlmAccess("m", server.url, "sk-very-secret-key", timeout=timeout, attempts=2)
    return Endpoint(access, meter)


def answer(text: str, **more: object) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return json.dumps({"id": "x", "object": "chat.completion", "created": 0, "choices": [choice], **more}).encode()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_redirect_is_not_followed_with_a_patient_s_text(status: int, streamed: bool) -> None:
    with serving(in_turn(Say("got it"))) as elsewhere:
        leads = Raw(b"", status, {"Location": f"{elsewhere.url}/chat/completions"})
        with serving(in_turn(leads)) as server, pytest.raises(LlmError, match=f"answers {status}") as caught:
            client(server).ask(ASKED, (lambda piece: None) if streamed else None)
    assert (elsewhere.requests, len(server.requests)) == ([], 1)
    assert caught.value.kind == "rejected" and "KGDX_LLM_BASE_URL" in str(caught.value)


def test_a_proxy_of_the_environment_does_not_read_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(in_turn(Say("read it"))) as proxy, serving(in_turn(Say("fine"))) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        assert client(server).ask(ASKED).text == "fine"
    assert proxy.requests == []


@pytest.mark.parametrize(
    ("reply", "streamed"),
    [
        (Raw(b" " * 1_000_000, for_ever=True, headers={"Content-Type": "application/json"}), False),
        (Raw(b"data: " + b"x" * 1_000_000, for_ever=True, headers=STREAM), True),
        (Raw(answer("x" * (LONGEST + 1))), False),
    ],
    ids=["body", "line", "text"],
)
def test_an_answer_without_end_is_cut_off(reply: Raw, streamed: bool) -> None:
    with serving(in_turn(reply)) as server, pytest.raises(LlmError, match="does not end its answer") as caught:
        client(server).ask(ASKED, (lambda piece: None) if streamed else None)
    assert caught.value.kind == "truncated" and len(caught.value.partial) <= LONGEST


@pytest.mark.parametrize("streamed", [False, True])
def test_a_connection_that_is_only_kept_alive_is_a_time_out(streamed: bool) -> None:
    drip = Raw(b": wait\n\n" if streamed else b" ", headers=STREAM if streamed else {}, for_ever=True, every=0.05)
    with serving(in_turn(drip)) as server, pytest.raises(LlmError, match="time-out") as caught:
        client(server, timeout=0.3).ask(ASKED, (lambda piece: None) if streamed else None)
    assert caught.value.kind == "unreachable"


def test_a_budget_of_time_ends_a_connection_that_is_only_kept_alive() -> None:
    drip = Raw(b" ", for_ever=True, every=0.05)
    with serving(in_turn(drip)) as server, pytest.raises(LlmError, match="budget of 0.3 seconds") as caught:
        client(server, timeout=60, meter=Meter(budget=Budget(seconds=0.3))).ask(ASKED)
    assert caught.value.kind == "budget"


def test_an_answer_that_is_packed_is_not_unpacked() -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    packed = Raw(bomb, headers={"Content-Encoding": "gzip"})
    with serving(in_turn(packed)) as server, pytest.raises(LlmError, match="an answer that is packed"):
        client(server).ask(ASKED)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -5, "completion_tokens": -5},
        {"prompt_tokens": 10**400, "completion_tokens": 1},
        {"prompt_tokens": float("nan"), "completion_tokens": float("inf")},
        {"prompt_tokens": "9" * 400, "completion_tokens": [1]},
    ],
)
def test_a_count_of_tokens_that_cannot_be_is_no_count(usage: dict[str, object]) -> None:
    with serving(in_turn(Raw(answer("fine", model="m", usage=usage)))) as server:
        model = client(server)
        assert model.ask(ASKED).text == "fine"
    assert (model.meter.spent.uncounted, model.meter.spent.prompt_tokens, model.meter.spent.cost) == (1, 0, 0.0)


def test_half_a_character_does_not_spoil_an_answer() -> None:
    with serving(in_turn(Raw(answer("fine \ud83e!", model="m")))) as server:
        assert client(server).ask(ASKED).text == "fine ?!"
