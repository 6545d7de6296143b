"""A small HTTP server that speaks OpenAI's protocol and answers as a test says: well, badly, late or not at all."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kgdx.errors import LlmError
from kgdx.evaluate.scripted import request_of
from kgdx.llm.protocol import ChatModel

Body = Mapping[str, Any]


@dataclass(frozen=True)
class Say:
    """An answer; in pieces where a stream is asked for.

    ``cut``: the connection is cut after that many bytes of the body. ``stall``: seconds before the answer.
    """

    text: str = ""
    refusal: str | None = None
    finish: str = "stop"
    usage: tuple[int, int] | None = (10, 5)
    cut: int | None = None
    stall: float = 0.0


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
Script = Callable[[Body, int], Reply]


class Server(ThreadingHTTPServer):
    """Answers by its script: a function of the request and its number. ``requests`` keeps what was asked."""

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.busy = self.busiest = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """The address to give as KGDX_LLM_BASE_URL."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away."""


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            number = len(self.server.requests)
            self.server.requests.append(body)
            self.server.keys.append(self.headers.get("Authorization", ""))
            self.server.busy += 1
            self.server.busiest = max(self.server.busiest, self.server.busy)
        try:
            self._answer(self.server.script(body, number), body)
        finally:
            with self.server.lock:
                self.server.busy -= 1

    def _answer(self, reply: Reply, body: Body) -> None:
        if isinstance(reply, Fail):
            error = {"error": {"message": reply.message, "code": reply.code, "type": "error"}}
            self._send(reply.status, json.dumps(error).encode(), reply.headers)
        elif isinstance(reply, Raw):
            self._raw(reply)
        elif body.get("stream"):
            self._stream(reply, body)
        else:
            time.sleep(reply.stall)
            message = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
            choice = {"index": 0, "message": message, "finish_reason": reply.finish}
            whole = {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
            if reply.usage is not None:
                whole["usage"] = _usage(reply.usage)
            self._send(200, json.dumps(whole).encode(), {}, reply.cut)

    def _raw(self, reply: Raw) -> None:
        if not reply.for_ever:
            self._send(reply.status, reply.content, reply.headers)
            return
        self.close_connection = True
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):  # the client goes away
            while True:
                self.wfile.write(reply.content)
                time.sleep(reply.every)

    def _send(self, status: int, content: bytes, headers: Mapping[str, str], cut: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        headers = {"Content-Type": "application/json", **headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content if cut is None else content[:cut])
        if cut is not None:
            self.close_connection = True

    def _stream(self, reply: Say, body: Body) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        sent = 0
        for event in _events(reply, body):
            line = f"data: {event}\n\n".encode()
            if reply.cut is not None and sent + len(line) > reply.cut:
                self.close_connection = True
                return
            sent += len(line)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()
            time.sleep(reply.stall)
        self.wfile.write(b"0\r\n\r\n")


def _events(reply: Say, body: Body) -> Iterator[str]:
    base = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": body["model"]}
    for start in range(0, len(reply.text), 4):
        delta = {"content": reply.text[start : start + 4]}
        yield json.dumps({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    last = {"index": 0, "delta": {"refusal": reply.refusal}, "finish_reason": reply.finish}
    yield json.dumps({**base, "choices": [last]})
    if reply.usage is not None and body.get("stream_options", {}).get("include_usage"):
        yield json.dumps({**base, "choices": [], "usage": _usage(reply.usage)})
    yield "[DONE]"


def _usage(usage: tuple[int, int]) -> dict[str, int]:
    return {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}


@contextmanager
def serving(script: Script) -> Iterator[Server]:
    """Run a server for the time of a block."""
    server = Server(script)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answering(model: ChatModel) -> Script:
    """A script by which a model of this process answers over HTTP; what it refuses or cannot say, too."""

    def script(body: Body, number: int) -> Reply:
        try:
            answer = model.ask(request_of(body))
        except LlmError as error:
            return Say(refusal="no") if error.kind == "refused" else Say(error.partial)
        return Say(answer.text, usage=(answer.usage.read or 0, answer.usage.written or 0))

    return script


def in_turn(*replies: Reply) -> Script:
    """A script that gives these replies one after the other, and the last one from then on."""
    return lambda body, number: replies[min(number, len(replies) - 1)]
