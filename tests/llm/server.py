"""An HTTP server that speaks OpenAI's protocol and answers as a test says: well, badly, late or not at all.

It serves a thousand requests at a time in one event loop, and gives what vLLM gives: streams, log-probabilities and
token ids, ``n``, ``stop``, ``max_tokens``, seeds and continued texts. A token is four characters. With a script that
depends on its request alone, answers never depend on the order of calls. Tests and benchmarks share it.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import threading
import zlib
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from benchmarks.scripted_models import request_of

from kgdx.errors import LlmError
from kgdx.llm.chat import ChatModel

Body = Mapping[str, Any]
TOKEN = 4
VOCABULARY: dict[int, str] = {}


@dataclass(frozen=True)
class Say:
    """An answer; in pieces where a stream is asked for.

    ``cut``: the connection is cut after that many bytes of the body. ``stall``: seconds before the answer, or before
    each piece of a stream. ``reasoning``: what stands in a field of its own. ``limited``: whether the request's
    ``max_tokens`` ends it, as that of a real model.
    """

    text: str = ""
    refusal: str | None = None
    finish: str = "stop"
    usage: tuple[int, int] | None = (10, 5)
    cut: int | None = None
    stall: float = 0.0
    reasoning: str = ""
    limited: bool = False
    stop: str | None = None
    tokens: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fail:
    """An HTTP error."""

    status: int
    message: str = "no"
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """A body that is not of the protocol, or a part of it; ``for_ever`` it is sent again and again.

    ``every``: seconds between two of them.
    """

    content: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    for_ever: bool = False
    every: float = 0.0


Reply = Say | Fail | Raw
Script = Callable[[Body, int], Reply] | Callable[[Body, int], Coroutine[Any, Any, Reply]]


class Server:
    """Answers by its script: a function of the request and its number. ``requests`` keeps what was asked."""

    def __init__(self, script: Script, latency: tuple[float, float] = (0.0, 0.0)) -> None:
        self.script = script
        self.latency = latency
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.busy = self.busiest = 0
        self.port = 0
        self.facts: Mapping[str, Any] = {}  # path → what a GET of it answers
        self._loop = asyncio.new_event_loop()
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._pool = ThreadPoolExecutor(32)  # for scripts that block
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        """Listen."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()

    def stop(self) -> None:
        """Cut all connections."""
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._pool.shutdown(wait=False)

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=4096, limit=2**24)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        self._server.close()
        for task, writer in list(self._open.items()):
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._request(reader, writer):
                    pass
        finally:
            writer.close()
            del self._open[task]

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        if head[0].startswith("GET"):
            fact = self.facts.get(head[0].split()[1])
            return await _send(writer, 404 if fact is None else 200, json.dumps(fact).encode(), {})
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        number = len(self.requests)
        self.requests.append(body)
        self.keys.append(headers.get("authorization", ""))
        self.busy += 1
        self.busiest = max(self.busiest, self.busy)
        try:
            if any(self.latency):
                await asyncio.sleep(chance(body).uniform(*self.latency))
            replies = [await self._reply(body | {"seed": seed}, number) for seed in _seeds(body)]
            return await _answer(writer, replies, body)
        finally:
            self.busy -= 1

    async def _reply(self, body: Body, number: int) -> Reply:
        if inspect.iscoroutinefunction(self.script):
            made = await self.script(body, number)
        else:
            made = await self._loop.run_in_executor(self._pool, self.script, body, number)
        return _shaped(made, body) if isinstance(made, Say) else made


def _seeds(body: Body) -> list[int | None]:
    """One seed for each choice; those of several are counted on from the request's, as vLLM does."""
    seed = body.get("seed")
    return [seed if seed is None else seed + number for number in range(body.get("n") or 1)]


async def _answer(writer: asyncio.StreamWriter, replies: Sequence[Reply], body: Body) -> bool:
    reply = replies[0]
    if isinstance(reply, Fail):
        error = {"error": {"message": reply.message, "code": reply.code, "type": "error"}}
        return await _send(writer, reply.status, json.dumps(error).encode(), reply.headers)
    if isinstance(reply, Raw):
        return await _raw(writer, reply)
    said = [each for each in replies if isinstance(each, Say)]
    if body.get("stream"):
        return await _stream(writer, reply, body)
    await asyncio.sleep(reply.stall)
    whole = {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"]}
    whole["choices"] = [_choice(each, body, number) for number, each in enumerate(said)]
    if reply.usage is not None:
        whole["usage"] = _usage(reply.usage)
    if body.get("return_token_ids"):
        whole["prompt_token_ids"] = _ids(pieces(_prompt(body)))
    return await _send(writer, 200, json.dumps(whole).encode(), {}, reply.cut)


async def _send(
    writer: asyncio.StreamWriter, status: int, content: bytes, headers: Mapping[str, str], cut: int | None = None
) -> bool:
    headers = {"Content-Length": str(len(content)), "Content-Type": "application/json", **headers}
    writer.write(_head(status, headers) + (content if cut is None else content[:cut]))
    await writer.drain()
    return cut is None


async def _raw(writer: asyncio.StreamWriter, reply: Raw) -> bool:
    if not reply.for_ever:
        return await _send(writer, reply.status, reply.content, reply.headers)
    writer.write(_head(reply.status, {**reply.headers, "Connection": "close"}))
    while True:  # until the client goes away
        writer.write(reply.content)
        await writer.drain()
        await asyncio.sleep(reply.every)


async def _stream(writer: asyncio.StreamWriter, reply: Say, body: Body) -> bool:
    writer.write(_head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}))
    sent = 0
    for event in _events(reply, body):
        line = f"data: {event}\n\n".encode()
        if reply.cut is not None and sent + len(line) > reply.cut:
            await writer.drain()
            return False
        sent += len(line)
        writer.write(b"%x\r\n%s\r\n" % (len(line), line))
        await writer.drain()
        await asyncio.sleep(reply.stall)
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _choice(reply: Say, body: Body, number: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    made: dict[str, Any] = {"index": number, "message": message, "finish_reason": reply.finish}
    return made | {"stop_reason": reply.stop} | _told(reply.tokens, body)


def _told(tokens: Sequence[str], body: Body) -> dict[str, Any]:
    """What is told of tokens, where it is asked for."""
    told: dict[str, Any] = {}
    if body.get("logprobs"):
        told["logprobs"] = {"content": [{"token": each, "logprob": logprob(each)} for each in tokens]}
    if body.get("return_token_ids"):
        told["token_ids"] = _ids(tokens)
    return told


def _events(reply: Say, body: Body) -> Iterator[str]:
    base = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": body["model"]}
    first: dict[str, Any] = {"role": "assistant", "content": ""}
    if reply.reasoning:
        first["reasoning_content"] = reply.reasoning
    given = {"prompt_token_ids": _ids(pieces(_prompt(body)))} if body.get("return_token_ids") else {}
    yield json.dumps({**base, **given, "choices": [{"index": 0, "delta": first, "finish_reason": None}]})
    shown = pieces(reply.text)
    for number, piece in enumerate(shown):
        tokens = reply.tokens[number : None if number + 1 == len(shown) else number + 1]
        choice = {"index": 0, "delta": {"content": piece}, "finish_reason": None, **_told(tokens, body)}
        yield json.dumps({**base, "choices": [choice]})
    last = {"index": 0, "delta": {"refusal": reply.refusal}, "finish_reason": reply.finish, "stop_reason": reply.stop}
    yield json.dumps({**base, "choices": [last]})
    if reply.usage is not None and body.get("stream_options", {}).get("include_usage"):
        yield json.dumps({**base, "choices": [], "usage": _usage(reply.usage)})
    yield "[DONE]"


def _shaped(reply: Say, body: Body) -> Say:
    """The answer up to a stop string or the limit of tokens; the tokens of a stop string stay."""
    tokens = pieces(reply.text)
    places = [(place, each) for each in body.get("stop") or () if (place := reply.text.find(each)) >= 0]
    if places:
        place, stop = min(places)
        tokens = tokens[: -(-(place + len(stop)) // TOKEN)]
        reply = replace(reply, text=reply.text[:place], finish="stop", stop=stop)
    if reply.limited and body.get("max_tokens") and len(tokens) > body["max_tokens"]:
        tokens = tokens[: body["max_tokens"]]
        text = "".join(tokens)
        reply = replace(reply, text=text[: len(reply.text)], finish="length", stop=None)
    return replace(reply, tokens=tuple(tokens))


def pieces(text: str) -> list[str]:
    return [text[at : at + TOKEN] for at in range(0, len(text), TOKEN)]


def logprob(token: str) -> float:
    return -(zlib.crc32(token.encode("utf-8", "replace")) % 4_000) / 1_000


def _ids(tokens: Sequence[str]) -> list[int]:
    ids = [zlib.crc32(each.encode("utf-8", "replace")) for each in tokens]
    VOCABULARY.update(zip(ids, tokens, strict=True))
    return ids


def _prompt(body: Body) -> str:
    return "".join(f"<{each['role']}>{each['content']}" for each in body["messages"])


def _usage(usage: tuple[int, int]) -> dict[str, int]:
    return {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}


@contextmanager
def serving(script: Script, patch: Any = None, latency: tuple[float, float] = (0.0, 0.0)) -> Iterator[Server]:
    """Run a server for the time of a block; a test that gives its ``monkeypatch`` has its settings name the server.

    ``latency`` is the range of seconds that each request takes.
    """
    server = Server(script, latency)
    server.start()
    if patch is not None:
        patch.setenv("KGDX_LLM_BASE_URL", server.url)
    try:
        yield server
    finally:
        server.stop()


def answering(model: ChatModel) -> Script:
    """A script by which a model of this process answers over HTTP; what it refuses or cannot say, too."""

    def script(body: Body, number: int) -> Reply:
        try:
            made = model.ask(request_of(body))
        except LlmError as error:
            return Say(refusal="no") if error.kind == "refused" else Say(error.partial)
        return Say(made.text, usage=(made.usage.prompt_tokens or 0, made.usage.completion_tokens or 0))

    return script


def in_turn(*replies: Reply) -> Script:
    return lambda body, number: replies[min(number, len(replies) - 1)]


def chance(body: Body) -> Random:
    """What chance makes of a request: of its conversation, temperature and seed, never of the order of calls."""
    seed = body.get("seed") if body.get("temperature") else None
    asked = json.dumps([body["messages"], body.get("continue_final_message", False), body.get("temperature"), seed])
    return Random(int.from_bytes(hashlib.sha256(asked.encode()).digest()[:8], "big"))


async def babble(body: Body, number: int = 0) -> Say:
    """A script of words by chance, in tags as an agent writes them."""
    drawn = chance(body)
    words = " ".join(drawn.choices(["fever", "ataxia", "gene", "cough", "rash", "pain"], k=drawn.randint(3, 30)))
    tag = drawn.choice(["search", "match", "diagnose"])
    text = f"<think>{words}</think><{tag}>{words[:20]}</{tag}>"
    return Say(text, limited=True, usage=(len(_prompt(body)) // TOKEN, len(text) // TOKEN))
