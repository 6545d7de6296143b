"""What stands before a request is one: how long and how large its head may be, and whose connections give way.

A connection that waits for a request costs its client nothing, so it holds no place against anybody: it is ended when
its time is up, or before that when somebody else needs the place. Those at work on a request are left alone.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import OrderedDict
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


class Book:
    """The connections of a server by client, those that wait for a request in the order in which they began to."""

    def __init__(self, most: int, each: int) -> None:
        self._most, self._each = most, each
        self._all: dict[str, set[Connection]] = {}
        self._waiting: dict[str, OrderedDict[Connection, None]] = {}
        self._count = 0

    def enter(self, connection: Connection) -> bool:
        """Count a new connection; another one gives way to it where there are too many.

        Returns:
            Whether there is a place for it.
        """
        client = connection.owner
        full = self._count >= self._most
        if full or len(self._all.get(client, ())) >= self._each:
            crowded = client if not full else max(self._waiting, key=lambda each: len(self._all[each]), default=client)
            waiting = self._waiting.get(crowded)
            if not waiting:
                return False
            next(iter(waiting)).give_way()
        self._all.setdefault(client, set()).add(connection)
        self._count += 1
        return True

    def leave(self, connection: Connection) -> None:
        """Count a connection no longer."""
        mine = self._all.get(connection.owner, set())
        if connection in mine:
            self.works(connection)
            mine.remove(connection)
            self._count -= 1
            if not mine:
                del self._all[connection.owner]

    def waits(self, connection: Connection) -> None:
        self._waiting.setdefault(connection.owner, OrderedDict())[connection] = None

    def works(self, connection: Connection) -> None:
        """Note that a connection has one."""
        waiting = self._waiting.get(connection.owner)
        if waiting is not None:
            waiting.pop(connection, None)
            if not waiting:
                del self._waiting[connection.owner]


class Connection(HttpToolsProtocol):
    """One connection of a client, within limits of time and size."""

    def __init__(self, *, book: Book, max_body: int, **given: Any) -> None:
        super().__init__(**given)
        self._book, self._max_body = book, max_body
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._in_head, self._received = True, 0

    @property
    def owner(self) -> str:
        return self.client[0] if self.client else ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        if not self._book.enter(self):
            self.refuse(Problem(503, "busy", "too many connections", "try again in a moment", {}, {"Retry-After": "1"}))
            return
        self._book.waits(self)
        self._timer = self.loop.call_later(HEAD_S, self._late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._book.leave(self)
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
        """Answer the request."""
        self._in_head = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._book.works(self)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Take what comes next for another request."""
        super().on_message_complete()
        self._in_head, self._received = True, 0

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self._book.waits(self)

    def pause_writing(self) -> None:
        """Wait until the client has read, for some time."""
        super().pause_writing()
        self._unread = self.loop.call_later(READ_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on with the answer."""
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    def give_way(self) -> None:
        """End the connection, which waits for a request, for another one."""
        self._book.leave(self)
        self.transport.abort()

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
    """Return what speaks HTTP for an application.

    Args:
        most: Connections at once; one client has at most half of them.
    """
    connection: Any = partial(Connection, book=Book(most, most // 2), max_body=options.max_body)
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
