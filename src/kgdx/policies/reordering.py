"""Actions that read how a model ordered candidates, and make one order of all that it said.

Only a permutation is taken, and the order of retrieval stands wherever there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, ClassVar

from kgdx.answer.artifacts import Ranked, Reranked, ranking_of
from kgdx.episode.conversation import exchanges
from kgdx.episode.operations import Operations
from kgdx.episode.state import Artifact, Reads, State
from kgdx.episode.wish import Action
from kgdx.policies.candidate_evidence import Briefed, by_disease, reason
from kgdx.policies.permutation import concordance, fused, joined, read_order, reasoned
from kgdx.results.ranked import MoveReason, Reranking

PROMPT = "rerank"
"""The prompt by which orders are asked for."""


@dataclass(frozen=True, slots=True)
class Ordered(Artifact):
    """How a model ordered the candidates of one window."""

    depends: ClassVar[tuple[Reads, ...]] = ()
    kept: ClassVar[bool] = True
    many: ClassVar[bool] = True

    turn: int
    begin: int
    shown: tuple[str, ...]
    order: tuple[str, ...]
    unknown: int = 0
    repeated: int = 0
    omitted: int = 0
    fault: str = ""
    why: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)

    def to_data(self) -> dict[str, Any]:
        names = ("turn", "begin", "unknown", "repeated", "omitted", "fault")
        return {"shown": list(self.shown), "order": list(self.order), **{name: getattr(self, name) for name in names}}

    def to_words(self) -> dict[str, Any]:
        return {"why": dict(self.why)} if self.why else {}

    @classmethod
    def from_log(cls, data: Mapping[str, Any], words: Mapping[str, Any]) -> Ordered:
        lists = {"shown": tuple(data["shown"]), "order": tuple(data["order"])}
        return cls(**{**data, **lists}, why=dict(words.get("why", {})))


class ReadOrder(Action):
    """Read how a model ordered the candidates that it was shown: only a permutation of them is taken."""

    name: ClassVar[str] = "read_order"
    makes: ClassVar[type[Artifact]] = Ordered
    planned: ClassVar[bool] = False
    pure: ClassVar[bool] = True

    turn: int
    """Which time all candidates are ordered, from 0."""
    begin: int
    """Where the window begins."""
    shown: tuple[str, ...]
    """Ids as the model was shown them."""
    whole: bool = False
    """Whether an order that leaves some out is not taken."""

    @property
    def sees(self) -> tuple[Reads, ...]:
        return ("log", Ranked)

    @property
    def reads(self) -> tuple[Reads, ...]:
        return ()

    def run(self, graph: Operations, view: State) -> Ordered:
        said = exchanges(view.log, f"{PROMPT}@")[-1]
        found = read_order(said.text, len(self.shown))
        ranking = view.last(Ranked)
        place = {} if ranking is None else {each.id: at for at, each in enumerate(ranking.ranking.candidates)}
        if self.whole and found.places and found.omitted:
            short = f"it leaves out {found.omitted} of {len(self.shown)} candidates"
            found = replace(found, places=(), why={}, fault=short)
        taken = tuple(self.shown[at] for at in found.places)
        left = sorted({*self.shown} - {*taken}, key=lambda id: place.get(id, len(place)))
        why = {self.shown[at]: words for at, words in found.why.items()}
        fault = (
            _FAILURES.get(said.failed, f"the request failed ({said.failed})")
            if said.failed and not taken
            else found.fault
        )
        counts = (found.unknown, found.repeated, found.omitted)
        return Ordered(self.turn, self.begin, self.shown, (*taken, *left), *counts, fault, why)


SPENT = "its budget is used up"
"""Fault of a request that a budget forbids."""

_FAILURES = {"budget": SPENT, "refused": "it refuses to answer"}


class Reorder(Action):
    """Make one order of all that a model said, fused with the scores, and hold its reasons against the evidence."""

    name: ClassVar[str] = "reorder"
    makes: ClassVar[type[Artifact]] = Reranked
    planned: ClassVar[bool] = False
    pure: ClassVar[bool] = True

    candidates: int = 50
    """How many candidates of the ranking the model was to order."""
    weight: float = 1.0
    """Of the model's order beside the score; 1 for the order alone."""
    reasoned: bool = False
    """Whether a candidate moves up only with a reason that its evidence carries."""
    prompt: str = ""
    """Name of the instruction."""
    digest: str = ""
    """Its digest."""
    top: int = 10
    """Of how many of the first the reasons are kept."""

    @property
    def reads(self) -> tuple[Reads, ...]:
        return ("evidence", Ranked, Briefed, Ordered)

    @property
    def sees(self) -> tuple[Reads, ...]:
        return ("log",)

    def run(self, graph: Operations, view: State) -> Reranked:
        ranking, made = ranking_of(view), view.all(Ordered)
        listed = () if ranking is None else ranking.candidates
        ids = [each.id for each in listed[: self.candidates]]
        place = {id: at for at, id in enumerate(ids)}
        faulty = [each for each in made if each.fault]
        orders = [[place[id] for id in of_turn(ids, made, turn)] for turn in sorted({each.turn for each in made})]
        asked = exchanges(view.log, f"{PROMPT}@")
        stands = len(faulty) == len(made)
        both, ties = joined(orders) if orders else ([], 0)
        numbers = range(len(ids)) if stands else fused(both, [each.score for each in listed[: len(ids)]], self.weight)
        carried = _reasons(made, ids, view.get(Briefed)) if self.reasoned else {}
        if self.reasoned:
            numbers = reasoned(list(numbers), {place[id] for id, why in carried.items() if why.text})
        order = [ids[number] for number in numbers]
        moved = [id for at, id in enumerate(order) if id != ids[at]]
        up = [id for at, id in enumerate(order[: self.top]) if at < place[id]]
        reasons = _reasons(made, up, view.get(Briefed))
        told = Reranking(
            model=next((each.result.name for each in asked if each.result is not None), ""),
            prompt=self.prompt,
            digest=self.digest,
            candidates=len(ids),
            asked=len(made),
            failed=len(faulty),
            fault=faulty[-1].fault if faulty else "" if made else "it was not asked",
            unknown=sum(each.unknown for each in made),
            repeated=sum(each.repeated for each in made),
            omitted=sum(each.omitted for each in made if not each.fault),
            moved=len(moved),
            unexplained=sum(not (id in reasons and reasons[id].text) for id in up),
            weight=self.weight,
            runs=max(1, len(orders)),
            agreement=_agreement(orders),
            bias=_bias(made),
            ties=ties if len(orders) > 1 else 0,
        )
        return Reranked((*order, *(each.id for each in listed[len(ids) :])), reasons, told)


def of_turn(ids: Sequence[str], made: Sequence[Ordered], turn: int) -> list[str]:
    """Return the order in which one turn has put the candidates so far."""
    order = list(ids)
    for each in made:
        if each.turn == turn:
            order[each.begin : each.begin + len(each.order)] = each.order
    return order


def _reasons(made: Sequence[Ordered], up: Sequence[str], briefed: Briefed | None) -> dict[str, MoveReason]:
    words = {id: said for each in made for id, said in each.why.items()}
    items = () if briefed is None else briefed.items
    known, own = {each.id: each for each in items}, by_disease(items)
    return {id: reason(words[id], own.get(id, ()), known) for id in up if id in words}


def _agreement(orders: Sequence[Sequence[int]]) -> float | None:
    pairs = [(one, other) for at, one in enumerate(orders) for other in orders[at + 1 :]]
    return round(fmean(concordance(*pair) for pair in pairs), 3) if pairs else None


def _bias(made: Sequence[Ordered]) -> float | None:
    shuffled = [each for each in made if each.turn and not each.fault]
    told = []
    for each in shuffled:
        number = {id: at for at, id in enumerate(each.shown)}
        told.append(concordance(range(len(number)), [number[id] for id in each.order]))
    return round(fmean(told), 3) if told else None
