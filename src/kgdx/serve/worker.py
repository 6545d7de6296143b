"""A worker process: opens the graph once and answers one request at a time, until its server goes.

The arrays of the snapshot are memory-mapped, so the workers of a machine share them. Server and worker exchange frames
of JSON over pipes, so that nothing that arrives can run as code: four bytes of length, one byte that says what it is,
and the JSON text.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import signal
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO, TypeVar

import orjson

from kgdx.errors import KgdxError
from kgdx.serve.problems import Problem, RequestRefused, problem_of
from kgdx.serve.serving import OPERATIONS, Serving

HEADER = struct.Struct(">IB")

REQUEST, RESULT, PROBLEM, EVENT, READY, CANCEL = range(6)
"""Kinds of frames: what is asked; the last word of an answer, good or bad; a word before it; a worker is up; nobody
waits any more for the answer to the last request."""

Found = TypeVar("Found")

MAX_FRAME = 256 << 20
"""No answer is longer than this; a length beyond it means that the stream is broken."""


def frame(kind: int, content: bytes) -> bytes:
    return HEADER.pack(len(content), kind) + content


def read(stream: BinaryIO) -> tuple[int, bytes] | None:
    """Read a frame; ``None`` where the other side has gone."""
    head = stream.read(HEADER.size)
    if len(head) < HEADER.size:
        return None
    length, kind = HEADER.unpack(head)
    content = stream.read(length)
    return None if len(content) < length else (kind, content)


def main() -> None:
    """Answer the requests that come on standard input; the answers go to what was standard output.

    Whatever a library prints goes to standard error, where it cannot break a frame.
    """
    source = sys.stdin.buffer
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    logging.getLogger("neo4j").setLevel(logging.ERROR)  # each try to reach a server that is away would be a warning
    with contextlib.suppress(BrokenPipeError):
        run(source, target)


def run(source: BinaryIO, target: BinaryIO) -> None:
    """Open the graph that the first frame names, say so, and answer what follows."""
    first = read(source)
    if first is None:
        return

    def write(content: bytes) -> None:
        target.write(content)
        target.flush()

    given = orjson.loads(first[1])
    serving = Serving(given["store"], encoder=given["encoder"])
    try:
        try:
            write(frame(READY, orjson.dumps(serving.warm(given["task"]))))
        except KgdxError as error:
            write(_problem(problem_of(error)))
            return
        inbox = Inbox(source)
        while (asked := inbox.get()) is not None:
            write(answer(serving, asked, write, inbox))
    finally:
        serving.close()


class Abandoned(BaseException):
    """Ends work that nobody waits for; whoever handles errors of the work lets it pass."""


class Inbox:
    """What a server sends while its worker works: the next requests, and that one is not wanted any more.

    Work that is not wanted ends at its next event, or where the system has signals, at once, also while it waits for
    a language model. The main thread makes the inbox, and works.
    """

    def __init__(self, source: BinaryIO) -> None:
        self._requests: queue.SimpleQueue[tuple[bytes, threading.Event] | None] = queue.SimpleQueue()
        self.cancelled = threading.Event()
        self._at_work, self._worker = False, threading.get_ident()
        if sys.platform != "win32":
            signal.signal(signal.SIGUSR1, self._leave)
        threading.Thread(target=self._read, args=(source,), daemon=True).start()

    def get(self) -> bytes | None:
        """Return the next request; ``None`` where the server has gone."""
        found = self._requests.get()
        if found is None:
            return None
        self.cancelled = found[1]
        return found[0]

    def work(self, operation: Callable[[], Found]) -> Found:
        try:
            self._at_work = True
            self.look()
            return operation()
        finally:
            self._at_work = False

    def whole(self, write: Callable[[bytes], Any], content: bytes) -> None:
        """Write something that nothing may cut in two."""
        self._at_work = False
        write(content)
        self._at_work = True
        self.look()

    def look(self) -> None:
        if self.cancelled.is_set():
            raise Abandoned

    def _leave(self, *_: object) -> None:
        if self._at_work:
            self.look()

    def _read(self, source: BinaryIO) -> None:
        last = self.cancelled
        while (found := read(source)) is not None:
            if found[0] == CANCEL:
                last.set()
                if sys.platform != "win32":
                    signal.pthread_kill(self._worker, signal.SIGUSR1)
            else:
                last = threading.Event()
                self._requests.put((found[1], last))
        last.set()
        self._requests.put(None)


def answer(serving: Serving, content: bytes, write: Callable[[bytes], Any], inbox: Inbox) -> bytes:
    """Return the last frame of the answer to a request; events are written as they happen."""
    asked = orjson.loads(content)

    def event(document: dict[str, Any]) -> None:
        inbox.whole(write, frame(EVENT, orjson.dumps(document)))

    try:
        result = inbox.work(lambda: OPERATIONS[asked["operation"]](serving, asked["given"], event))
        if isinstance(result, str):
            return frame(RESULT, result.encode())
        return frame(RESULT, orjson.dumps(result, option=orjson.OPT_NON_STR_KEYS, default=str))
    except Abandoned:
        return _problem(Problem(503, "abandoned", "nobody waits for the answer"))
    except RequestRefused as refused:
        return _problem(refused.problem)
    except KgdxError as error:
        return _problem(problem_of(error))
    except MemoryError:
        return _problem(Problem(507, "memory", "the request needs more memory than there is", "ask for less at once"))
    except BrokenPipeError:
        raise
    except Exception as error:
        # The message may hold a patient's words; its kind and place do not.
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place is not None else "?"
        print(
            f"kgdx serve: {asked['operation']} failed: {type(error).__name__} at {where}", file=sys.stderr, flush=True
        )
        return _problem(
            Problem(500, "failed", "the request could not be answered", "report it; the server's log says where")
        )


def _problem(problem: Problem) -> bytes:
    return frame(PROBLEM, orjson.dumps(problem))


if __name__ == "__main__":
    main()
