"""Orders as permutations: what a model's answer says of a numbered list, and how several orders become one.

A model can only reorder. Ids that the list does not have are refused, so are ids that come again; whether an order that
leaves some out is taken is for the caller to decide. Everything here is a pure function of texts and numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any

from kgdx.lazy import lazy_pattern
from kgdx.llm.structured import DEEPEST, LONGEST, depth, readings

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
            yield [_id(one) for one in listed], {**_reasons(listed), **_reasons(each.get("why"))}
    if chain := _CHAIN.search(text):
        yield re.findall(r"\w+", chain[0]), {}
    for each in found:
        if isinstance(each, list) and each:
            yield [_id(one) for one in each], _reasons(each)
    if cut := _CUT.search(text):
        yield json.loads(f"[{cut[1].rstrip().rstrip(',')}]"), {}


def _listed(document: Mapping[str, Any]) -> list[Any]:
    lists = {key: value for key, value in document.items() if isinstance(value, list) and value}
    return next((lists[key] for key in _ORDERS if key in lists), next(iter(lists.values()), []))


def _reasons(given: Any) -> dict[str, str]:
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
