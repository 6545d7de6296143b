"""What scorers of the person share: they read age, sex, family or genes, and nothing of the findings."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.case.patient import Issue, Status
from kgdx.lazy import Recent
from kgdx.rank.query import Query
from kgdx.rank.scorers import Scorer

if TYPE_CHECKING:
    from kgdx.case.patient import Case
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel

T = TypeVar("T")

KEPT = 64
"""Patients whose scores are kept: a consultation asks for the same one again and again."""


def below(snapshot: Snapshot, roots: Mapping[str, T]) -> dict[int, T]:
    """Return phenotype row → what its nearest ancestor among some terms stands for, those terms included."""
    rows = {id: row for row, id in enumerate(snapshot.column("phenotype", "id").tolist())}
    children: dict[int, list[int]] = defaultdict(list)
    for lower, upper in zip(*(snapshot.column("is_a", end).tolist() for end in ("child", "parent")), strict=True):
        children[upper].append(lower)
    found = {rows[id]: value for id, value in roots.items() if id in rows}
    waiting = deque(found)
    while waiting:
        row = waiting.popleft()
        for lower in children[row]:
            if lower not in found:
                found[lower] = found[row]
                waiting.append(lower)
    return found


def annotated_with(snapshot: Snapshot, model: RankModel, roots: Mapping[str, T]) -> Iterator[tuple[int, int, T]]:
    """Yield each annotation with one of some terms, or one below them: its row, the candidate, what the term is."""
    kinds = below(snapshot, roots)
    disease, term = (snapshot.column("has_phenotype", end) for end in ("disease", "phenotype"))
    for row in np.flatnonzero(np.isin(term, list(kinds))).tolist():
        candidate = int(model.candidates.of[disease[row]])
        if candidate >= 0:
            yield row, candidate, kinds[int(term[row])]


class ByPerson(Scorer):
    """A scorer of what is known of the person: its score is a bounded log-odds, the same whatever the findings are.

    It takes no part where the case says nothing that it reads. It is computed once for equal persons.
    """

    standardised: ClassVar[bool] = False
    reads: ClassVar[Status] = Status.UNKNOWN
    steady: ClassVar[bool] = True
    subject: ClassVar[str]
    """What it compares with, in words that follow "the graph knows"."""

    def __init__(self, model: RankModel, arrays: Mapping[str, Floats]) -> None:
        super().__init__(model, arrays)
        self._kept: Recent[Hashable, Floats] = Recent(KEPT)
        self._readings: Recent[int, tuple[Case, Hashable]] = Recent(KEPT)

    @abstractmethod
    def person(self, case: Case) -> Hashable:
        """Return what the scorer reads of a case; ``None`` where the case says nothing of it."""

    @abstractmethod
    def odds(self, person: Hashable) -> Floats:
        """Return the log-odds of each candidate for a person, 0 where nothing is known; shape (candidates,)."""

    def reading(self, case: Case) -> Hashable:
        kept = self._readings.get(id(case), lambda: (case, self.person(case)))  # with the case: no other has its id
        return kept[1]

    def speaks(self, query: Query) -> bool:
        return query.case is not None and self.reading(query.case) is not None

    def score(self, query: Query) -> Floats:
        person = None if query.case is None else self.reading(query.case)
        if person is None:
            return np.zeros(self.model.columns.size, np.float32)
        return self._kept.get(person, lambda: self.odds(person).astype(np.float32))

    @property
    @abstractmethod
    def informed(self) -> bool:
        """Whether the graph knows of any disease what the scorer compares with."""

    @abstractmethod
    def reason(self, person: Hashable, candidate: int) -> str:
        """Return in words why a candidate has its score for a person."""

    def says(self, query: Query, candidates: Ints) -> list[str]:
        person = None if query.case is None else self.person(query.case)
        return ["" if person is None else self.reason(person, number) for number in candidates.tolist()]


def unused(scorers: Iterable[Scorer], query: Query) -> Iterator[Issue]:
    """Yield an issue for what a case says of the person and the graph has nothing to compare with."""
    for scorer in scorers:
        if isinstance(scorer, ByPerson) and not scorer.informed and scorer.speaks(query):
            message = f"the graph does not know {scorer.subject}, so {scorer.name.replace('_', ' ')} changes nothing"
            yield Issue("info", scorer.name, message, "build it with HPO's annotations, as `kgdx build` does")
