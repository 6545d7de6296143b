"""How the server and its workers talk: frames of JSON over pipes, so that nothing that arrives can run as code.

A frame is four bytes of length, one byte that says what it is, and the JSON text.
"""

from __future__ import annotations

import asyncio
import struct
from typing import BinaryIO

HEADER = struct.Struct(">IB")

REQUEST, RESULT, PROBLEM, EVENT, READY = range(5)
"""Kinds of frames: what is asked; the last word of an answer, good or bad; a word before it; a worker is up."""

MAX_FRAME = 256 << 20
"""No answer is longer than this; a length beyond it means that the stream is broken."""


def frame(kind: int, content: bytes) -> bytes:
    r"""Return a frame.

    Example:
        >>> frame(RESULT, b"{}")
        b'\x00\x00\x00\x02\x01{}'
    """
    return HEADER.pack(len(content), kind) + content


def read(stream: BinaryIO) -> tuple[int, bytes] | None:
    """Read a frame; ``None`` where the other side has gone.

    Example:
        >>> import io
        >>> read(io.BytesIO(frame(EVENT, b"[]"))), read(io.BytesIO(b""))
        ((3, b'[]'), None)
    """
    head = stream.read(HEADER.size)
    if len(head) < HEADER.size:
        return None
    length, kind = HEADER.unpack(head)
    content = stream.read(length)
    return None if len(content) < length else (kind, content)


async def receive(stream: asyncio.StreamReader) -> tuple[int, bytes]:
    """Read a frame of a worker.

    Raises:
        ConnectionError: The worker has gone, or what it wrote is no frame.
    """
    try:
        length, kind = HEADER.unpack(await stream.readexactly(HEADER.size))
        if length > MAX_FRAME:
            raise ConnectionError("the worker's stream is broken")
        return kind, await stream.readexactly(length)
    except asyncio.IncompleteReadError as error:
        raise ConnectionError("the worker has stopped") from error
