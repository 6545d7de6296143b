"""What stands before a request is one: how many connections there may be, how long and how large a head may be.

A connection that says nothing is ended when its time is up; how many one client may have is for a proxy to say.
"""

from __future__ import annotations

import asyncio
import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from kgdx.serve.problems import MEDIA_TYPE, Problem
from kgdx.serve.server_options import Options

if TYPE_CHECKING:
    from fastapi import FastAPI

GRACE_S = 10
"""How long requests that are being answered may take when the server is told to stop."""

MAX_CONNECTIONS = 4096
"""Most connections at once, as far as the system has files for them."""

SPARE_FILES = 256
"""Files that are left for everything that is no connection."""

HEAD_S = 10.0
"""How long a client may take from its first byte, or from connecting, to the end of a request's head."""

READ_S = 30.0
"""How long a client may leave an answer unread."""

HEAD_BYTES = 32_768
"""Longest head of a request: its line and all its headers."""

FRAMING = 8
"""Bytes on the wire for each byte of a body at most: one sent in chunks of a byte each takes six."""


class Connection(HttpToolsProtocol):
    """One connection of a client, within limits of time and size."""

    def __init__(self, *, most: int, max_body: int, **given: Any) -> None:
        super().__init__(**given)
        self._most, self._max_body = most, max_body
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._in_head, self._received = True, 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        if len(self.connections) > self._most:
            self.refuse(Problem(503, "busy", "too many connections", "try again in a moment", {}, {"Retry-After": "1"}))
            return
        self._timer = self.loop.call_later(HEAD_S, self._late)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._timer, self._unread):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what the client sends, up to the limits."""
        if self.transport.is_closing():
            return
        if self._in_head and self._timer is None:
            self._timer = self.loop.call_later(HEAD_S, self._late)
        self._received += len(data)
        super().data_received(data)
        if self._received > (HEAD_BYTES if self._in_head else HEAD_BYTES + FRAMING * self._max_body):
            detail = f"the request's head has more than {HEAD_BYTES:,} bytes"
            self.refuse(Problem(431, "headers", detail, "send fewer and shorter headers"))

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Take what comes next for another request."""
        super().on_message_complete()
        self._in_head, self._received = True, 0

    def pause_writing(self) -> None:
        """Wait until the client has read, for some time."""
        super().pause_writing()
        self._unread = self.loop.call_later(READ_S, self.transport.abort)

    def resume_writing(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    def refuse(self, problem: Problem) -> None:
        """Answer with a problem what is not yet a request, and end the connection."""
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()
            return
        body = json.dumps(problem.to_dict()).encode()
        headers = {"content-type": MEDIA_TYPE, "content-length": len(body), "connection": "close", **problem.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.transport.write(STATUS_LINE[problem.status] + lines.encode() + b"\r\n" + body)
        self.transport.close()

    def _late(self) -> None:
        if self._received:
            detail = f"the head of the request did not arrive within {HEAD_S:g} s"
            self.refuse(Problem(408, "slow", detail, "send it again"))
        elif not self.transport.is_closing():
            self.transport.close()


def http_server(app: FastAPI, options: Options, most: int = MAX_CONNECTIONS) -> uvicorn.Server:
    """Return what speaks HTTP for an application, on so many connections at once."""
    connection: Any = partial(Connection, most=most, max_body=options.max_body)
    config = uvicorn.Config(
        app,
        http=connection,
        access_log=False,
        log_level="error",
        proxy_headers=False,
        server_header=False,
        ws="none",
        timeout_keep_alive=15,
        timeout_graceful_shutdown=GRACE_S,
    )
    return uvicorn.Server(config)


def places() -> int:
    """Return how many connections there can be at once; the process is given as many files as it may have."""
    if sys.platform == "win32":
        return MAX_CONNECTIONS
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + SPARE_FILES
    if resource.RLIM_INFINITY != soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else max(2, min(MAX_CONNECTIONS, soft - SPARE_FILES))
