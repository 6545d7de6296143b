"""Refused records in the terminal: why, how often, an example of each; and what became of those tried again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group as Parts
from rich.console import RenderableType
from rich.text import Text

from kgdx.results.words import clean, count
from kgdx.show.console import plain

if TYPE_CHECKING:
    from kgdx.ingest.pipeline.quarantine import Group, Retried

SHOWN = 100
"""Characters of a record that are shown."""
AGAIN = 10
"""Records that were refused again, of which more are only counted."""


def overview(groups: Sequence[Group], limit: int) -> RenderableType:
    """Return why records were refused: source, count, reason, and the place of the first."""
    if not groups:
        return Text("No record is refused.")
    total = sum(group.count for group in groups)
    sources = len({group.source for group in groups})
    parts: list[RenderableType] = [Text(f"{count(total, 'record')} refused, of {count(sources, 'source')}"), Text()]
    rows = [(group.source, group.count, _reason(group)) for group in groups[:limit]]
    parts.append(plain(("Source", "records", "why, and the first of them"), rows, right=("records",)))
    if len(groups) > limit:
        left = sum(group.count for group in groups[limit:])
        more = f"… and {count(len(groups) - limit, 'more reason')} ({count(left, 'record')}): --rows {len(groups)}"
        parts.append(Text(more, style="dim"))
    parts += [Text(), Text("To mend them: kgdx quarantine export FILE.csv, then kgdx quarantine retry FILE.csv")]
    return Parts(*parts)


def retried(done: Retried) -> RenderableType:
    """Return the outcome of refused records that were tried again."""
    mended = sum(done.mended.values())
    if mended:
        again = len(done.refused)
        head = f"{count(mended, 'record')} mended: {mended - again:,} taken, {again:,} refused again"
    else:
        head = "The refused records were checked again"
    parts: list[RenderableType] = [
        Text(head, style="bold"),
        Text(f"refused before {done.before:,}, now {done.after:,}"),
    ]
    if done.refused:
        rows = [(row["source"], row["line"], row["reason"]) for row in done.refused[:AGAIN]]
        parts += [Text(), plain(("Source", "line", "why"), rows, right=("line",))]
        if len(done.refused) > AGAIN:
            parts.append(Text(f"… and {len(done.refused) - AGAIN:,} more", style="dim"))
    return Parts(*parts)


def _reason(group: Group) -> Text:
    """Return why the first record of a group was refused, its place, and how it begins."""
    place = f"line {group.line:,}" if group.line is not None else "a record"
    where = place if group.file is None else f"{group.file.rpartition('/')[2]}, {place}"
    record = " ".join(_facts(group.record).split())
    shown = f"{record[:SHOWN]}{'…' if len(record) > SHOWN else ''}"
    return Text(clean(group.example)).append(f"\n{clean(where)}: {clean(shown)}", style="dim")


def _facts(record: str) -> str:
    """Return a record in words: the filled columns of an object; anything else as it is."""
    try:
        found = json.loads(record)
    except ValueError:
        return record
    if not isinstance(found, dict):
        return record
    facts = [f"{name}: {_value(value)}" for name, value in found.items() if value not in (None, "", [])]
    return " · ".join(facts)


def _value(value: object) -> str:
    if isinstance(value, str | int | float):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
