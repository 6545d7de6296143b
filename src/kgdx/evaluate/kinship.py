"""How the disease that ranks first is related to the right one, as the graph says it: what kind of error a miss is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from kgdx.evaluate.labels import broader
from kgdx.terms.normalise import form

if TYPE_CHECKING:
    from kgdx.evaluate.labels import Label
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranker import Ranker

Kin = Literal["same", "synonym", "group", "subtype", "family", "none"]
KIN: tuple[Kin, ...] = ("same", "synonym", "group", "subtype", "family", "none")
"""The first is right; has a name of the right one, or is stated to be close to it; is a group that holds it; lies
within it; is of its family; or has nothing to do with it."""


class Kinship:
    """Tells how candidates are related.

    Args:
        ranker: Knows the candidates.
        snapshot: The snapshot that the ranker reads.
    """

    def __init__(self, ranker: Ranker, snapshot: Snapshot) -> None:
        self._model, self._snapshot = ranker.model, snapshot
        self._forms = lru_cache(4096)(self._named)

    def of(self, first: int, label: Label) -> Kin:
        """Return what a candidate is to a label; the nearest relation, where it has several."""
        if first in label.right:
            return "same"
        own = self._rows(first)
        right = {row for number in label.right for row in self._rows(number)}
        if self._close(own, right) or not self._forms(first).isdisjoint(
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

    def _close(self, own: set[int], right: set[int]) -> bool:
        return any(self._likened.get(row, set()) & right for row in own)

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
