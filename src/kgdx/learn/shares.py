"""Work on many items, shared out to processes that each open the same graph once: here, or as actors of Ray.

Results come in the order of the items and are those of one process, since an item is done alone and whoever does it
reads the same graph. A process that dies loses nothing: its share is done again by another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kgdx.errors import StoreError, UsageError
from kgdx.graph.protocol import Closing
from kgdx.learn.workers import Actors, Post, Processes, ShareOutcome, Work

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


class Team(Closing, Generic[Item, Result]):
    """Workers for one kind of work, kept for as many rounds as there are; use it as a context manager."""

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
        self._crew: Processes | Actors | None = None
        if ray is None and (jobs or 1) == 1:
            self._here = work.on(graph)
            return
        post = Post(work, _everywhere(graph.settings), encoder, graph.fingerprint)
        self._crew = Processes(post, jobs or 1) if ray is None else Actors(post, ray, jobs)

    def close(self) -> None:
        if self._crew is not None:
            self._crew.close()

    def map(self, items: Iterable[Item], *, share: int = SHARE) -> Iterator[Result]:
        """Yield the result of each item, in their order; few shares are in memory at a time."""
        if self._crew is None:
            assert self._here is not None
            yield from map(self._here, items)
            return
        source, waiting = iter(items), deque[_Share]()
        fresh = iter(lambda: list(islice(source, share)), [])
        try:
            while True:
                for more in islice(fresh, AHEAD * self._crew.size - len(waiting)):
                    waiting.append(_Share(more, self._crew.submit(more)))
                if not waiting:
                    return
                outcome = _finished(self._crew, waiting)
                yield from outcome.results
                if outcome.error is not None:
                    raise outcome.error
        finally:
            if waiting:  # nobody waits for these any more
                self._crew.stop()


@dataclass(slots=True)
class _Share:
    """Items with what becomes of them; ``None`` where it was lost with a process."""

    items: list[Any]
    future: Future[ShareOutcome] | None
    deaths: int = 0


def _finished(crew: Processes | Actors, waiting: deque[_Share]) -> ShareOutcome:
    """Take the first share, and return what came of it.

    Where a process dies, all that were under way are lost; the first is done again alone, so that whatever kills
    processes is found, and then the others.
    """
    first = waiting[0]
    while True:
        assert first.future is not None
        try:
            outcome = first.future.result()
        except crew.gone as error:
            crew.stop()
            for each in waiting:
                if each.future is not None and each.future.exception() is not None:
                    each.deaths, each.future = each.deaths + 1, None
            if first.deaths >= TRIES:
                what = f"{TRIES} processes died over the same {len(first.items):,} items"
                raise StoreError(what, hint="there may be too little memory: run it again with fewer --jobs") from error
            first.future = crew.submit(first.items)
            wait([first.future])
        else:
            waiting.popleft()
            for each in waiting:
                each.future = each.future or crew.submit(each.items)
            return outcome


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
