"""Actions that read how a model ordered candidates, and make one order of all that it said.

Only a permutation is taken, and the order of retrieval stands wherever there is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from statistics import fmean
from typing import Any, ClassVar

from kgdx.answer.artifacts import Ranked, Reranked, ranking_of
from kgdx.episode.conversation import exchanges
from kgdx.episode.operations import Operations
from kgdx.episode.state import Artifact, Reads, State
from kgdx.episode.wish import Action
from kgdx.lazy import lazy_pattern
from kgdx.llm.structured import DEEPEST, LONGEST, depth, readings
from kgdx.policies.candidate_evidence import Briefed, by_disease, reason
from kgdx.results.ranked import MoveReason, Reranking

MARK = "C"
"""How the id of a candidate begins in a prompt."""

WHY = 600
"""Letters of a reason at most."""

_ID = lazy_pattern(rf"\W{{0,3}}{MARK}?\s?0{{0,3}}([1-9]\d{{0,3}})\W{{0,3}}", re.IGNORECASE)
_LINK = rf"\[?\b{MARK}?\d{{1,4}}\b\]?"
_CHAIN = lazy_pattern(rf"{_LINK}(?:\s*>\s*{_LINK})+", re.IGNORECASE)
_CUT = lazy_pattern(r'"order"\s*:\s*\[((?:\s*"[^"]{0,20}"\s*,)+)')
_ORDERS = ("order", "ranking", "ranked", "candidates")
_NAMES = ("id", "candidate", "disease", "name")
_WORDS = ("because", "why", "reason")


@dataclass(frozen=True, slots=True)
class Order:
    """What an answer says of a list."""

    places: tuple[int, ...] = ()
    why: Mapping[int, str] = field(default_factory=dict, hash=False, repr=False)
    unknown: int = 0
    repeated: int = 0
    omitted: int = 0
    fault: str = ""


def read_order(text: str, size: int) -> Order:
    """Read the order of a numbered list from what a model wrote."""
    if len(text) > LONGEST or depth(text) > DEEPEST:
        return Order(omitted=size, fault="it is too long, or nested too deeply")
    given, told = next(_written(text), ((), {}))
    if not given:
        return Order(omitted=size, fault="it holds no order")
    places: dict[int, None] = {}
    unknown = repeated = 0
    for each in given:
        number = _number(each, size)
        if number is None:
            unknown += 1
        elif number in places:
            repeated += 1
        else:
            places[number] = None
    if not places:
        return Order(unknown=unknown, omitted=size, fault="it orders none of the candidates")
    why = {number: words for id, words in told.items() if (number := _number(id, size)) is not None}
    return Order(tuple(places), why, unknown, repeated, size - len(places))


def _written(text: str) -> Iterator[tuple[Sequence[str], Mapping[str, str]]]:
    found = list(readings(text))
    for each in found:
        if isinstance(each, dict) and (listed := _listed(each)):
            yield [_id(one) for one in listed], {**_reasons_written(listed), **_reasons_written(each.get("why"))}
    if chain := _CHAIN.search(text):
        yield re.findall(r"\w+", chain[0]), {}
    for each in found:
        if isinstance(each, list) and each:
            yield [_id(one) for one in each], _reasons_written(each)
    if cut := _CUT.search(text):
        yield json.loads(f"[{cut[1].rstrip().rstrip(',')}]"), {}


def _listed(document: Mapping[str, Any]) -> list[Any]:
    lists = {key: value for key, value in document.items() if isinstance(value, list) and value}
    return next((lists[key] for key in _ORDERS if key in lists), next(iter(lists.values()), []))


def _reasons_written(given: Any) -> dict[str, str]:
    if isinstance(given, Mapping):
        return {str(id): words[:WHY] for id, words in given.items() if isinstance(words, str)}
    told = {}
    for each in given if isinstance(given, list) else ():
        if isinstance(each, Mapping):
            words = next((each[key] for key in _WORDS if isinstance(each.get(key), str)), "")
            told[_id(each)] = words[:WHY]
    return {id: words for id, words in told.items() if words}


def _id(given: Any) -> str:
    if isinstance(given, Mapping):
        given = next((given[key] for key in _NAMES if key in given), "")
    return str(given) if isinstance(given, str | int) else ""


def _number(id: str, size: int) -> int | None:
    found = _ID.fullmatch(id)
    number = int(found[1]) - 1 if found else size
    return number if number < size else None


def windows(count: int, size: int, step: int) -> tuple[tuple[int, int], ...]:
    """Return the parts of a list that a model orders one after the other, from the back to the front.

    Sliding windows of RankGPT (Sun et al. 2023): what wins at the back moves up with the next window.
    """
    if count <= size:
        return ((0, count),) if count > 1 else ()
    begins = [*range(count - size, 0, -max(1, min(step, size))), 0]
    return tuple((begin, begin + size) for begin in begins)


def joined(orders: Sequence[Sequence[int]]) -> tuple[list[int], int]:
    """Return the order of the mean places in several orders of one list, and how many pairs of neighbours are tied.

    Permutation self-consistency (Tang et al. 2024), with Borda's count; of ties, the sooner retrieved comes first.
    """
    sums = [0] * len(orders[0])
    for order in orders:
        for place, number in enumerate(order):
            sums[number] += place
    ordered = sorted(range(len(sums)), key=lambda number: (sums[number], number))
    tied = sum(sums[one] == sums[other] for one, other in pairwise(ordered))
    return ordered, tied


def fused(order: Sequence[int], scores: Sequence[float], weight: float) -> list[int]:
    """Return the order by a weighted sum of the place in an order and the score, each brought to 0–1."""
    if weight >= 1 or len(order) < 2:
        return list(order)
    low, high = min(scores), max(scores)
    spread = (high - low) or 1.0
    last = len(order) - 1
    worth = {
        number: weight * (last - place) / last + (1 - weight) * (scores[number] - low) / spread
        for place, number in enumerate(order)
    }
    return sorted(order, key=lambda number: -worth[number])  # stable: of ties the model's order decides


def reasoned(order: Sequence[int], explained: Collection[int]) -> list[int]:
    """Return the order in which only those move up that a reason was given for; all others keep their turn."""
    kept, place = sorted(order), {number: at for at, number in enumerate(order)}
    for number in (each for each in order if each in explained):
        above = next(at for at, other in enumerate(kept) if place[other] >= place[number])
        if above < kept.index(number):
            kept.remove(number)
            kept.insert(above, number)
    return kept


def concordance(one: Sequence[int], other: Sequence[int]) -> float:
    """Return Kendall's rank correlation of two orders of the same numbers: 1 equal, 0 unrelated, -1 reversed."""
    place = {number: at for at, number in enumerate(other)}
    pairs = len(one) * (len(one) - 1) // 2
    if not pairs:
        return 1.0
    agreeing = sum(place[a] < place[b] for a, b in combinations(one, 2))
    return 2 * agreeing / pairs - 1


def expected_tokens(text: str) -> int:
    """Return about how many tokens a text takes: one for four letters, one for each Chinese character."""
    chinese = sum("一" <= each <= "鿿" for each in text)
    return chinese + -(-(len(text) - chinese) // 4)


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
