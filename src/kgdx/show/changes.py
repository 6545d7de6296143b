"""What two graphs differ in, and whether a graph still is what its sources give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from kgdx.show.tables import plain
from kgdx.show.words import clean, count, seconds

if TYPE_CHECKING:
    from kgdx.load.change import Change
    from kgdx.load.compared import Comparison
    from kgdx.load.info import Freshness

SHOWN = 3
"""How many examples of each table and source are shown."""


def comparison(found: Comparison) -> RenderableType:
    """The difference between two graphs: a line for each table and source, with examples."""
    if not found.changes:
        return Text(f"{clean(found.new)} holds the same as {clean(found.old)}.")
    head = Text(f"From {clean(found.old)} to {clean(found.new)}: {totals(found.changes)}", style="bold")
    columns = ("Table", "source", "added", "removed", "changed", "such as")
    rows = [
        (each.table, each.source, *_counts(each), "\n".join(clean(one) for one in _some(each.examples)))
        for each in found.changes
    ]
    return Group(head, Text(), plain(columns, rows, right=columns[2:5]))


def totals(changes: Sequence[Change]) -> str:
    """Changes added up in words."""
    added, removed, changed = (sum(getattr(each, kind) for each in changes) for kind in ("added", "removed", "changed"))
    return f"{count(added, 'row')} added, {count(removed, 'row')} removed, {count(changed, 'node')} changed"


def freshness(found: Freshness) -> RenderableType:
    """How the graph was made last, and which sources an update would read anew."""
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


def _counts(change: Change) -> tuple[int | None, int | None, int | None]:
    return change.added or None, change.removed or None, change.changed or None


def _some(examples: Sequence[str]) -> list[str]:
    """A few examples, of each kind one at least."""
    first = [next(one for one in examples if one[0] == sign) for sign in dict.fromkeys(one[0] for one in examples)]
    return [*first, *(one for one in examples if one not in first)][:SHOWN]
