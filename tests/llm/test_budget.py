"""What may be spent: calls, tokens, money and time; a limit that is reached is an error that says which."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from conftest import require_module
from kgdx.config import LlmAccess, Settings
from kgdx.errors import ConfigError, LlmError
from kgdx.llm.budget import Budget, Meter
from kgdx.llm.chat import Message, Request
from kgdx.llm.connect import described
from kgdx.llm.endpoint import Endpoint
from llm.running import closing
from llm.server import Fail, Reply, Say, Server, in_turn, serving

require_module("openai", "llm")

ASKED = Request((Message("user", "hello"),))


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def client(server: Server, budget: Budget, clock: Clock | None = None, concurrency: int = 4) -> Endpoint:
    access = LlmAccess("m", server.url, timeout=60.0, concurrency=concurrency, attempts=4)
    return Endpoint(access, Meter(1.0, 1.0, budget, clock or time.monotonic))


def refused(model: Endpoint, match: str, request: Request = ASKED) -> LlmError:
    with pytest.raises(LlmError, match=match) as caught:
        model.ask(request)
    assert caught.value.kind == "budget"
    return caught.value


def test_calls_end_at_their_number() -> None:
    with serving(in_turn(Say("fine"))) as server:
        model = client(server, Budget(calls=2))
        assert [model.ask(ASKED).text for _ in range(2)] == ["fine", "fine"]
        refused(model, "used up its budget of 2 calls: raise KGDX_LLM_MAX_CALLS")
    assert len(server.requests) == 2


def test_tokens_and_money_end_after_the_answer_that_reaches_them() -> None:
    with serving(in_turn(Say("fine", usage=(60, 40)))) as server:
        model = client(server, Budget(tokens=150))
        model.ask(ASKED)
        model.ask(ASKED)
        refused(model, "150 tokens")
        dear = client(server, Budget(cost=0.00005))
        dear.ask(ASKED)
        refused(dear, "a cost of 5e-05")


@pytest.mark.parametrize("reply", [Fail(429, headers={"Retry-After": "7"}), Say("late", stall=3600)])
def test_time_ends_a_wait_that_would_pass_it(reply: Reply) -> None:
    with serving(in_turn(reply, Say("fine"))) as server:
        refused(client(server, Budget(seconds=0.2)), r"budget of 0.2 seconds: raise KGDX_LLM_MAX_SECONDS")
        assert client(server, Budget(seconds=50)).ask(ASKED).text == "fine"


def test_time_ends_an_answer_that_is_on_its_way_and_keeps_what_arrived() -> None:
    clock, pieces = Clock(), []

    def hear(piece: str) -> None:
        pieces.append(piece)
        clock.now += 3.0

    with serving(in_turn(Say("one two three four five six"))) as server:
        model = client(server, Budget(seconds=5), clock)
        with pytest.raises(LlmError, match="5 seconds") as caught:
            asyncio.run(closing(model, model.sample(ASKED, hear)))
        refused(model, "5 seconds")
    assert (caught.value.kind, caught.value.partial) == ("budget", "".join(pieces))
    assert len(pieces) == 2 and len(server.requests) == 1


def test_a_model_that_does_not_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgdx.llm.response.LONGEST", 100)
    with serving(in_turn(Say("on and on " * 100))) as server:
        model = client(server, Budget())
        with pytest.raises(LlmError, match="does not end its answer") as caught:
            model.ask(ASKED, lambda piece: None)
    assert caught.value.kind == "truncated" and len(caught.value.partial) == 100


def access(tmp_path: Path, **settings: str) -> LlmAccess:
    names = {"KGDX_HOME": str(tmp_path), "KGDX_LLM_BASE_URL": "http://127.0.0.1:9/v1", "KGDX_LLM_MODEL": "m"}
    return Settings.load(environ=names | {f"KGDX_LLM_{key.upper()}": value for key, value in settings.items()}).llm()


def test_limits_come_from_the_settings(tmp_path: Path) -> None:
    found = access(tmp_path, max_calls="3", max_tokens="1000", max_cost="0.5", max_seconds="60", price_in="1")
    assert Budget.of(found) == Budget(3, 1000, 0.5, 60.0) == Meter.of(found).budget
    assert Budget.of(access(tmp_path)) == Budget()


def test_a_limit_of_money_needs_prices(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="KGDX_LLM_MAX_COST is set, and prices are not: set KGDX_LLM_PRICE_IN"):
        access(tmp_path, max_cost="1")


def test_the_file_of_settings_takes_a_switch_and_numbers(tmp_path: Path) -> None:
    lines = (
        "[llm]",
        'model = "transformers:org/name"',
        "deidentify = true",
        "max_calls = 4",
        "seed = 7",
        'device = "cpu"',
    )
    (tmp_path / "config.toml").write_text("\n".join(lines))
    found = Settings.load(environ={"KGDX_HOME": str(tmp_path)}).llm()
    assert (found.model, found.is_local, found.deidentify, found.max_calls) == ("org/name", True, True, 4)
    assert (found.seed, found.device) == (7, "cpu")
    assert described(found).startswith("org/name in this process; identifying")


def test_a_switch_that_is_neither_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="KGDX_LLM_DEIDENTIFY is 'maybe': give true or false"):
        access(tmp_path, deidentify="maybe")
