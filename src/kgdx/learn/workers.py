"""Processes that each do shares of some work on a graph that they open once, and what is told between them."""

from __future__ import annotations

import os
import signal
import socket
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kgdx.api import Graph
from kgdx.errors import KgdxError, StoreError

if TYPE_CHECKING:
    from kgdx.config import Settings

STOP_S = 3.0
"""How long a process has to end when it is told to."""

Item_contra = TypeVar("Item_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


class Work(Protocol[Item_contra, Result_co]):
    """What is done with each of many items.

    It is sent to the processes, as the items and results are: it holds settings, never a graph.
    """

    def on(self, graph: Graph) -> Callable[[Item_contra], Result_co]:
        """Return what does an item on an open graph; called once in each process."""


@dataclass(frozen=True)
class Outcome:
    """What came of a share.

    Attributes:
        results: Of its items, up to the first that failed.
        error: Why that one failed.
    """

    results: list[Any]
    error: Exception | None = None


@dataclass(frozen=True)
class Post:
    """What a process is told before its first share: the work, and the graph that it opens for it.

    Attributes:
        work: What is done.
        settings: Those of the graph that is open in the process that shares out.
        encoder: Whether words are read by meaning, too.
        fingerprint: Of the graph that has to be found.
    """

    work: Work[Any, Any]
    settings: Settings
    encoder: bool
    fingerprint: str

    def begin(self) -> Callable[[Any], Any]:
        """Open the graph."""
        encoder = None
        if self.encoder:
            from kgdx.terms.encoder import MiniLM

            encoder = MiniLM()
        graph = Graph(self.settings, encoder)
        if graph.fingerprint != self.fingerprint:
            where = f"the graph at {graph.url} on {socket.gethostname()} is not the one that is open here"
            raise StoreError(where, hint="every machine has to see the same folder at the same path")
        return self.work.on(graph)


class Doer:
    """Does shares in a process of its own; it opens the graph for the first of them."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._act: Callable[[Any], Any] | None = None

    def do(self, items: Sequence[Any]) -> Outcome:
        """Do the items of a share, up to the first that fails."""
        results: list[Any] = []
        try:
            if self._act is None:
                self._act = self._post.begin()
            for item in items:
                results.append(self._act(item))
        except KgdxError as error:
            return Outcome(results, error)
        except Exception as error:  # a fault of the program: raised again where somebody sees it
            error.add_note(traceback.format_exc())
            return Outcome(results, error)
        return Outcome(results)


class Gone(Exception):
    """A process has died; its message says how."""


class Worker(Protocol):
    """A process that does one share at a time."""

    def give(self, items: Sequence[Any]) -> None:
        """Hand over a share; nothing is raised where the process is gone."""

    def take(self) -> Outcome:
        """Return what came of it."""

    def stop(self) -> None:
        """End the process, whatever it does."""


class Crew(Protocol):
    """Where workers come from."""

    size: int

    def worker(self) -> Worker:
        """Start a worker."""

    def ready(self, busy: Sequence[Worker]) -> Sequence[Worker]:
        """Wait until some of the busy workers have done their shares, or died, and return these."""

    def close(self) -> None:
        """Let go of what all workers share."""


class Processes:
    """Workers that are processes of this machine."""

    def __init__(self, post: Post, size: int) -> None:
        self._post, self.size = post, size

    def worker(self) -> Worker:
        """Start a worker."""
        return _Process(self._post)

    def ready(self, busy: Sequence[Worker]) -> Sequence[Worker]:
        """Wait for some of the busy workers."""
        pipes = {each.pipe: each for each in busy if isinstance(each, _Process)}
        return [pipes[found] for found in connection.wait(list(pipes)) if isinstance(found, connection.Connection)]

    def close(self) -> None:
        """Do nothing: processes share nothing."""


class _Process:
    """A process, and the pipe to it."""

    def __init__(self, post: Post) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, post), daemon=True)
        with _deaf():
            self._process.start()
        theirs.close()

    def give(self, items: Sequence[Any]) -> None:
        with suppress(OSError):
            self.pipe.send(items)

    def take(self) -> Outcome:
        try:
            outcome: Outcome = self.pipe.recv()
        except (EOFError, OSError):
            self._process.join(STOP_S)
            code = self._process.exitcode
            raise Gone(f"signal {-code}" if code is not None and code < 0 else f"exit code {code}") from None
        return outcome

    def stop(self) -> None:
        self.pipe.close()
        self._process.terminate()
        self._process.join(STOP_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


@contextmanager
def _deaf() -> Iterator[None]:
    """Hold interruptions back; a process that is started meanwhile never hears any: they are the first one's affair."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: connection.Connection, post: Post) -> None:
    """Do shares until nobody is there who gives any; end in the middle of one where who gave it has died."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    doer = Doer(post)
    with suppress(EOFError, OSError):
        while True:
            pipe.send(doer.do(pipe.recv()))


def _end_with_parent() -> None:
    """End this process when that which started it has ended, however that came about."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
