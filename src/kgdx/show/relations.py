"""An extraction of relations while it runs and when it is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.results.words import clean, count, seconds
from kgdx.show.console import console, plain

if TYPE_CHECKING:
    from kgdx.ingest.extraction.extract import Extraction

EVERY_S = 10.0
"""Seconds between two lines where there is no terminal."""


@contextmanager
def extraction_progress(total: int | None, priced: bool) -> Iterator[Callable[[Extraction], None]]:
    """Show on standard error how far an extraction is, with rate, cost and time left.

    Args:
        total: About how many pages there are.
        priced: Whether prices are set.

    Yields:
        The function that the extraction calls after each page.
    """
    if not sys.stderr.isatty():
        yield _lines(total, priced)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("pages"),
        BarColumn(24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console(sys.stderr), transient=True) as bar:
        task = bar.add_task("", total=total)

        def tell(now: Extraction) -> None:
            bar.update(task, completed=now.pages + len(now.failed), description=far(now, total, priced))

        yield tell


def _lines(total: int | None, priced: bool) -> Callable[[Extraction], None]:
    last = time.monotonic()

    def tell(now: Extraction) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY_S:
            last = time.monotonic()
            of = f" of {total:,}" if total else ""
            print(f"page {now.pages + len(now.failed):,}{of}: {far(now, total, priced)}", file=sys.stderr)

    return tell


def far(now: Extraction, total: int | None, priced: bool) -> str:
    """Return how far it is, in words: relations, records a second, cost, pages that failed, time left."""
    parts = [count(now.relations, "relation")]
    done = now.pages - now.kept
    if now.seconds > 0 and done:
        parts.append(f"{now.read_now / now.seconds:,.0f} records/s")
    if now.spent.calls or now.spent.cached:
        parts.append(_cost(now, priced))
    if now.failed:
        parts.append(f"{count(len(now.failed), 'page')} failed")
    if total and done and (left := total - now.pages - len(now.failed)) > 0:
        parts.append(f"{seconds(left * now.seconds / done)} left")
    return ", ".join(parts)


def _cost(now: Extraction, priced: bool) -> str:
    spent = now.spent
    tokens = f"{spent.prompt_tokens + spent.completion_tokens:,} tokens"
    return f"{tokens}, cost {spent.cost:,.4f}" if priced else tokens


def extraction(done: Extraction, priced: bool) -> RenderableType:
    """Return a finished extraction: relations by type, what was left out and why, and the cost."""
    head = f"{count(done.relations, 'relation')} from {count(done.records, 'record')} by {clean(done.model)}"
    types = [(name, f"{number:,}") for name, number in done.by_type.most_common()]
    parts: list[RenderableType] = [
        Text(head, style="bold"),
        Text(),
        plain(("Relation", "stated"), types, right=("stated",)),
    ]
    for title, reasons in (("Records refused", done.reasons), ("Statements left out", done.left_out)):
        if reasons:
            parts += [Text(), Text(title, style="yellow"), _reasons(reasons)]
    facts = [
        ("pages", f"{done.pages:,}" + (f", {done.kept:,} of them finished before" if done.kept else "")),
        (
            "time",
            f"{seconds(done.seconds)}, {done.read_now / max(done.seconds, 1e-9):,.0f} records/s"
            if done.read_now
            else "",
        ),
        ("model", _asked(done, priced)),
        ("folder", done.folder),
        ("next", f"kgdx update huatuo={done.folder}, which adds them to the graph"),
    ]
    parts += [Text(), plain(("", ""), [(Text(name, style="dim"), clean(fact)) for name, fact in facts if fact])]
    return Group(*parts)


def _asked(done: Extraction, priced: bool) -> str:
    spent = done.spent
    if not (spent.calls or spent.cached or spent.failed):
        return ""
    words = (
        f"{count(spent.calls, 'answer')}, {spent.cached:,} from the cache, {count(spent.retries, 'retry', 'retries')}"
    )
    if spent.uncounted:
        words += f", {spent.uncounted:,} without a count of tokens"
    return f"{words}, {_cost(done, priced)}"


def _reasons(reasons: Mapping[str, int]) -> RenderableType:
    rows = [(f"{number:,}", clean(reason)) for reason, number in sorted(reasons.items(), key=lambda item: -item[1])]
    return plain(("", ""), rows)
