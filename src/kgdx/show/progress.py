"""A build while it runs: a bar with rate and time left in a terminal, a line for each stage otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgdx.results.words import clean
from kgdx.show.console import console

if TYPE_CHECKING:
    from kgdx.ingest.pipeline.build_report import Progress

SURE = 0.05
"""Part of the whole before which nothing is said of the time that is left."""


@dataclass(slots=True)
class Pace:
    """How fast a stage goes: reset when another begins, or when its counts start again."""

    stage: str = ""
    begun: float = 0.0
    first: int = 0
    last: int = 0

    def rate(self, event: Progress) -> str:
        """Say how many rows or bytes are done in a second; nothing where that cannot be said yet.

        Example:
            >>> from kgdx.ingest.pipeline.build_report import Progress
            >>> pace = Pace()
            >>> pace.rate(Progress("load", "", 0.5, 10.0, rows=0))
            ''
            >>> pace.rate(Progress("load", "", 0.6, 12.0, rows=500_000))
            '250,000 rows/s'
        """
        now = event.bytes or event.rows
        if event.stage != self.stage or now < self.last:
            self.stage, self.begun, self.first = event.stage, event.seconds, now
        self.last = now
        spent, done = event.seconds - self.begun, now - self.first
        if spent <= 0 or done <= 0:
            return ""
        return f"{done / spent / 1e6:.1f} MB/s" if event.bytes else f"{done / spent:,.0f} rows/s"

    def left(self, event: Progress) -> str:
        """Say how much time is left, by what is done of the whole, or of the file that arrives.

        Example:
            >>> from kgdx.ingest.pipeline.build_report import Progress
            >>> Pace().left(Progress("load", "", 0.5, 10.0)), Pace().left(Progress("load", "", 0.01, 10.0))
            ('0:10 left', '')
        """
        if event.stage == "fetch":
            spent, arrived = event.seconds - self.begun, event.bytes - self.first
            seconds = spent * (event.total - event.bytes) / arrived if event.total and arrived > 0 else None
        else:
            seconds = event.seconds * (1 - event.done) / event.done if SURE <= event.done < 1 else None
        return "" if seconds is None else f"{int(seconds // 60)}:{int(seconds % 60):02} left"


@contextmanager
def build_progress() -> Iterator[Callable[[Progress], None]]:
    """Show how far a build is on standard error.

    Yields:
        The function that a build calls as it goes on.
    """
    if not sys.stderr.isatty():
        yield _stages()
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.fields[stage]:<7}"),
        BarColumn(bar_width=12),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[pace]}"),
        TextColumn("{task.description}"),
    )
    screen, pace = console(sys.stderr), Pace()
    with Bar(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("", total=1.0, stage="start", pace="")

        def tell(event: Progress) -> None:
            said = "  ".join(words for words in (pace.rate(event), pace.left(event)) if words)
            room = max(8, screen.width - 42 - len(said))
            detail = clean(event.detail)
            shown = f"{detail[: room - 1]}…" if len(detail) > room else detail
            bar.update(task, completed=event.done, description=shown, stage=event.stage, pace=said)

        yield tell


def _stages() -> Callable[[Progress], None]:
    """Return a function that prints a line on standard error whenever a stage begins."""
    seen: set[str] = set()

    def tell(event: Progress) -> None:
        if event.stage not in seen:
            seen.add(event.stage)
            print(f"{event.seconds:6.1f} s  {clean(event.stage):<8} {clean(event.detail)}", file=sys.stderr)

    return tell
