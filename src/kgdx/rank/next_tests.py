"""What to test next: the leaders' genes, laboratory findings that tell them apart, and what sources recommend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from kgdx.arrays.sparse import Ints
from kgdx.rank.sufficiency import SEVERE
from kgdx.results.ranked import Candidate, NextTest, Prediction

if TYPE_CHECKING:
    from kgdx.rank.query import Query
    from kgdx.rank.ranking import CandidateNames
    from kgdx.rank.ranking_model import RankModel

LABORATORY, TEMPERATURE = "HP:0001939", "HP:0004370"
"""Abnormality of metabolism or homeostasis: what a laboratory measures stands below it, but for temperature."""
LEADERS = 5
"""Candidates that tests are to tell apart."""
APART = 0.3
"""Least difference of two leaders' frequencies of a laboratory finding."""
MOST = 2
"""Laboratory findings, and recommended tests, that are named."""


class NextTests:
    """Proposes tests for the leading candidates of a ranking."""

    def __init__(self, model: RankModel, names: CandidateNames) -> None:
        self._model, self._names = model, names

    def of(self, leaders: Sequence[Candidate], numbers: Ints, query: Query) -> tuple[NextTest, ...]:
        """Return tests with what each of the leading candidates predicts."""
        leaders, numbers = leaders[:LEADERS], numbers[:LEADERS]
        return (*_panel(leaders), *self._laboratory(leaders, numbers, query), *self._recommended(leaders, numbers))

    def _laboratory(self, leaders: Sequence[Candidate], numbers: Ints, query: Query) -> Iterator[NextTest]:
        basis, annotated = self._model.basis, self._model.columns.annotated
        share = np.zeros((len(numbers), len(basis.ic)), np.float32)
        for place, number in enumerate(numbers.tolist()):
            share[place, annotated.columns(number)] = annotated.row(number)[1]
        least = np.where(share > 0, share, np.inf).min(axis=0, initial=np.inf)  # of those that have it recorded
        worth = np.where(self._measured & np.isfinite(least), share.max(axis=0, initial=0.0) - least, 0.0)
        for term in (*query.observed.tolist(), *query.excluded.tolist()):
            worth[basis.up.columns(term)] = worth[basis.down.columns(term)] = 0.0
        for _ in range(MOST):
            at = int((worth * basis.ic).argmax())
            if worth[at] < APART:
                return
            label = self._names.label(self._names.term(at))
            told = [(each, one) for each, one in zip(leaders, share[:, at].tolist(), strict=True) if one]
            results = (f"{round(100 * one)} %" for _, one in told)
            yield NextTest(label, "laboratory", _predicted([each for each, _ in told], results))
            worth[basis.up.columns(at)] = worth[basis.down.columns(at)] = 0.0

    @cached_property
    def _measured(self) -> Ints:
        measured = np.zeros(len(self._model.basis.ic), bool)
        for root, below in ((LABORATORY, True), (TEMPERATURE, False)):
            if (row := self._names.terms.get(root)) is not None:
                measured[self._model.basis.down.columns(row)] = below
        return measured

    def _recommended(self, leaders: Sequence[Candidate], numbers: Ints) -> Iterator[NextTest]:
        """Yield what the table of conditions says settles a leader, else what another source recommends.

        What settles a dangerous disease is said where those that must not be missed are named.
        """
        snapshot = self._names.snapshot
        settled, severity = snapshot.values("disease", "settled_by"), snapshot.column("disease", "severity")
        disease, test = (snapshot.column("recommend_test", end) for end in ("disease", "test"))
        named: dict[str, list[Candidate]] = {}
        for leader, number in zip(leaders, numbers.tolist(), strict=True):
            rows = self._model.candidates.members.columns(number).tolist()
            by_table = [row for row in rows if settled[row]]
            said = [settled[row] for row in by_table if not severity[row] <= SEVERE]
            if not by_table:
                said = [snapshot.values("test", "name")[int(each)] for each in test[np.isin(disease, rows)]]
            for name in dict.fromkeys(each for each in said if each and not each.startswith("none")):
                named.setdefault(name, []).append(leader)
        for name, some in islice(named.items(), MOST):
            yield NextTest(name, "recommended", _predicted(some, ["confirmed or excluded"] * len(some)))


def _panel(leaders: Sequence[Candidate]) -> Iterator[NextTest]:
    having = [each for each in leaders if each.genes]
    if having and leaders[0].genes:
        genes = dict.fromkeys(gene for each in having for gene in each.genes)
        results = (f"a variant in {' or '.join(each.genes)}" for each in having)
        yield NextTest(f"Gene panel: {', '.join(genes)}", "genes", _predicted(having, results))


def _predicted(leaders: Sequence[Candidate], results: Iterable[str]) -> tuple[Prediction, ...]:
    return tuple(Prediction(each.id, each.name, result) for each, result in zip(leaders, results, strict=True))
