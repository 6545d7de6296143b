"""What two graphs differ in, and whether a graph still is what its sources give."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.results.words import clean, count, seconds
from kgdx.show.console import plain

if TYPE_CHECKING:
    from kgdx.ingest.pipeline.build_report import Change
    from kgdx.ingest.pipeline.build_summary import Freshness
    from kgdx.ingest.pipeline.graph_diff import Comparison

SHOWN = 3
"""How many examples of each table are shown."""
_STYLES = {"+": "green", "-": "red", "~": "yellow"}
_MINTED = re.compile(r"KGDX:\w+\.[0-9a-f]{16}")


def comparison(found: Comparison, examples: int = SHOWN) -> RenderableType:
    """Return the difference between two graphs by table and source, with examples.

    Args:
        found: What differs.
        examples: How many rows of each table are shown.
    """
    if not found.changes:
        return Text(f"{clean(found.new)} holds the same as {clean(found.old)}.")
    head = Text(f"From {clean(found.old)} to {clean(found.new)}: {totals(found.changes)}", style="bold")
    parts: list[RenderableType] = [head]
    width = max(len(f"  {each.source}") for each in found.changes)
    for table, changes in groupby(found.changes, key=lambda change: change.table):
        each = list(changes)
        parts += [Text(), Text(clean(table), style="bold")]
        for change in each:
            parts.append(Text(f"  {clean(change.source)}".ljust(width)).append(f"  {_numbers(change)}", style="dim"))
        chosen = _some([one for change in each for one in change.examples], examples)
        if chosen:
            rows = [("   ", Text(one[0], style=_STYLES[one[0]]), _called(one[2:], found.names)) for one in chosen]
            parts.append(plain(("", "", ""), rows))
    return Group(*parts)


def _numbers(change: Change) -> str:
    numbers = ((change.added, "added"), (change.removed, "removed"), (change.changed, "changed"))
    return ", ".join(f"{number:,} {word}" for number, word in numbers if number)


def _called(row: str, names: Mapping[str, str]) -> str:
    """Return a node, or the two ends of a relation, by names; ids minted from names are left out."""
    words = [row] if row in names or row.count(" ") != 1 else row.split(" ")
    return " → ".join(_name(word, names.get(word, "")) for word in words)


def _name(id: str, name: str) -> str:
    if not name or name == id:
        return id
    return name if _MINTED.fullmatch(id) else f"{name} ({id})"


def totals(changes: Sequence[Change]) -> str:
    """Return the sum of changes in words."""
    added, removed, changed = (sum(getattr(each, kind) for each in changes) for kind in ("added", "removed", "changed"))
    return f"{count(added, 'row')} added, {count(removed, 'row')} removed, {count(changed, 'node')} changed"


def freshness(found: Freshness) -> RenderableType:
    """Return how the graph was last built, and which sources are stale."""
    stale = [each for each in found.sources if each.stale]
    facts = [
        ("last", f"{found.kind} at {found.created}, {seconds(found.seconds)}"),
        ("stages", f"{count(found.kept, 'result')} kept, {found.kept_bytes / 1e6:,.0f} MB"),
    ]
    parts: list[RenderableType] = [plain(("", ""), facts)]
    for each in stale:
        parts.append(Text(f"! {clean(each.name)}: {each.stale} ({clean(each.origin)})", style="yellow"))
    if stale:
        parts.append(Text(f"  bring it up to date with `kgdx update {' '.join(each.name for each in stale)}`", "dim"))
    return Group(*parts)


def _some(examples: Sequence[str], limit: int) -> list[str]:
    """Return a few examples, one of each kind where there is room."""
    first = [next(one for one in examples if one[0] == sign) for sign in dict.fromkeys(one[0] for one in examples)]
    return [*first, *(one for one in examples if one not in first)][:limit]
