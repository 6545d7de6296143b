"""Processes that each do shares of some work on a graph that they open once, and what is told between them."""

from __future__ import annotations

import os
import signal
import socket
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kgdx.api import Graph
from kgdx.errors import KgdxError, StoreError

if TYPE_CHECKING:
    from kgdx.config import Settings

Item_contra = TypeVar("Item_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


class Work(Protocol[Item_contra, Result_co]):
    """What is done with each of many items.

    It is sent to the processes, as the items and results are: it holds settings, never a graph.
    """

    def on(self, graph: Graph) -> Callable[[Item_contra], Result_co]:
        """Return what does an item on an open graph; called once in each process."""


@dataclass(frozen=True)
class ShareOutcome:
    """What came of a share."""

    results: list[Any]
    error: Exception | None = None


@dataclass(frozen=True)
class Post:
    """What a process is told before its first share: the work, and the graph that it opens for it."""

    work: Work[Any, Any]
    settings: Settings
    encoder: bool
    fingerprint: str

    def begin(self) -> Callable[[Any], Any]:
        """Open the graph."""
        encoder = None
        if self.encoder:
            from kgdx.terms.encoder import usual

            encoder = usual(self.settings)
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

    def do(self, items: Sequence[Any]) -> ShareOutcome:
        """Do the items of a share, up to the first that fails."""
        results: list[Any] = []
        try:
            if self._act is None:
                self._act = self._post.begin()
            for item in items:
                results.append(self._act(item))
        except KgdxError as error:
            return ShareOutcome(results, error)
        except Exception as error:  # a fault of the program: raised again where somebody sees it
            error.add_note(traceback.format_exc())
            return ShareOutcome(results, error)
        return ShareOutcome(results)


class Processes:
    """Processes of this machine, started as there is something to do."""

    gone: type[Exception] = BrokenExecutor
    """Raised for a share that was lost with a process; all that are under way are lost with it."""

    def __init__(self, post: Post, size: int) -> None:
        self._post, self.size = post, size
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, items: Sequence[Any]) -> Future[ShareOutcome]:
        """Hand a share over to whoever is free first."""
        if self._pool is None:
            context = get_context("spawn")
            theirs, self._lifeline = context.Pipe(duplex=False)
            self._pool = ProcessPoolExecutor(self.size, context, _begin, (self._post, theirs))
        with _deaf():
            return self._pool.submit(_do, items)

    def stop(self) -> None:
        if self._pool is not None:
            self._lifeline.close()
            self._pool.shutdown()
            self._pool = None

    close = stop


_doer: Doer | None = None
"""Does the shares of this process, where it is one of :class:`Processes`."""


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


def _begin(post: Post, lifeline: Connection) -> None:
    """Prepare a process: it does not hear interruptions, and ends with the one that started it, or at its word."""
    global _doer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _doer = Doer(post)

    def end() -> None:
        wait([lifeline])
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def _do(items: Sequence[Any]) -> ShareOutcome:
    assert _doer is not None
    return _doer.do(items)


def processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
