"""Samples over real HTTP: many at a time, with seeds, stop strings, tokens and continued texts."""

from __future__ import annotations

import asyncio
import gc
import json
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import require_module
from kgdx.config import LlmAccess
from kgdx.errors import LlmError
from kgdx.llm.budget import Budget, Meter
from kgdx.llm.chat import ChatModel, Completion, Message, Request, Tokens, Usage, private_loop, seed_of
from kgdx.llm.completion_cache import AnswerCache, Cassette, of_dict, to_dict
from kgdx.llm.connect import connect
from kgdx.llm.endpoint import Endpoint
from llm.running import closing
from llm.server import VOCABULARY, Body, Fail, Raw, Reply, Say, Server, babble, in_turn, logprob, pieces, serving

require_module("openai", "llm")

ASKED = Request((Message("user", "What is it?"),))
KEPT_KEY = "0460d2d1c1d6ed01b2d2da643b2983b1ebf775a78174246a8c24a73a29b227b3"
HOT = Request((Message("user", "What is it?"),), temperature=1.0, seed=7)


def endpoint(server: Server, *, concurrency: int = 64, meter: Meter | None = None, attempts: int = 2) -> Endpoint:
    return Endpoint(LlmAccess("m", server.url, timeout=30.0, concurrency=concurrency, attempts=attempts), meter)


def sampled(model: ChatModel, *requests: Request) -> list[list[Completion]]:
    """The samples of requests that are asked at the same time."""

    async def calls() -> list[list[Completion]]:
        return list(await asyncio.gather(*(model.sample(each) for each in requests)))

    return asyncio.run(closing(model, calls()))


def with_(request: Request, **changes: Any) -> Request:
    return Request(**{name: getattr(request, name) for name in request.__slots__} | changes)


def test_each_of_several_samples_is_what_a_request_of_its_own_gives() -> None:
    with serving(babble) as server:
        model = endpoint(server)
        (several,) = sampled(model, with_(HOT, n=4))
        singles = [sampled(model, with_(HOT, seed=seed_of(7, number)))[0][0] for number in range(4)]
    assert [each.text for each in several] == [each.text for each in singles]
    assert len({each.text for each in several}) == 4
    assert all("n" not in body for body in server.requests)


def test_a_greedy_sample_does_not_depend_on_its_seed() -> None:
    with serving(babble) as server:
        (several,) = sampled(endpoint(server), with_(HOT, n=3, temperature=0.0))
    assert len({each.text for each in several}) == 1


def test_each_sample_is_kept_for_itself(tmp_path: Path) -> None:
    with serving(babble) as server:
        model = connect(LlmAccess("m", server.url), cache=tmp_path / "answers.sqlite")
        for request in (HOT, with_(HOT, seed=None)):
            before = len(server.requests)
            (two,) = sampled(model, with_(request, n=2))
            (three,) = sampled(model, with_(request, n=3))
            assert [each.cached for each in three] == [True, True, False]
            assert [each.text for each in three[:2]] == [each.text for each in two]
            assert len(server.requests) == before + 3


def test_the_first_piece_after_piece_is_heard_of_the_first_sample_alone() -> None:
    heard: list[str] = []
    with serving(babble) as server:
        model = endpoint(server)
        made = asyncio.run(closing(model, model.sample(with_(HOT, n=3), heard.append)))
    assert "".join(heard) == made[0].text


def test_one_sample_that_fails_fails_the_call_and_the_others_are_kept(tmp_path: Path) -> None:
    def script(body: Body, number: int) -> Reply:
        return Say(refusal="no") if body["seed"] == seed_of(7, 1) else Say(f"fine {body['seed']}", stall=0.05)

    with serving(script) as server:
        model = connect(LlmAccess("m", server.url), cache=tmp_path / "answers.sqlite")
        with pytest.raises(LlmError) as caught:
            sampled(model, with_(HOT, n=3))
        assert caught.value.kind == "refused"
        assert sampled(model, with_(HOT, seed=seed_of(7, 2)))[0][0].cached


def test_every_setting_is_sent_and_none_that_is_not_given() -> None:
    request = Request(ASKED.messages, max_tokens=9, temperature=0.5, top_p=0.9, stop=("</a>", "</b>"), seed=3)
    with serving(in_turn(Say("fine"))) as server:
        sampled(endpoint(server), request)
        sampled(endpoint(server), ASKED)
    sent, plain = server.requests
    assert {name: sent[name] for name in ("max_tokens", "temperature", "top_p", "stop", "seed")} == {
        "max_tokens": 9,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["</a>", "</b>"],
        "seed": 3,
    }
    assert plain.keys() == {"messages", "model", "temperature", "max_tokens"}  # a cap of its own


@pytest.mark.parametrize("streamed", [False, True])
def test_tokens_arrive_with_those_of_the_stop_string(streamed: bool) -> None:
    text = "It is <search>flu</search> or so"
    request = with_(ASKED, stop=("</search>", "</match>"), logprobs=True)
    heard: list[str] = []
    with serving(in_turn(Say(text))) as server:
        model = endpoint(server)
        (made,) = asyncio.run(closing(model, model.sample(request, heard.append if streamed else None)))
    assert (made.text, made.finish_reason, made.stop) == ("It is <search>flu", "stop", "</search>")
    assert made.tokens is not None
    written = [VOCABULARY[each] for each in made.tokens.written]
    assert "".join(written).startswith("It is <search>flu</search>") and text.startswith("".join(written))
    assert made.tokens.logprobs == tuple(logprob(each) for each in written)
    assert "".join(VOCABULARY[each] for each in made.tokens.given) == "<user>What is it?"
    assert "".join(heard) == (made.text if streamed else "")


def test_an_endpoint_that_knows_no_token_ids_is_asked_without_and_gives_log_probabilities() -> None:
    def script(body: Body, number: int) -> Reply:
        return Fail(400, "unknown field") if "return_token_ids" in body else Say("It is flu.")

    with serving(script) as server:
        model = endpoint(server)
        made = [sampled(model, with_(ASKED, logprobs=True))[0][0] for _ in range(2)]
    assert len(server.requests) == 3
    assert {each.tokens for each in made} == {Tokens(logprobs=tuple(map(logprob, pieces("It is flu."))))}


@pytest.mark.parametrize("value", [float("nan"), 10**400, "high", None, [1]])
def test_log_probabilities_that_cannot_be_are_none(value: object) -> None:
    content = [{"token": "fine", "logprob": value, "top_logprobs": []}]
    choice = {"index": 0, "message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}
    whole = {"model": "m", "choices": [{**choice, "logprobs": {"content": content}}]}
    with serving(in_turn(Raw(json.dumps(whole).encode()))) as server:
        ((made,),) = sampled(endpoint(server), with_(ASKED, logprobs=True))
    assert (made.text, made.tokens) == ("fine", None)


def test_a_text_is_continued_and_not_begun_anew() -> None:
    messages = (*ASKED.messages, Message("assistant", "It is <search>"))
    with serving(babble) as server:
        model = endpoint(server)
        sampled(model, Request(messages, continues=True), Request(messages))
    flags = [(body.get("continue_final_message"), body.get("add_generation_prompt")) for body in server.requests]
    assert set(flags) == {(True, False), (None, None)}
    with pytest.raises(ValueError, match="only a message of the assistant can be continued"):
        Request(ASKED.messages, continues=True)


def test_a_sample_that_is_cut_at_its_limit_is_a_sample_and_no_whole_answer(tmp_path: Path) -> None:
    request = with_(ASKED, max_tokens=2)
    with serving(in_turn(Say("It is the flu.", limited=True))) as server:
        meter = Meter()
        model = connect(LlmAccess("m", server.url), cache=tmp_path / "answers.sqlite", meter=meter)
        ((made,),) = sampled(model, request)
        assert (made.text, made.finish_reason) == ("It is th", "length")
        with pytest.raises(LlmError, match="token limit") as caught:
            model.ask(request)
        assert (caught.value.kind, caught.value.partial) == ("truncated", "It is th")
    assert (len(server.requests), meter.spent.calls, meter.spent.completion_tokens) == (1, 1, 5)


@pytest.mark.parametrize(
    ("choice", "text", "reasoning"),
    [("separate", "flu", "What?"), ("drop", "flu", ""), ("keep", "<think>What?</think>flu", "")],
)
@pytest.mark.parametrize("say", [Say("<think>What?</think>flu"), Say("flu", reasoning="What?")])
def test_reasoning_is_separated_dropped_or_kept(say: Say, choice: Any, text: str, reasoning: str) -> None:
    with serving(in_turn(say)) as server:
        made = connect(LlmAccess("m", server.url)).ask(with_(ASKED, reasoning=choice))
    assert (made.text, made.reasoning) == (text, reasoning)


@pytest.mark.parametrize("count", [200, pytest.param(1_000, marks=pytest.mark.heavy)])
def test_a_thousand_samples_at_a_time_equal_those_one_by_one(count: int) -> None:
    requests = [
        Request((Message("user", f"case {number}"),), temperature=1.0, seed=number, logprobs=True)
        for number in range(count)
    ]
    with serving(babble, latency=(0.025, 0.075)) as server:
        together = sampled(endpoint(server, concurrency=256), *requests)
        busiest = server.busiest
    with serving(babble) as server:
        one_by_one = [made for request in requests[:30] for made in sampled(endpoint(server), request)]
    assert one_by_one == together[:30]
    assert 50 <= busiest <= 256


def test_a_budget_that_ends_amid_many_calls_lets_just_as_many_through() -> None:
    meter = Meter(budget=Budget(calls=40))

    async def calls(model: ChatModel) -> list[Any]:
        return list(await asyncio.gather(*(model.sample(HOT) for _ in range(200)), return_exceptions=True))

    with serving(babble, latency=(0.001, 0.01)) as server:
        model = endpoint(server, concurrency=16, meter=meter)
        made = asyncio.run(closing(model, calls(model)))
    errors = [each for each in made if isinstance(each, LlmError)]
    assert (len(server.requests), len(errors), {each.kind for each in errors}) == (40, 160, {"budget"})
    assert (meter.spent.calls, meter.spent.failed) == (40, 160)


def test_tokens_pass_their_limit_by_no_more_than_the_calls_under_way() -> None:
    meter = Meter(budget=Budget(tokens=100))

    async def calls(model: ChatModel) -> list[Any]:
        return list(await asyncio.gather(*(model.sample(ASKED) for _ in range(100)), return_exceptions=True))

    with serving(in_turn(Say("fine", usage=(6, 4), stall=0.005))) as server:
        model = endpoint(server, concurrency=5, meter=meter)
        asyncio.run(closing(model, calls(model)))
    assert 10 <= len(server.requests) <= 14


def test_a_cancelled_call_ends_at_once_and_leaves_the_others_alone() -> None:
    async def calls(model: ChatModel) -> str:
        slow = asyncio.create_task(model.complete(with_(ASKED, seed=1)))
        fine = asyncio.create_task(model.complete(ASKED))
        await asyncio.sleep(0.1)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        return (await fine).text

    with serving(lambda body, number: Say("late", stall=3600 if body.get("seed") else 0.2)) as server:
        model = endpoint(server)
        assert asyncio.run(closing(model, calls(model))) == "late"


def test_a_synchronous_call_works_within_a_running_event_loop() -> None:
    async def notebook(model: ChatModel) -> str:
        return model.ask(ASKED).text

    with serving(in_turn(Say("fine"))) as server:
        model = endpoint(server)
        assert asyncio.run(notebook(model)) == model.ask(ASKED).text == "fine"
        model.close()


def test_pieces_are_heard_in_the_thread_that_asks_and_what_that_raises_ends_the_call() -> None:
    threads: set[int] = set()
    heard: list[str] = []

    def hear(piece: str) -> None:
        threads.add(threading.get_ident())
        heard.append(piece)
        if len(threads) == 1 and piece == "stop":
            raise KeyError(piece)

    with serving(in_turn(Say("well"), Say("wellstopmore" * 50, stall=0.05))) as server:
        model = endpoint(server)
        assert model.ask(ASKED, hear).text == "well"
        with pytest.raises(KeyError):
            model.ask(ASKED, hear)
    assert threads == {threading.get_ident()}
    assert heard[-1] == "stop"


def test_a_synchronous_call_within_the_models_own_event_loop_says_so_instead_of_waiting_for_ever() -> None:
    async def wrong() -> None:
        endpoint_.ask(ASKED)

    endpoint_ = Endpoint(LlmAccess("m", "http://127.0.0.1:9/v1"))
    future = asyncio.run_coroutine_threadsafe(wrong(), private_loop())
    with pytest.raises(RuntimeError, match=r"await sample\(\)"):
        future.result(60)


def test_a_model_that_is_dropped_closes_its_connections() -> None:
    with serving(in_turn(Say("fine"))) as server:
        model = endpoint(server)
        model.ask(ASKED)
        assert len(server._open) == 1
        del model
        gc.collect()
        until = time.monotonic() + 60
        while server._open and time.monotonic() < until:
            time.sleep(0.01)
        assert not server._open


IDS = st.lists(st.integers(0, 2**31), max_size=4).map(tuple)
COMPLETIONS = st.builds(
    Completion,
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.just("m"),
    st.builds(Usage, st.none() | st.integers(0, 9), st.none() | st.integers(0, 9)),
    finish_reason=st.sampled_from(["stop", "length"]),
    stop=st.none() | st.just("</a>"),
    reasoning=st.text(st.characters(codec="utf-8"), max_size=9),
    tokens=st.none() | st.builds(Tokens, IDS, IDS, st.lists(st.floats(-9, 0), max_size=4).map(tuple)),
)


@given(COMPLETIONS)
def test_a_completion_is_kept_whole(made: Completion) -> None:
    found = of_dict(json.loads(json.dumps(to_dict(made))))
    assert (found, found.cached) == (with_completion(made), True)


def with_completion(made: Completion) -> Completion:
    return Completion(**{name: getattr(made, name) for name in made.__slots__} | {"cached": True})


def test_tokens_and_reasoning_are_kept_in_the_cache_and_in_a_recording(tmp_path: Path) -> None:
    request = with_(ASKED, logprobs=True, stop=("</search>",))
    with serving(in_turn(Say("<think>Hm.</think>It is <search>flu</search>"))) as server:
        access = LlmAccess("m", server.url, cassette=tmp_path / "tape.jsonl", cassette_mode="record")
        first = connect(access).ask(request)
        kept = connect(LlmAccess("m", server.url), cache=tmp_path / "answers.sqlite")
        second = kept.ask(request)
        again = kept.ask(request)
    played = connect(LlmAccess("m", "", cassette=tmp_path / "tape.jsonl")).ask(request)
    assert first.tokens is not None and first.reasoning == "Hm." and first.stop == "</search>"
    assert second == first and again == played == with_completion(first)


def test_what_was_kept_by_an_earlier_version_is_found(tmp_path: Path) -> None:
    request = Request((Message("user", "hello"),))
    assert request.key("http://x", "m") == KEPT_KEY
    with sqlite3.connect(tmp_path / "answers.sqlite") as old:
        old.execute(
            "create table answers (key text primary key, text text not null, model text not null, "
            "tokens_read integer, tokens_written integer)"
        )
        old.execute("insert into answers values (?, 'hi', 'm', 9, 2)", (KEPT_KEY,))
    old.close()
    cache = AnswerCache(tmp_path / "answers.sqlite")
    assert cache.get(KEPT_KEY) == Completion("hi", "m", Usage(9, 2), cached=True)
    cache.close()
    line = {"key": request.key("m"), "messages": [], "text": "hi", "model": "m", "usage": {"read": 9, "written": 2}}
    (tmp_path / "tape.jsonl").write_text(json.dumps(line) + "\n")
    assert Cassette(tmp_path / "tape.jsonl", "m", "replay").ask(request).usage == Usage(9, 2)


def test_an_identifying_text_is_not_sent_as_tokens_either() -> None:
    asked: list[Request] = []

    class Hears(ChatModel):
        name = "m"

        async def complete(self, request: Request, on_text: Any = None) -> Completion:
            asked.append(request)
            return Completion("fine", "m")

    from kgdx.llm.deidentify import Deidentified

    messages = (Message("user", "Jane Roe has a tremor."), Message("assistant", "Mrs. Jane Roe has"))
    request = Request(messages, continues=True, prefix=(1, 2, 3), prefix_chars=5, temperature=1.0, n=2)
    asyncio.run(Deidentified(Hears()).sample(request))
    assert [(each.prefix, each.prefix_chars, each.continues) for each in asked] == [((), 0, True)] * 2
    assert not any("Jane" in message.content for each in asked for message in each.messages)


@given(st.integers(0, 2**40), st.integers(2, 40))
def test_samples_have_seeds_of_their_own(seed: int, n: int) -> None:
    made = Request(ASKED.messages, temperature=1.0, seed=seed, n=n).samples()
    assert made[0].seed == seed and len({each.seed for each in made}) == len({each.key() for each in made}) == n
    unseeded = Request(ASKED.messages, temperature=1.0, n=n).samples()
    assert len({each.key() for each in unseeded}) == n and {each.seed for each in unseeded} == {None}
