"""Which candidates are of one family: a name series, an Orphanet group, or one gene with names that agree.

Members of a family often differ by the gene alone, so that a patient's findings cannot tell them apart: they are one
row of a list, with the finding that separates them. Families change no score.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kgdx.arrays.sparse import Ints, Sparse, compressed
from kgdx.lazy import lazy_pattern
from kgdx.rank.candidates import Candidates
from kgdx.resources import resource

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot

MOST_GROUP = 20
"""An Orphanet group over more candidates is a class of diseases, not a family."""
MOST_JOINED = 40
"""Genes and groups add to families up to this size."""
SHARED_WORDS = 0.5
"""Least share of the words of the shorter name that two diseases with a common gene have in common."""

_TOKEN = lazy_pattern(r"[a-z]+|\d+[a-z]*\d*")
_TAIL = lazy_pattern(r"(?<=\w )(\d+[a-z]*\d*|[ivx]+[a-h]?), .*")
_DESIGNATOR = lazy_pattern(r"\d+[a-z]*\d*|[ivx]+[a-h]?|[a-z]")


@dataclass(frozen=True, slots=True)
class Families:
    """Families of candidates: that of each, and the members of each, the one that stands for it first.

    One that is of no family is a family by itself.
    """

    of: Ints
    members: Sparse

    def standing(self, candidate: int) -> int:
        return int(self.members.columns(int(self.of[candidate]))[0])

    def alone(self, candidate: int) -> bool:
        return len(self.members.columns(int(self.of[candidate]))) == 1


class Stem(NamedTuple):
    """The sorted words of a name without what numbers it within its series."""

    words: tuple[str, ...]
    numbered: bool


def stem(name: str) -> Stem:
    """Return the stem of a disease's name; what follows its number after a comma describes one form."""
    words, name = _words(), name.lower().replace("'s ", " ")
    tokens = _TOKEN.findall(name)
    if not words["places"].isdisjoint(tokens):
        return Stem(tuple(sorted(tokens)), numbered=False)
    tokens = _TOKEN.findall(_TAIL.sub(r"\1", name))
    numbers = {token for token in tokens if _DESIGNATOR.fullmatch(token)}
    return Stem(tuple(sorted(set(tokens) - numbers - words["labels"] - words["inheritance"])), bool(numbers))


def families(snapshot: Snapshot, candidates: Candidates, names: Sequence[str], broader: tuple[Ints, Ints]) -> Families:
    """Return the families of candidates.

    Name series come first, and are whole. Then shared genes where names agree, and Orphanet groups from the smallest
    to the largest, join what is of no family yet, with each other or to one family that stays small: two families are
    never joined, so that no chain makes one of hundreds.
    """
    joined = _Joined(len(names))
    stems = [stem(name) for name in names]
    for members in (*_series(stems), *_by_gene(snapshot, candidates, stems), *_by_group(candidates, *broader)):
        joined.join(members)
    return joined.families()


@cache
def _words() -> dict[str, frozenset[str]]:
    import yaml

    read = yaml.safe_load(resource("ranking", "families.yaml").read_text(encoding="utf-8"))
    return {kind: frozenset(words) for kind, words in read.items() if kind != "schema"}


class _Joined:
    def __init__(self, size: int) -> None:
        self._first = list(range(size))
        self._size = [1] * size

    def join(self, members: Sequence[int]) -> None:
        tops = sorted({self._top(member) for member in members})
        sizes = [self._size[top] for top in tops]
        size = sum(sizes)
        if sum(each > 1 for each in sizes) < 2 and (size <= MOST_JOINED or max(sizes) == 1):
            for top in tops[1:]:
                self._first[top] = tops[0]
            self._size[tops[0]] = size

    def families(self) -> Families:
        tops = np.array([self._top(member) for member in range(len(self._first))], np.int32)
        _, of = np.unique(tops, return_inverse=True)
        number = np.arange(len(of), dtype=np.int32)
        count = int(of.max()) + 1 if len(of) else 0
        return Families(of.astype(np.int32), compressed(of, number, np.ones(len(of), np.int8), count))

    def _top(self, member: int) -> int:
        while self._first[member] != member:
            self._first[member] = self._first[self._first[member]]
            member = self._first[member]
        return member


def _series(stems: Sequence[Stem]) -> Iterator[list[int]]:
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, each in enumerate(stems):
        if each.words:
            found[each.words].append(at)
    for members in found.values():
        if len(members) > 1 and any(stems[at].numbered for at in members):
            yield members


def _by_gene(snapshot: Snapshot, candidates: Candidates, stems: Sequence[Stem]) -> Iterator[tuple[int, int]]:
    disease, gene = (snapshot.column("associated_gene", end) for end in ("disease", "gene"))
    candidate = candidates.of[disease]
    having: dict[int, set[int]] = defaultdict(set)
    for one, number in zip(gene[candidate >= 0].tolist(), candidate[candidate >= 0].tolist(), strict=True):
        having[one].add(number)
    general = _words()["general"]
    words = [frozenset(each.words) - general for each in stems]
    for one in sorted(having):
        members = sorted(having[one])
        for place, first in enumerate(members):
            for second in members[place + 1 :]:
                shorter = min(len(words[first]), len(words[second]))
                if shorter and len(words[first] & words[second]) >= SHARED_WORDS * shorter:
                    yield first, second


def _by_group(candidates: Candidates, broad: Ints, narrow: Ints) -> list[list[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    size = len(candidates.disease)
    for group, member in zip(candidates.entry[broad].tolist(), candidates.entry[narrow].tolist(), strict=True):
        if group >= 0 and 0 <= member < size:
            found[group].update({member} if group >= size else {group, member})
    groups = [sorted(members) for members in found.values() if len(members) <= MOST_GROUP]
    return sorted(groups, key=lambda members: (len(members), members))
