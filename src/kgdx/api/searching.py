"""Looking nodes up by what people call them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, get_type_hints

from kgdx.errors import UsageError
from kgdx.terms.names.name_decision import KINDS, NameEntry

if TYPE_CHECKING:
    import polars

    from kgdx.actions.graph_context import GraphContext

MOST = 1000
"""Most entries of a search."""


def search(graph: GraphContext, text: str, kinds: Sequence[str], limit: int) -> polars.DataFrame:
    """Return what a name means, then what is called by names that begin with it, hold it, or come near."""
    import polars

    if not text.strip():
        raise UsageError("there is nothing to search for", hint="give a name, the beginning of one, or an id")
    if strange := [kind for kind in kinds if kind not in KINDS]:
        raise UsageError(f"{strange[0]!r} has no names to search", hint=f"kinds are {', '.join(KINDS)}")
    if not 1 <= limit <= MOST:
        raise UsageError(f"limit is {limit}", hint=f"ask for 1 to {MOST:,} entries")
    wanted = tuple(kinds) or KINDS
    decided = graph.names.resolve(text, wanted)
    found: dict[tuple[str, str], NameEntry] = {}
    for entry in chain(decided.entries, graph.names.complete(text, wanted, limit), decided.candidates):
        found.setdefault((entry.kind, entry.id), entry)
    columns = [name for name in get_type_hints(NameEntry) if name != "via"]
    rows = [[getattr(entry, name) for name in columns] for entry in list(found.values())[:limit]]
    types = [polars.Float64 if name == "score" else polars.String for name in columns]
    return polars.DataFrame(rows, schema=dict(zip(columns, types, strict=True)), orient="row")


def ranked_disease(graph: GraphContext, name: str) -> str:
    """Return the id of the ranked disease that an id or a name stands for."""
    ranker = graph.ranker
    if ranker.number_of(name) >= 0:
        return name
    decided = graph.names.resolve(name, ("Disease",))
    numbers = {entry.id: ranker.number_of(entry.id) for entry in decided.entries}
    ranked = {number: id for id, number in reversed(numbers.items()) if number >= 0}
    if len(ranked) == 1:
        return next(iter(ranked.values()))
    if ranked:
        listed = ", ".join(f"{ranker.names.candidate(number).name} ({id})" for number, id in reversed(ranked.items()))
        raise UsageError(f"{name[:60]!r} may mean several diseases", hint=f"give the id of one: {listed}")
    near = [f"{each.name} ({each.id})" for each in decided.candidates if ranker.number_of(each.id) >= 0][:3]
    hint = f"did you mean {' or '.join(near)}?" if near else "find its name or id with `kgdx search NAME`"
    raise UsageError(f"{name[:60]!r} is not among the ranked diseases", hint=hint)
