"""What holds an endpoint to its answer: text goes to its own address alone, and no answer is without end.

The client library would follow a redirect with the whole request to any host, unpack what is packed however large it
gets, and wait for ever on a connection that brings a little now and then. What is wrong here is raised as an error of
the connection.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx2

from kgdx.llm.response import Endless

LONGEST_BODY = 16_000_000
"""Bytes of a whole answer at most, and of one line of a stream."""

LONGEST_STREAM = 256_000_000
"""Bytes of a stream at most: each piece of a few letters comes with its envelope."""


class Malformed(httpx2.RequestError):
    """An answer is not of the protocol."""


class Bounded(httpx2.AsyncByteStream):
    """The bytes of a response, as long as they stay within bounds."""

    def __init__(self, stream: httpx2.AsyncByteStream, seconds: float, events: bool) -> None:
        self._stream = stream
        self._seconds = seconds
        self._events = events
        self._most = LONGEST_STREAM if events else LONGEST_BODY
        self._pieces = self._bounded()
        self._first: bytes | None = None

    async def begin(self) -> None:
        self._first = await anext(self._pieces, None)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._first is not None:
            yield self._first
        async for piece in self._pieces:
            yield piece

    async def _bounded(self) -> AsyncIterator[bytes]:
        size = line = 0
        began = time.monotonic()
        async for piece in self._stream:
            size += len(piece)
            line = len(piece) - piece.rfind(b"\n") - 1 if b"\n" in piece else line + len(piece)
            if size > self._most or line > LONGEST_BODY:
                raise Endless
            if self._events and b"data:" in piece:
                began = time.monotonic()
            elif time.monotonic() - began > self._seconds:
                raise httpx2.ReadTimeout("no answer in time")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def client(base_url: str, seconds: float, connections: int, trusted: ssl.SSLContext) -> httpx2.AsyncClient:
    """Return an HTTP client that asks one endpoint.

    It follows no redirect, asks for nothing packed and takes nothing packed. A proxy that the environment names is
    used for an encrypted connection alone: through any other it could read what is asked.
    """

    async def check(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "").lower() not in ("", "identity"):
            raise httpx2.DecodingError("an answer that is packed, and should not be", request=response.request)
        events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = bounded = Bounded(response.stream, seconds, events)
        if events:
            await bounded.begin()
            return
        body = await response.aread()
        if response.is_success and not _is_answer(body):
            raise Malformed("an answer that is not of the protocol", request=response.request)

    return httpx2.AsyncClient(
        headers={"Accept-Encoding": "identity"},
        verify=trusted,
        timeout=httpx2.Timeout(seconds, connect=min(10.0, seconds)),
        limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
        follow_redirects=False,
        trust_env=urlsplit(base_url).scheme == "https",
        event_hooks={"response": [check]},
    )


def _is_answer(body: bytes) -> bool:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return False
    choices = found.get("choices") if isinstance(found, dict) else None
    return isinstance(choices, list) and all(isinstance(each, dict) for each in choices) and bool(choices)
