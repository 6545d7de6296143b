"""Work on many items, shared out to processes that each open the same graph once: here, or as actors of Ray.

Results come in the order of the items and are those of one process, since an item is done alone and whoever does it
reads the same graph. A process that dies loses nothing: its share is done again by another.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from kgdx.errors import StoreError, UsageError
from kgdx.learn.ray_actors import Actors
from kgdx.learn.workers import Crew, Gone, Outcome, Post, Processes, Work, Worker

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.config import Settings

SHARE = 16
"""Items that a process gets at once."""

AHEAD = 4
"""Shares for each process that may be done before the one whose results are awaited."""

TRIES = 3
"""How often a share is begun before it is taken for what kills the processes."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Team(Generic[Item, Result]):
    """Workers for one kind of work, kept for as many rounds as there are; use it as a context manager.

    Args:
        work: What is done with each item.
        graph: The open graph; a single process works on it, others open its folder for themselves.
        jobs: How many processes; one by default, and on Ray as many as it has processors.
        ray: Address of a Ray cluster, or ``local`` for one on this machine alone; processes without Ray by default.
        encoder: Whether the graph was opened with the encoder of the extra.
    """

    def __init__(
        self,
        work: Work[Item, Result],
        graph: Graph,
        *,
        jobs: int | None = None,
        ray: str | None = None,
        encoder: bool = False,
    ) -> None:
        if jobs is not None and jobs < 1:
            raise UsageError(f"{jobs} processes can do nothing", hint="give one or more")
        self._here: Callable[[Item], Result] | None = None
        self._crew: Crew | None = None
        self._idle: list[Worker] = []
        if ray is None and (jobs or 1) == 1:
            self._here = work.on(graph)
            return
        post = Post(work, _everywhere(graph.settings), encoder, graph.fingerprint)
        self._crew = Processes(post, jobs or 1) if ray is None else Actors(post, ray, jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all processes."""
        for worker in self._idle:
            worker.stop()
        self._idle = []
        if self._crew is not None:
            self._crew.close()

    def map(self, items: Iterable[Item], *, share: int = SHARE) -> Iterator[Result]:
        """Yield the result of each item, in their order; few shares are in memory at a time.

        Args:
            items: What is done; read as the work goes on.
            share: How many a process gets at once; fewer where one takes long.
        """
        if self._crew is None:
            assert self._here is not None
            yield from map(self._here, items)
            return
        shared = _Round(self._crew, self._idle, items, share)
        try:
            yield from shared.results()
        finally:
            shared.stop()


class _Round:
    """One round of sharing out.

    Args:
        crew: Where workers come from.
        idle: Workers that wait; changed in place.
        items: What is done.
        share: How many items a share has.
    """

    def __init__(self, crew: Crew, idle: list[Worker], items: Iterable[Any], share: int) -> None:
        self._crew, self._idle = crew, idle
        source = iter(items)
        self._fresh = enumerate(iter(lambda: list(islice(source, share)), []))
        self._again: list[tuple[int, list[Any]]] = []
        self._busy: dict[Worker, tuple[int, list[Any]]] = {}
        self._done: dict[int, Outcome] = {}
        self._deaths: dict[int, int] = {}
        self._awaited = self._begun = 0

    def results(self) -> Iterator[Any]:
        """Yield all results in order."""
        while True:
            self._hand_out()
            if self._awaited in self._done:
                outcome = self._done.pop(self._awaited)
                self._awaited += 1
                yield from outcome.results
                if outcome.error is not None:
                    raise outcome.error
            elif self._busy:
                for worker in self._crew.ready(list(self._busy)):
                    self._collect(worker)
            else:
                return

    def stop(self) -> None:
        """End the workers whose shares nobody waits for any more."""
        while self._busy:
            self._busy.popitem()[0].stop()

    def _hand_out(self) -> None:
        while len(self._busy) < self._crew.size:
            share = self._next()
            if share is None:
                return
            worker = self._idle.pop() if self._idle else self._crew.worker()
            self._busy[worker] = share
            worker.give(share[1])

    def _next(self) -> tuple[int, list[Any]] | None:
        """The share to do next: one that was lost, or a new one unless too many wait for the one that is awaited."""
        if self._again:
            return heapq.heappop(self._again)
        if self._begun >= self._awaited + AHEAD * self._crew.size:
            return None
        found = next(self._fresh, None)
        self._begun += found is not None
        return found

    def _collect(self, worker: Worker) -> None:
        number, items = self._busy[worker]
        try:
            self._done[number] = worker.take()
        except Gone as gone:
            self._deaths[number] = deaths = self._deaths.get(number, 0) + 1
            if deaths == TRIES:
                what = f"{TRIES} processes died over the same {len(items):,} items, the last by {gone}"
                raise StoreError(what, hint="there may be too little memory: run it again with fewer --jobs") from None
            del self._busy[worker]
            worker.stop()
            heapq.heappush(self._again, (number, items))
        else:
            del self._busy[worker]
            self._idle.append(worker)


def _everywhere(settings: Settings) -> Settings:
    return settings if settings.is_neo4j else replace(settings, store=str(Path(settings.store).absolute()))


def shared(
    work: Work[Item, Result],
    items: Iterable[Item],
    graph: Graph,
    *,
    jobs: int | None = None,
    ray: str | None = None,
    encoder: bool = False,
    share: int = SHARE,
) -> Iterator[Result]:
    """Yield the result of each item, in their order: one round of a :class:`Team`, whose arguments these are."""
    with Team(work, graph, jobs=jobs, ray=ray, encoder=encoder) as team:
        yield from team.map(items, share=share)
