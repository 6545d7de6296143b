from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from conftest import require_module

require_module("fastapi", "serve")
require_module("httpx2", "serve-test")

from kgdx.serve import connections  # noqa: E402
from kgdx.serve.app import create_app  # noqa: E402
from kgdx.serve.connections import http_server  # noqa: E402
from kgdx.serve.run_server import listening  # noqa: E402
from kgdx.serve.server_options import Options  # noqa: E402

from .test_request_guard import Answers  # noqa: E402

GET = b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Pool(Answers):
    """Answers that a whole application can start and stop."""

    def start(self) -> None:
        pass

    async def look(self, seconds: float) -> None:
        pass

    async def close(self) -> None:
        pass


@contextmanager
def serving(most: int = 100, max_body: int = 10_000) -> Iterator[int]:
    options = Options(rate=0, max_body=max_body, log_requests=False)
    server = http_server(create_app(options, Pool(), Pool()), options, most)  # type: ignore[arg-type]
    place = listening("127.0.0.1", 0)
    thread = threading.Thread(target=lambda: asyncio.run(_run(server, place)))
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield place.getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        thread.join(20)
        place.close()


async def _run(server: object, place: socket.socket) -> None:
    await server._serve([place])  # type: ignore[attr-defined]  # without signals, which belong to the main thread


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def answer(place: socket.socket, request: bytes = GET) -> int:
    """The status of an answer; 0 where the server has ended the connection."""
    try:
        place.sendall(request)
        return status(place)
    except ConnectionError:
        return 0


def status(place: socket.socket) -> int:
    """Read an answer, all of it."""
    read = b""
    while b"\r\n\r\n" not in read and (piece := place.recv(65536)):
        read += piece
    head, _, body = read.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    left = int(lengths[0].partition(b":")[2]) - len(body) if lengths else 0
    while left > 0 and (piece := place.recv(65536)):
        left -= len(piece)
    return int(head[9:12]) if head else 0


def test_silent_connections_hold_their_places_for_some_time_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_S", 1.0)
    with serving(most=40) as port:
        held = [connect(port) for _ in range(40)]
        with connect(port) as client:
            assert status(client) == 503
        assert [each.recv(10) for each in held] == [b""] * 40
        with connect(port) as client:
            assert [answer(client) for _ in range(3)] == [200] * 3
        for each in held:
            each.close()


def test_a_header_without_end_is_refused_early() -> None:
    with serving() as port, connect(port) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        sent = 0
        with suppress(ConnectionError):
            while sent < 80_000_000:
                client.sendall(b"x" * 65536)
                sent += 65536
        assert sent < 20_000_000
    with serving() as port, connect(port) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40_000)
        assert status(client) == 431


@pytest.mark.parametrize("headers", [b"X: " + b"x" * 40_000 + b"\r\n", b"X: y\r\n" * 200])
def test_headers_beyond_any_use_are_refused(headers: bytes) -> None:
    with serving() as port, connect(port) as client:
        assert answer(client, b"GET / HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n") == 431


def test_a_head_that_comes_slowly_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_S", 1.5)
    with serving() as port, connect(port) as slow, connect(port) as silent, connect(port) as again:
        assert answer(again) == 200
        started = time.monotonic()
        with suppress(ConnectionError):
            for byte in GET + GET:
                slow.send(bytes([byte]))
                again.send(bytes([byte]))
                time.sleep(0.1)
                if time.monotonic() - started > 2:
                    break
        assert (status(slow), status(again)) == (408, 408)
        assert silent.recv(10) == b""


def test_what_follows_a_body_counts_too() -> None:
    head = b"POST /api/v1/extract HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: "
    with serving() as port, connect(port) as client:
        client.sendall(head)
        sent = 0
        with suppress(ConnectionError):
            while sent < 80_000_000:
                client.sendall(b"x" * 65536)
                sent += 65536
        assert sent < 20_000_000


def test_many_members_stop_nobody() -> None:
    body = b"{" + b",".join(b'"m%d":1' % number for number in range(140_000)) + b"}"
    few = b"{" + b",".join(b'"m%d":1' % number for number in range(15_000)) + b"}"
    head = b"POST /api/v1/diagnose HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with serving(max_body=2_000_000) as port, connect(port) as client, connect(port) as other:
        for each, expected in ((body, 413), (few, 400)):
            client.sendall(head + b"Content-Length: %d\r\n\r\n" % len(each) + each)
            assert answer(other) == 200
            assert status(client) == expected
