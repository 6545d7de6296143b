"""The client over real HTTP, against a server that does what servers do, and what no endpoint may do."""

from __future__ import annotations

import gzip
import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import require_module
from kgdx.config import LlmAccess
from kgdx.errors import ConfigError, LlmError, MissingExtraError, StoreError
from kgdx.llm.budget import Budget, Meter
from kgdx.llm.chat import Message, Request, estimated_tokens
from kgdx.llm.completion_cache import AnswerCache, Cached, Cassette
from kgdx.llm.connect import connect, split_reasoning
from kgdx.llm.endpoint import MODES, Endpoint
from kgdx.llm.response import LONGEST
from llm.server import Body, Fail, Raw, Reply, Say, Script, Server, in_turn, serving

require_module("openai", "llm")


SECRET = "sk-very-secret-key"

TEXT = "The patient Jane Roe has ataxia since 1999."

SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}

ASKED = Request((Message("system", "You help."), Message("user", TEXT)))


def client(server: Server, *, attempts: int = 4, timeout: float = 5.0, concurrency: int = 2) -> Endpoint:
    prices = {"price_in": 1.0, "price_out": 2.0}
    return Endpoint(
        LlmAccess("m", server.url, SECRET, timeout=timeout, attempts=attempts, concurrency=concurrency, **prices)
    )


def test_an_answer_its_tokens_and_its_cost_arrive() -> None:
    with serving(in_turn(Say("fine", usage=(1_000_000, 500_000)))) as server:
        model = client(server)
        answer = model.ask(ASKED)
    assert (answer.text, answer.model, answer.usage.prompt_tokens) == ("fine", "m", 1_000_000)
    assert model.meter.spent.cost == 2.0
    assert server.requests[0]["messages"][1] == {"role": "user", "content": TEXT}
    assert server.keys == [f"Bearer {SECRET}"]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_what_may_pass_is_tried_again_and_counted(status: int) -> None:
    with serving(in_turn(Fail(status), Fail(status), Say("fine"))) as server:
        model = client(server)
        assert model.ask(ASKED).text == "fine"
    assert (model.meter.spent.retries, model.meter.spent.calls, len(server.requests)) == (2, 1, 3)


@pytest.mark.parametrize("headers", [{"Retry-After": "0.3"}, {"retry-after-ms": "300"}])
def test_the_wait_that_the_endpoint_asks_for_is_honoured(headers: dict[str, str]) -> None:
    with serving(in_turn(Fail(429, headers=headers), Say("fine"))) as server:
        begin = time.perf_counter()
        client(server).ask(ASKED)
    assert time.perf_counter() - begin >= 0.3


def test_an_endpoint_that_stays_down_gives_one_line_that_says_how_to_go_on() -> None:
    with serving(in_turn(Fail(500, "overloaded"))) as server:
        model = client(server)
        with pytest.raises(
            LlmError, match=r"gives no answer in 4 tries \(500 overloaded\): check that it runs"
        ) as caught:
            model.ask(ASKED)
    assert (caught.value.kind, caught.value.exit_code, len(server.requests)) == ("unreachable", 8, 4)
    assert model.meter.spent.failed == 1


def test_an_endpoint_that_is_not_there_is_unreachable() -> None:
    with serving(in_turn(Say("fine"))) as server:
        model = client(server, attempts=2)
    with pytest.raises(LlmError, match="no connection") as caught:
        model.ask(ASKED)
    assert caught.value.kind == "unreachable"


@pytest.mark.parametrize(
    ("reply", "kind", "says", "partial"),
    [
        (Fail(401, "bad key"), "denied", "bad key", ""),
        (Fail(403, "not yours"), "denied", "not yours", ""),
        (Fail(429, "pay first", code="insufficient_quota"), "denied", "pay first", ""),
        (Fail(404, "no such model"), "rejected", "no such model", ""),
        (Fail(400, "too long"), "rejected", "too long", ""),
        (Fail(429, headers={"Retry-After": "3600"}), "unreachable", "asks to wait 3,600 s", ""),
        (Say("half an ans", finish="length"), "truncated", "token limit", "half an ans"),
        (Say("  "), "malformed", "empty answer", ""),
    ],
)
def test_what_will_not_pass_is_not_tried_again(reply: Reply, kind: str, says: str, partial: str) -> None:
    with serving(in_turn(reply)) as server, pytest.raises(LlmError, match=says) as caught:
        client(server).ask(ASKED)
    assert (caught.value.kind, caught.value.partial, len(server.requests)) == (kind, partial, 1)


def test_a_time_out_is_said_at_once_and_not_tried_again() -> None:
    with serving(in_turn(Say("late", stall=1.0), Say("fine"))) as server:
        with pytest.raises(LlmError, match=r"gives no answer in 0.2 s \(time-out\): raise KGDX_LLM_TIMEOUT") as caught:
            client(server, timeout=0.2).ask(ASKED)
        assert (caught.value.kind, len(server.requests)) == ("unreachable", 1)


BODIES = [b"", b"not JSON", b"{}", b'{"choices": []}', b"[1]", b'{"choices": "no"}', b"null", b"[" * 99_999]


@pytest.mark.parametrize("reply", [Say("a long answer", cut=40), *map(Raw, BODIES)])
def test_a_body_that_is_cut_or_not_of_the_protocol_is_tried_again(reply: Reply) -> None:
    with serving(in_turn(reply, Say("fine"))) as server:
        assert client(server).ask(ASKED).text == "fine"


@pytest.mark.parametrize("reply", [Say(refusal="I will not"), Say("", finish="content_filter")])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_refusal_is_recognised(reply: Say, streamed: bool) -> None:
    with serving(in_turn(reply)) as server, pytest.raises(LlmError) as caught:
        client(server).ask(ASKED, (lambda piece: None) if streamed else None)
    assert caught.value.kind == "refused"


def test_a_stream_arrives_in_pieces_with_its_tokens() -> None:
    pieces: list[str] = []
    with serving(in_turn(Say("one two three"))) as server:
        answer = client(server).ask(ASKED, pieces.append)
    assert len(pieces) > 1
    assert "".join(pieces) == answer.text == "one two three"
    assert answer.usage.completion_tokens == 5


def test_a_stream_that_breaks_off_is_an_error_that_keeps_what_arrived() -> None:
    with serving(in_turn(Say("a rather long answer in many pieces", cut=500))) as server:
        pieces: list[str] = []
        with pytest.raises(LlmError) as caught:
            client(server).ask(ASKED, pieces.append)
    assert caught.value.kind == "cut"
    assert caught.value.partial == "".join(pieces) != ""
    assert len(server.requests) == 1


def test_a_stream_that_breaks_off_before_its_first_piece_is_tried_again() -> None:
    with serving(in_turn(Say("text", cut=0), Say("fine"))) as server:
        assert client(server).ask(ASKED, lambda piece: None).text == "fine"


def test_an_endpoint_that_cannot_count_its_streams_is_asked_without() -> None:
    def script(body: object, number: int) -> Say | Fail:
        assert isinstance(body, dict)
        return Fail(400, "unknown field") if "stream_options" in body else Say("fine")

    with serving(script) as server:
        model = client(server)
        assert [model.ask(ASKED, lambda piece: None).text for _ in range(2)] == ["fine", "fine"]
    assert len(server.requests) == 3


def only(*modes: str) -> Script:
    """An endpoint that takes these response formats."""

    def script(body: object, number: int) -> Say | Fail:
        assert isinstance(body, dict)
        asked = body.get("response_format", {})
        kind = asked.get("type", "plain") + ("_schema" if "schema" in asked else "")
        return Say("{}") if kind in modes else Fail(400, "response_format is not known")

    return script


SERVERS = {
    "vLLM, Ollama, OpenAI": ("json_schema", "json_object", "plain"),
    "llama-cpp-python": ("json_object_schema", "json_object", "plain"),
    "older ones": ("json_object", "plain"),
    "the simplest": ("plain",),
}


@pytest.mark.parametrize("modes", SERVERS.values(), ids=SERVERS)
def test_the_strictest_way_to_ask_for_json_is_found_and_remembered(modes: tuple[str, ...]) -> None:
    asked = Request(ASKED.messages, SCHEMA)
    with serving(only(*modes)) as server:
        model = client(server)
        model.ask(asked)
        tries = len(server.requests)
        model.ask(asked)
    assert model.mode == modes[0]
    assert (tries, len(server.requests)) == (1 + MODES.index(modes[0]), 2 + MODES.index(modes[0]))
    told = "one JSON object and nothing else" in server.requests[-1]["messages"][0]["content"]
    assert told == (modes[0] != "json_schema")


REFUSALS = {
    "llama-cpp-python": (
        500,
        "response_format",
        "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), "
        "'msg': \"Input should be 'text' or 'json_object'\", 'input': 'json_schema'}]",
    ),
    "vLLM": (400, "response_format", "The provided JSON schema contains features not supported by xgrammar."),
    "Ollama": (500, "response_format", "invalid JSON schema in format"),
    "OpenAI, format": (
        400,
        "response_format",
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
    ),
    "OpenAI, tokens": (
        400,
        "max_tokens",
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ),
    "OpenAI, temperature": (
        400,
        "temperature",
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
    ),
}
"""Server → status, the field that it does not take, and its words."""


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_that_names_a_field_is_stepped_down_from_whatever_its_status(refusal: tuple[int, str, str]) -> None:
    status, field, words = refusal

    def script(body: Body, number: int) -> Say | Fail:
        strict = body.get("response_format", {}).get("type") == "json_schema"
        return Fail(status, words) if (strict if field == "response_format" else field in body) else Say("{}")

    with serving(script) as server:
        model = client(server)
        assert [model.ask(Request(ASKED.messages, SCHEMA)).text for _ in range(2)] == ["{}", "{}"]
    assert (len(server.requests), model.meter.spent.retries) == (3, 0)
    assert ("max_completion_tokens" in server.requests[-1]) == (field == "max_tokens")


@pytest.mark.parametrize(
    ("words", "learned"),
    [
        ("This model's maximum context length is 4096 tokens. However, your request has 5711 input tokens.", 4096),
        ("the request exceeds the available context size (2048 tokens), try increasing it", 2048),
        ("context_length_exceeded", None),
    ],
)
def test_a_request_that_is_too_long_is_said_so_and_the_window_is_remembered(words: str, learned: int | None) -> None:
    with serving(in_turn(Fail(400, words))) as server, pytest.raises(LlmError, match="KGDX_LLM_CONTEXT") as caught:
        model = client(server)
        model.ask(ASKED)
    assert (caught.value.kind, len(server.requests), model._context) == ("context", 1, learned)


def test_a_prompt_that_the_endpoint_has_cut_without_a_word_is_noticed() -> None:
    long = Request((Message("user", "The patient has ataxia and ptosis. " * 700),))
    told = pytest.raises(LlmError, match=r"read 2,048 of about [\d,]+ tokens.*OLLAMA_CONTEXT_LENGTH")
    with serving(in_turn(Say("fine", usage=(2_048, 5)))) as server, told as caught:
        client(server).ask(long)
    assert caught.value.kind == "context"


@pytest.mark.parametrize(
    ("facts", "window"),
    [
        ({"/v1/models": {"data": [{"id": "m", "max_model_len": 8192}]}}, 8192),
        ({"/v1/models": {"data": [{"id": "m", "owned_by": "library"}]}}, 4096),
        (
            {
                "/v1/models": {"data": [{"id": "m", "owned_by": "library"}]},
                "/api/ps": {"models": [{"model": "m", "context_length": 16384}]},
            },
            16384,
        ),
        (
            {
                "/v1/models": {"data": [{"id": "file.gguf", "owned_by": "llamacpp"}]},
                "/props": {"default_generation_settings": {"n_ctx": 2048}},
            },
            2048,
        ),
        ({"/v1/models": {"data": [{"id": "m"}]}}, None),
        ({"/v1/models": "no"}, None),
        ({}, None),
    ],
    ids=["vLLM", "Ollama", "Ollama, loaded", "llama.cpp", "OpenAI", "nonsense", "nothing"],
)
def test_the_context_window_is_asked_of_the_endpoint(facts: dict[str, object], window: int | None) -> None:
    with serving(in_turn(Say("fine"))) as server:
        server.facts = facts
        model = client(server)
        assert (model.window(), model.window()) == (window, window)
        model.ask(Request(ASKED.messages, max_tokens=1_000_000))
    fits = 1_000_000 if window is None else window - estimated_tokens(ASKED.messages)
    assert server.requests[0]["max_tokens"] == fits


def test_a_request_that_is_wrong_in_every_form_is_rejected_and_nothing_is_remembered() -> None:
    with serving(only()) as server:
        model = client(server)
        with pytest.raises(LlmError, match="response_format is not known"):
            model.ask(Request(ASKED.messages, SCHEMA))
    assert model.mode == "json_schema"


def test_no_more_calls_run_at_a_time_than_allowed() -> None:
    with serving(in_turn(Say("fine", stall=0.05))) as server:
        model = client(server)
        threads = [threading.Thread(target=model.ask, args=(ASKED,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert server.busiest == 2
    assert model.meter.spent.calls == 8


@pytest.mark.parametrize(
    "reply", [Fail(400, f"cannot read: {TEXT}"), Fail(401, f"wrong key {SECRET}"), Fail(500, f"at {TEXT[4:30]}")]
)
def test_neither_text_nor_key_gets_into_an_error_or_a_log(reply: Fail, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), serving(in_turn(reply)) as server, pytest.raises(LlmError) as caught:
        client(server).ask(ASKED)
    for said in (str(caught.value), repr(caught.value), caplog.text, repr(ASKED)):
        assert "Jane" not in said
        assert SECRET not in said
    assert caught.value.__cause__ is None


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[AnswerCache]:
    found = AnswerCache(tmp_path / "answers.sqlite")
    yield found
    found.close()


def test_a_question_that_was_answered_before_costs_nothing(cache: AnswerCache) -> None:
    meter = Meter(1.0, 1.0)
    with serving(in_turn(Say("fine"))) as server:
        first = Cached(client(server), cache, meter, "here").ask(ASKED)
        again = Cached(client(server), AnswerCache(cache.path), meter, "here").ask(ASKED)
        elsewhere = Cached(client(server), cache, meter, "there").ask(ASKED)
    assert (first.text, again.text, again.cached, elsewhere.cached) == ("fine", "fine", True, False)
    assert len(server.requests) == 2
    assert (meter.spent.cached, meter.spent.cost) == (1, 0.0)


def test_a_failure_is_not_kept(cache: AnswerCache) -> None:
    with serving(in_turn(Say(refusal="no"), Say("fine"))) as server:
        model = Cached(client(server), cache, Meter())
        with pytest.raises(LlmError):
            model.ask(ASKED)
        assert model.ask(ASKED).text == "fine"


def test_the_cache_holds_no_question(cache: AnswerCache, tmp_path: Path) -> None:
    with serving(in_turn(Say("fine"))) as server:
        Cached(client(server), cache, Meter()).ask(ASKED)
    assert all(b"Jane" not in file.read_bytes() for file in tmp_path.iterdir())
    assert (cache.path.stat().st_mode & 0o077) == 0


def test_a_damaged_cache_is_named(tmp_path: Path) -> None:
    (tmp_path / "answers.sqlite").write_bytes(b"no database at all, but some bytes" * 100)
    with pytest.raises(StoreError, match=r"answers\.sqlite cannot be used"):
        AnswerCache(tmp_path / "answers.sqlite")


def test_an_answer_that_cannot_be_kept_is_an_answer_all_the_same(cache: AnswerCache) -> None:
    cache._db.execute("pragma max_page_count = 1")  # as on a full disk
    with serving(in_turn(Say("fine" * 100_000))) as server:
        answer = Cached(client(server), cache, Meter()).ask(ASKED)
    assert answer.text == "fine" * 100_000
    assert cache.get(ASKED.key("", "m")) is None


def test_a_recording_that_cannot_be_written_is_named_before_anything_is_asked(tmp_path: Path) -> None:
    with serving(in_turn(Say("fine"))) as server:
        for path in (tmp_path, tmp_path / "none" / "tape.jsonl"):
            with pytest.raises(ConfigError, match=r"recording .* cannot be written .*KGDX_LLM_CASSETTE"):
                Cassette(path, "m", "record", client(server))
    assert server.requests == []


def test_a_recording_answers_without_an_endpoint(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    with serving(in_turn(Say("fine"), Say(refusal="no"))) as server:
        recorder = Cassette(tape, "m", "record", client(server))
        recorder.ask(ASKED)
        with pytest.raises(LlmError):
            recorder.ask(Request((Message("user", "other"),)))
    player = connect(LlmAccess("m", "", cassette=tape))
    assert player.ask(ASKED).text == "fine"
    with pytest.raises(LlmError) as refused:
        player.ask(Request((Message("user", "other"),)))
    with pytest.raises(LlmError, match="has no answer to this") as missing:
        player.ask(Request((Message("user", "never asked"),)))
    assert (refused.value.kind, missing.value.kind) == ("refused", "missing")


def test_a_recording_keeps_the_signs_that_some_take_for_ends_of_lines(tmp_path: Path) -> None:
    tape, text = tmp_path / "tape.jsonl", "one\u2028two\u0085three"
    with serving(in_turn(Say(text))) as server:
        Cassette(tape, "m", "record", client(server)).ask(ASKED)
    assert Cassette(tape, "m", "replay").ask(ASKED).text == text


def test_a_recording_is_completed_when_asked_to(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    with serving(in_turn(Say("fine"))) as server:
        for _ in range(2):
            Cassette(tape, "m", "auto", client(server)).ask(ASKED)
    assert len(server.requests) == 1


@pytest.mark.parametrize("line", ["", "[]", "{}", "no JSON", '{"key": "k", "error": {}}', "[" * 100_000])
def test_a_recording_with_a_wrong_line_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "tape.jsonl").write_text(line + "\n")
    with pytest.raises(ConfigError, match="line 1 of the recording"):
        Cassette(tmp_path / "tape.jsonl", "m", "replay")
    with pytest.raises(ConfigError, match="no recording at"):
        Cassette(tmp_path / "other.jsonl", "m", "replay")


def test_without_the_extra_there_is_one_line_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r'pip install "kgdx\[llm\]"'):
        connect(LlmAccess("m", "http://127.0.0.1:9/v1"))


def test_two_processes_share_one_cache(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from kgdx.llm.completion_cache import AnswerCache
from kgdx.llm.chat import Completion
cache = AnswerCache(Path(sys.argv[1]))
for n in range(200):
    cache.put(f"{n}", Completion(sys.argv[2] * 1000, "m"))
"""
    path = str(tmp_path / "answers.sqlite")
    writers = [subprocess.Popen([sys.executable, "-c", script, path, letter]) for letter in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    cache = AnswerCache(tmp_path / "answers.sqlite")
    texts = {answer.text for n in range(200) if (answer := cache.get(f"{n}")) is not None}
    assert texts <= {"a" * 1000, "b" * 1000}
    assert cache.get("199") is not None
    cache.close()


JANE = "The patient Jane Roe has ataxia since 1999."

ABOUT_JANE = Request((Message("user", JANE),))

STREAM = {"Content-Type": "text/event-stream"}


def guarded(server: Server, *, timeout: float = 5.0, meter: Meter | None = None) -> Endpoint:
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
            guarded(server).ask(ABOUT_JANE, (lambda piece: None) if streamed else None)
    assert (elsewhere.requests, len(server.requests)) == ([], 1)
    assert caught.value.kind == "rejected" and "KGDX_LLM_BASE_URL" in str(caught.value)


def test_a_proxy_of_the_environment_does_not_read_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(in_turn(Say("read it"))) as proxy, serving(in_turn(Say("fine"))) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        assert guarded(server).ask(ABOUT_JANE).text == "fine"
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
        guarded(server).ask(ABOUT_JANE, (lambda piece: None) if streamed else None)
    assert caught.value.kind == "truncated" and len(caught.value.partial) <= LONGEST


@pytest.mark.parametrize("streamed", [False, True])
def test_a_connection_that_is_only_kept_alive_is_a_time_out(streamed: bool) -> None:
    drip = Raw(b": wait\n\n" if streamed else b" ", headers=STREAM if streamed else {}, for_ever=True, every=0.05)
    with serving(in_turn(drip)) as server, pytest.raises(LlmError, match="time-out") as caught:
        guarded(server, timeout=0.3).ask(ABOUT_JANE, (lambda piece: None) if streamed else None)
    assert caught.value.kind == "unreachable"


def test_a_budget_of_time_ends_a_connection_that_is_only_kept_alive() -> None:
    drip = Raw(b" ", for_ever=True, every=0.05)
    with serving(in_turn(drip)) as server, pytest.raises(LlmError, match="budget of 0.3 seconds") as caught:
        guarded(server, timeout=60, meter=Meter(budget=Budget(seconds=0.3))).ask(ABOUT_JANE)
    assert caught.value.kind == "budget"


def test_an_answer_that_is_packed_is_not_unpacked() -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    packed = Raw(bomb, headers={"Content-Encoding": "gzip"})
    with serving(in_turn(packed)) as server, pytest.raises(LlmError, match="an answer that is packed"):
        guarded(server).ask(ABOUT_JANE)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {"prompt_tokens": -5, "completion_tokens": -5},
        {"prompt_tokens": 10**400, "completion_tokens": 1},
        {"prompt_tokens": float("nan"), "completion_tokens": float("inf")},
        {"prompt_tokens": "9" * 400, "completion_tokens": [1]},
    ],
)
def test_a_count_of_tokens_that_is_not_there_or_cannot_be_is_no_count(usage: dict[str, object] | None) -> None:
    with serving(in_turn(Raw(answer("fine", model="m", usage=usage)))) as server:
        model = guarded(server)
        assert model.ask(ABOUT_JANE).text == "fine"
    assert (model.meter.spent.uncounted, model.meter.spent.prompt_tokens, model.meter.spent.cost) == (1, 0, 0.0)


def test_half_a_character_does_not_spoil_an_answer() -> None:
    with serving(in_turn(Raw(answer("fine \ud83e!", model="m")))) as server:
        assert guarded(server).ask(ABOUT_JANE).text == "fine ?!"


def thought_over(reply: Reply, *, streamed: bool) -> tuple[str, str]:
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
    text, heard = thought_over(Say(said), streamed=streamed)
    assert text == "It is flu [E1]."
    assert heard == (text if streamed else "")


def test_an_answer_without_thoughts_is_heard_from_its_first_piece_on() -> None:
    assert thought_over(Say("<thin ice> is safe"), streamed=True) == ("<thin ice> is safe", "<thin ice> is safe")


@pytest.mark.parametrize("streamed", [False, True])
def test_thoughts_alone_are_no_answer(streamed: bool) -> None:
    over, cut = Say("<think>What could it be?</think>"), Say("<think>What could", finish="length")
    for reply, kind, says in ((over, "malformed", "gave no answer"), (cut, "truncated", "token limit")):
        with pytest.raises(LlmError, match=says) as caught:
            thought_over(reply, streamed=streamed)
        assert (caught.value.kind, caught.value.partial) == (kind, "")


@given(st.text(max_size=60).filter(lambda text: "think>" not in text))
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert split_reasoning(text) == ("", text)
    assert split_reasoning(f"<think>{text}</think>answer") == (text.strip(), "answer")
