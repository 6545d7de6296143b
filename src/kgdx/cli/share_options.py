"""Options of sharing work out to several processes, on this machine or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgdx.cli.options import option

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.learn.shares import Item, Result
    from kgdx.learn.workers import Work

SHARE = 16
"""Items that a process gets at once."""

MANY = 200
"""Fewer cases are done before other processes would have started."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who shares the work."""

    jobs: int | None = option(
        None, "N", "Processes that share the work, or requests to a model at a time.", min=1, max=1024
    )
    ray: str | None = option(None, "ADDRESS|local", "Share it out on a Ray cluster; needs kgdx[cluster].")

    @property
    def shares(self) -> bool:
        return self.ray is not None or (self.jobs or 1) > 1

    def out(
        self,
        work: Work[Item, Result],
        items: Iterable[Item],
        graph: Graph,
        *,
        total: int | None = None,
        encoder: bool = False,
        share: int = SHARE,
    ) -> Iterator[Result]:
        """Yield the result of each item, in their order; with a total, as many processes share as suit so many."""
        from kgdx.learn.shares import shared

        jobs = self.jobs
        if jobs is None and self.ray is None:
            jobs = jobs_for(total)
        return shared(work, items, graph, jobs=jobs, ray=self.ray, encoder=encoder, share=share)

    def refuse_ray(self, what: str) -> None:
        """Refuse Ray where a model is asked, whose budget one process keeps."""
        from kgdx.errors import UsageError

        if self.ray is not None:
            raise UsageError(f"--ray goes without {what}", hint="--jobs says how many requests run at a time")

    def refuse(self, what: str) -> None:
        """Refuse other processes where a model is asked, whose budget one process keeps."""
        from kgdx.errors import UsageError

        if self.shares:
            hint = "KGDX_LLM_CONCURRENCY says how many requests run at a time"
            raise UsageError(f"--jobs and --ray go without {what}", hint=hint)


def jobs_for(count: int | None) -> int:
    """Return how many processes suit so many cases, when nobody says."""
    from kgdx.learn.workers import processors

    return 1 if (count or 0) < MANY else processors()
