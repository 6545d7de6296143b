"""What counts as right in an evaluation, never by likeness: the candidates that a diagnosis means, and kin to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from kgdx.arrays.sparse import Ints
from kgdx.case.patient import Case
from kgdx.terms.normalise import form

if TYPE_CHECKING:
    from kgdx.api import Graph
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.held_out_ranks import Withheld
    from kgdx.rank.ranker import Ranker
    from kgdx.terms.names.name_decision import NameEntry
    from kgdx.terms.names.name_index import NameIndex

SURE = frozenset({"id", "exact", "normalised", "same"})
"""Ways of finding a name that state it: by id, by name or synonym but for inflection, spelling and word order, and by
an exact cross-reference; a typo or a likeness is no label."""

_CURIE = re.compile(r"[A-Za-z][\w.]*:\S+")


@dataclass(frozen=True, slots=True)
class Label:
    """What a case's stated diagnoses mean.

    Attributes:
        stated: Ids and names as the case states them.
        right: Numbers of the candidates, each of which is right; empty where the graph describes none of them.
        group: Where the label is no candidate but a group of diseases: the numbers of those within it.
    """

    stated: tuple[str, ...] = ()
    right: tuple[int, ...] = ()
    group: tuple[int, ...] = ()

    @property
    def disease(self) -> str:
        """What the cases of one disease have in common: the candidates, or else the words."""
        return ",".join(map(str, self.right)) or "; ".join(sorted(self.stated))


def cluster(case: Case) -> str:
    """Return what a case is resampled with: its publication, or else itself."""
    return case.publications[0] if case.publications else case.id


def seen(case: Case, right: Iterable[int], withheld: Withheld) -> bool | None:
    """Whether the graph's annotations of the right diseases cite the case; ``None`` where it names no publication.

    ``withheld`` knows what is cited; ``None``, too, where no disease of the graph is right.
    """
    publications = frozenset(case.publications)
    return any(withheld.cites(number, publications) for number in right) if right and publications else None


def stated(case: Case) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the diagnoses that a case states, and the names of them that count where those mean nothing.

    Example:
        >>> stated(Case("p", diseases=("OMIM:1",), extra={"diagnosis": "Gout"}))
        (('OMIM:1',), ('Gout',))
    """
    named = case.extra.get("diagnosis") or ()
    names = [named] if isinstance(named, str) else [each for each in named if isinstance(each, str)]
    given, others = (tuple(filter(None, (each.strip() for each in part))) for part in (case.diseases, names))
    return given, others


class Labels:
    """Finds the candidates that stated diagnoses mean.

    Without ``names``, which opens the index of the graph's names where a label is no id, names and foreign ids mean
    nothing.
    """

    def __init__(self, ranker: Ranker, snapshot: Snapshot, names: Callable[[], NameIndex] | None = None) -> None:
        self._ranker, self._snapshot, self._names = ranker, snapshot, names
        self._known: dict[str, Label] = {}

    @classmethod
    def of_graph(cls, graph: Graph) -> Labels:
        return cls(graph.ranker, graph.snapshot, lambda: graph.names)

    def of(self, case: Case) -> Label:
        given, names = stated(case)
        label = self._any(given)
        return label if label.right or not names else self._any((*given, *names))

    def _any(self, given: tuple[str, ...]) -> Label:
        for new in given:
            if new not in self._known:
                self._known[new] = self._find(new)
        found = [self._known[each] for each in given]
        right = tuple(sorted({number for each in found for number in each.right}))
        group = {number for each in found for number in each.group}
        return Label(given, right, () if right else tuple(sorted(group)))

    def _find(self, given: str) -> Label:
        number = self._ranker.number_of(given)
        if number >= 0:
            return Label((given,), (number,))
        if self._names is None:
            return Label((given,), (), self._within([given]))
        decision = self._names().resolve(given, ("Disease",))
        entries = [each for each in decision.entries if each.method in SURE and each.relation == "exact"]
        if _CURIE.fullmatch(given):  # an id is no name
            entries = [each for each in entries if each.method in ("id", "same")]
        right = self._best(entries)
        return Label((given,), right, () if right else self._within([given, *(entry.id for entry in entries)]))

    def _best(self, entries: list[NameEntry]) -> tuple[int, ...]:
        """The candidates of the best matching names, with what is exactly the same; of synonyms where no name fits."""
        numbers = {each.id: number for each in entries if (number := self._ranker.number_of(each.id)) >= 0}
        same = [(each.via, numbers[each.id]) for each in entries if each.method == "same" and each.id in numbers]
        named = [each for each in entries if each.method != "same"]
        for score in sorted({each.score for each in named}, reverse=True):
            ids = {each.id for each in named if each.score == score}
            found = {numbers[id] for id in ids if id in numbers} | {number for via, number in same if via in ids}
            if found:
                return tuple(sorted(found))
        return ()

    def _within(self, ids: list[str]) -> tuple[int, ...]:
        rows = self._ranker.names.diseases
        wanted = [rows[id] for id in ids if id in rows]
        broad, narrow = self._broader
        found = self._ranker.model.candidates.of[narrow[np.isin(broad, wanted)]]
        return tuple(np.unique(found[found >= 0]).tolist())

    @cached_property
    def _broader(self) -> tuple[Ints, Ints]:
        return broader(self._snapshot)


def broader(snapshot: Snapshot) -> tuple[Ints, Ints]:
    """Return rows of diseases of which a relation says that the first is broader than the second; of shape (pairs,)."""
    start, end, relation = (snapshot.column("same_as", name) for name in ("start", "end", "relation"))
    above, below = relation == "broader", relation == "narrower"
    return np.concatenate([start[above], end[below]]), np.concatenate([end[above], start[below]])


Kin = Literal["same", "synonym", "group", "subtype", "family", "none"]
KIN: tuple[Kin, ...] = ("same", "synonym", "group", "subtype", "family", "none")
"""The first is right; has a name of the right one, or is stated to be close to it; is a group that holds it; lies
within it; is of its family; or has nothing to do with it."""


class Kinship:
    """Tells how candidates are related: what kind of error a miss is, as the graph says it."""

    def __init__(self, ranker: Ranker, snapshot: Snapshot) -> None:
        self._model, self._snapshot = ranker.model, snapshot
        self._forms = lru_cache(4096)(self._named)

    def of(self, first: int, label: Label) -> Kin:
        """Return what a candidate is to a label; the nearest relation, where it has several."""
        if first in label.right:
            return "same"
        own = self._rows(first)
        right = {row for number in label.right for row in self._rows(number)}
        if any(self._likened.get(row, set()) & right for row in own) or not self._forms(first).isdisjoint(
            name for number in label.right for name in self._forms(number)
        ):
            return "synonym"
        if own & self._above(right):
            return "group"
        if first in label.group or right & self._above(own):
            return "subtype"
        families = self._model.families.of
        return "family" if any(families[first] == families[number] for number in label.right) else "none"

    def _rows(self, number: int) -> set[int]:
        return set(np.flatnonzero(self._model.candidates.of == number).tolist())

    def _named(self, number: int) -> frozenset[str]:
        """The names of a candidate, as names are compared."""
        found: set[str] = set()
        for row in self._rows(number):
            name, chinese, synonyms = (column[row].as_py() for column in self._names)
            found |= {form(each).key for each in (name, chinese, *(synonyms or ())) if each}
        return frozenset(found)

    @cached_property
    def _names(self) -> tuple[Sequence, ...]:  # type: ignore[type-arg]  # columns of Arrow
        table = self._snapshot.table("disease")
        return tuple(table.column(name) for name in ("name", "name_zh", "synonyms"))

    @cached_property
    def _likened(self) -> dict[int, set[int]]:
        start, end, relation = (self._snapshot.column("same_as", name) for name in ("start", "end", "relation"))
        alike = (relation == "close") | (relation == "exact")
        return _joined([*start[alike], *end[alike]], [*end[alike], *start[alike]])

    def _above(self, rows: set[int]) -> set[int]:
        found: set[int] = set()
        reached = rows
        while reached := {above for row in reached for above in self._groups.get(row, ())} - found:
            found |= reached
        return found - rows

    @cached_property
    def _groups(self) -> dict[int, set[int]]:
        broad, narrow = broader(self._snapshot)
        return _joined(narrow, broad)


def _joined(keys: Iterable[int], values: Iterable[int]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for key, value in zip(keys, values, strict=True):
        found.setdefault(int(key), set()).add(int(value))
    return found
