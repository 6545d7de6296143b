"""Answers that come in pieces: server-sent events while a question is worked on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

import orjson
from starlette.responses import StreamingResponse

from kgdx.serve.problems import Refused

if TYPE_CHECKING:
    from kgdx.serve.pool import Pool

KEEP_ALIVE_S = 15.0
"""After so long without an event a comment is sent, so that nothing between takes the stream for dead."""


def events(workers: Pool, operation: str, given: Mapping[str, Any], seconds: float) -> StreamingResponse:
    """Return a response that tells what a worker does while it does it.

    A client that goes ends the work: the worker is replaced, and no model is paid for what nobody reads.
    """
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_told(workers, operation, given, seconds), media_type="text/event-stream", headers=headers)


def event(name: str, data: bytes) -> bytes:
    r"""Return one event.

    Example:
        >>> event("text", b'"It is"')
        b'event: text\ndata: "It is"\n\n'
    """
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


async def _told(workers: Pool, operation: str, given: Mapping[str, Any], seconds: float) -> AsyncIterator[bytes]:
    told: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
    work = asyncio.create_task(workers.ask(operation, given, seconds=seconds, event=told.put_nowait))
    work.add_done_callback(lambda _: told.put_nowait(None))
    try:
        yield b": started\n\n"
        while True:
            try:
                async with asyncio.timeout(KEEP_ALIVE_S):
                    piece = await told.get()
            except TimeoutError:
                yield b": still at it\n\n"
                continue
            if piece is None:
                break
            yield event(piece["event"], orjson.dumps(piece["data"]))
        try:
            yield event("answer", work.result())
        except Refused as refused:
            yield event("problem", orjson.dumps(refused.problem.to_dict()))
    finally:
        work.cancel()
