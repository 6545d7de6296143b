"""What people look at of mappings: a decision about a name, with its candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from kgdx.results.words import clean
from kgdx.show.console import plain

if TYPE_CHECKING:
    from rich.console import RenderableType

    from kgdx.align.mesh import MeshDecision


STATUSES = {
    "manual": "by people's decision",
    "accepted": "accepted by people",
    "rejected": "rejected by people",
    "automatic": "stated",
    "ambiguous": "open: two candidates are equally good",
    "below": "open: below the threshold",
    "taken": "open: a better one took the candidate",
    "conflict": "open: does not go with others",
    "absent": "decided, but one side is not in the graph",
}
"""What the statuses of a review mean."""


def by_status(statuses: Iterable[str]) -> list[str]:
    """Say how many mappings have each status, most first.

    Example:
        >>> by_status(["automatic", "below", "automatic"])
        ['       2  automatic   stated', '       1  below       open: below the threshold']
    """
    return [
        f"{number:>8,}  {status:<10}  {STATUSES.get(status, '')}".rstrip()
        for status, number in Counter(statuses).most_common()
    ]


def mesh_decision(found: MeshDecision) -> RenderableType:
    """Return what was decided, why, and what else was considered."""
    stated = f"{found.id} {found.heading} ({found.relation}, {found.score:.2f})" if found.id else "no descriptor"
    release = f"MeSH {found.version}" if found.version else f"descriptors {found.checksum[:12]}"
    lines = [Text(clean(f"{found.name}: {stated}"), style="bold"), Text(clean(f"{found.reason}; {release}"))]
    rows = [(c.id, c.heading, c.matched, c.method, f"{c.score:.2f}") for c in found.candidates]
    return (
        Group(*lines, plain(("id", "heading", "matched", "method", "score"), rows, right=("score",)))
        if rows
        else Group(*lines)
    )
