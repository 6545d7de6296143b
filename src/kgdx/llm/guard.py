"""What holds an endpoint to its answer: text goes to its own address alone, and no answer is without end.

The client library would follow a redirect with the whole request to any host, unpack what is packed however large it
gets, and wait for ever on a connection that brings a little now and then.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import httpx2

LONGEST_BODY = 16_000_000
"""Bytes of a whole answer at most, and of one line of a stream."""

LONGEST_STREAM = 256_000_000
"""Bytes of a stream at most: each piece of a few letters comes with its envelope."""


class Endless(Exception):
    """An answer is larger than any can be."""


class Watch:
    """Ends answers that take too long or are too long; one for all threads of a client.

    Args:
        seconds: Longest time for a whole answer, or without a piece of a stream.
        left: Called as bytes arrive; raises when the budget is spent.
        clock: Seconds from some moment on; a test gives its own.
    """

    def __init__(self, seconds: float, left: Callable[[], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._left = left
        self._clock = clock
        self._began = threading.local()

    def begin(self) -> None:
        """Count the time of this thread's answer from now on: it was asked for, or a piece of it has come."""
        self._began.at = self._clock()

    def check(self) -> None:
        """End an answer that takes too long.

        Raises:
            httpx2.ReadTimeout: It does.
            LlmError: The budget is spent.
        """
        self._left()
        if self._clock() - self._began.at > self._seconds:
            raise httpx2.ReadTimeout("no answer in time")


class Bounded(httpx2.SyncByteStream):
    """The bytes of an answer, as long as they stay within bounds.

    Args:
        stream: The bytes as they arrive.
        watch: Watches the time.
        most: Bytes in all.
    """

    def __init__(self, stream: httpx2.SyncByteStream, watch: Watch, most: int) -> None:
        self._stream = stream
        self._watch = watch
        self._most = most

    def __iter__(self) -> Iterator[bytes]:
        size = line = 0
        for piece in self._stream:
            size += len(piece)
            line = len(piece) - piece.rfind(b"\n") - 1 if b"\n" in piece else line + len(piece)
            if size > self._most or line > LONGEST_BODY:
                raise Endless
            self._watch.check()
            yield piece

    def close(self) -> None:
        """Close the connection's stream."""
        self._stream.close()


def client(base_url: str, timeout: httpx2.Timeout, watch: Watch) -> httpx2.Client:
    """Return an HTTP client that asks one endpoint.

    It follows no redirect, asks for nothing packed and takes nothing packed. A proxy that the environment names is
    used for an encrypted connection alone: through any other it could read what is asked.

    Example:
        >>> client("http://127.0.0.1:1/v1", httpx2.Timeout(1), Watch(1, lambda: None)).follow_redirects
        False
    """

    def bound(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "").lower() not in ("", "identity"):
            raise httpx2.DecodingError("an answer that is packed, and should not be", request=response.request)
        streamed = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = Bounded(response.stream, watch, LONGEST_STREAM if streamed else LONGEST_BODY)

    return httpx2.Client(
        headers={"Accept-Encoding": "identity"},
        timeout=timeout,
        follow_redirects=False,
        trust_env=urlsplit(base_url).scheme == "https",
        event_hooks={"response": [bound]},
    )
