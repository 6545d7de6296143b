"""The action that says in words what diseases are, and which MeSH heading each of them has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from kgdx.actions.base import Action, Operations
from kgdx.actions.known import Description, MeshHeading
from kgdx.actions.record import query, tool
from kgdx.actions.state import Author, Segment, State
from kgdx.errors import StoreError
from kgdx.store.protocol import Row

if TYPE_CHECKING:
    from kgdx.align.mesh import MeshDecision

MAX_DISEASES = 20
"""Most diseases that one request describes."""

_TEXT_CHARS = 2_000
_GIVEN = re.compile(r"^([^（(。]{1,40})[（(]\s*([A-Za-z][A-Za-z0-9 ,'’\-]{2,80}?)\s*(?:[，,;；、][^）)]{0,80})?[）)]")
"""The English name that Chinese texts give in brackets behind the name they begin with."""


class Describe(Action):
    """Look up what diseases are: names, description, and MeSH heading with scope note and tree numbers.

    Example:
        >>> Describe(diseases=("OMIM:154700",)).parameters()
        {'diseases': ['OMIM:154700'], 'mesh': True}
    """

    name: ClassVar[str] = "describe"

    diseases: Annotated[tuple[str, ...], Field(max_length=MAX_DISEASES)] | None = None
    """Ids of diseases; those that were named or found so far when absent."""

    mesh: bool = True
    """Whether to look for their MeSH headings."""

    def run(self, graph: Operations, state: State) -> State:
        """Return the state with the descriptions that it does not have yet."""
        known = {each.id for each in state.described}
        wanted = [id for id in dict.fromkeys(self.diseases or named(state)) if id not in known][:MAX_DISEASES]
        if not wanted:
            return state
        state, rows = query(graph, state, "descriptions_of_diseases", diseases=wanted)
        headings: dict[str, MeshHeading] = {}
        if self.mesh:
            state, headings = _headings(graph, state, rows)
        found = {row["id"]: _description(row, headings.get(row["id"])) for row in rows}
        return replace(state, described=(*state.described, *(found[id] for id in wanted if id in found)))


def named(state: State) -> tuple[str, ...]:
    """Return the diseases that an answer will speak of: those that were named, then the best that were found.

    Example:
        >>> from kgdx.actions.known import Resolved
        >>> from kgdx.case import Case
        >>> named(State(Case("p"), resolved=(Resolved("flu", ("Disease",), ("D:1",), ("flu",)),)))
        ('D:1',)
    """
    asked = (id for each in state.resolved if "Disease" in each.kinds for id in each.ids)
    ranked = (each.id for each in (() if state.ranking is None else state.ranking.candidates)[:3])
    inferred = (
        row["id"]
        for found in state.retrieved
        if found.template.startswith("infer_diseases")
        for row in found.rows[:3]
        if isinstance(row.get("id"), str)
    )
    return tuple(dict.fromkeys((*asked, *ranked, *inferred)))[:MAX_DISEASES]


def _description(row: Row, mesh: MeshHeading | None) -> Description:
    names = [row["name"], row["name_zh"], *row["synonyms"]]
    text = " ".join((row["text"] or "").split())
    if len(text) > _TEXT_CHARS:
        text = text[: _TEXT_CHARS - 1] + "…"
    return Description(row["id"], tuple(dict.fromkeys(filter(None, names))), text, row["source"] or "", mesh)


def _headings(graph: Operations, state: State, rows: Sequence[Row]) -> tuple[State, dict[str, MeshHeading]]:
    """The MeSH headings of diseases: those that the graph states, and otherwise those that their names have."""
    ids = [row["id"] for row in rows]
    state, stated = query(graph, state, "mesh_of_diseases", diseases=ids)
    found: dict[str, MeshHeading] = {}
    for row in sorted(stated, key=lambda row: (row["relation"] != "exact", -(row["score"] or 0.0))):
        found.setdefault(row["disease"], _stated(row))
    missing = [row for row in rows if row["id"] not in found]
    if not missing:
        return state, found
    headings = graph.headings
    decided: dict[str, MeshDecision] = {}

    def decide() -> dict[str, MeshDecision]:
        for row in missing:
            if decision := headings.decide(tuple(dict.fromkeys(_english(row)))):
                decided[row["id"]] = decision
        return decided

    try:
        state, _ = tool(state, "mesh", {"diseases": len(missing)}, decide, len)
    except StoreError as error:  # what the graph says of the diseases stands without headings
        state = state.logged(Segment(Author.TOOL, "error", "mesh", content=str(error)))
    chosen = sorted({decision.id for decision in decided.values() if decision.id})
    details: dict[str, Row] = {}
    if chosen:
        state, told = query(graph, state, "mesh_by_ids", descriptors=chosen)
        details = {row["id"]: row for row in told}
    return state, found | {id: _looked_up(decision, details) for id, decision in decided.items()}


def _english(row: Row) -> Iterator[str]:
    """English names of a disease: MeSH has no others."""
    for name in (row["name"], *row["synonyms"]):
        if name and name.isascii():
            yield name
    given = _GIVEN.match(row["text"] or "")
    if given and given[1].strip() in (row["name"], row["name_zh"], *row["synonyms"]):
        yield given[2]


def _stated(row: Row) -> MeshHeading:
    return MeshHeading(
        id=row["id"],
        heading=row["heading"],
        scope_note=_line(row["scope_note"]),
        tree_numbers=tuple(row["tree_numbers"]),
        relation=row["relation"] or "",
        method=row["method"] or "",
        score=row["score"] or 0.0,
        origin="graph",
        decision=_record(row["decision"]),
    )


def _looked_up(decision: MeshDecision, details: Mapping[str, Row]) -> MeshHeading:
    told = details.get(decision.id or "", {})
    return MeshHeading(
        id=decision.id or "",
        heading=decision.heading or "",
        scope_note=_line(told.get("scope_note")),
        tree_numbers=tuple(told.get("tree_numbers") or ()),
        relation=decision.relation or "",
        method=decision.method or "",
        score=decision.score,
        origin="name",
        decision=decision.to_dict(),
    )


def _record(text: str | None) -> dict[str, Any]:
    """The record of a decision as the graph holds it."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {"text": text}
    return found if isinstance(found, dict) else {"record": found}


def _line(text: str | None) -> str:
    return " ".join((text or "").split())
