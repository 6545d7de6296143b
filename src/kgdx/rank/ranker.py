"""Ranks the diseases of a snapshot for a case, without a language model, and explains every place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kgdx.case.model import Case, Issue
from kgdx.errors import CaseError, UsageError
from kgdx.rank.closure import Floats, Ints
from kgdx.rank.compile import RankModel, compile_model
from kgdx.rank.explain import explain
from kgdx.rank.fusion import Scale, fused, scale
from kgdx.rank.model import Candidate, Ranking
from kgdx.rank.names import Names
from kgdx.rank.scorers import SCORERS, Query, Scores

if TYPE_CHECKING:
    from kgdx.store.snapshot import Snapshot

Findings = tuple[Sequence[str], Sequence[str]]
"""Ids of observed and of excluded phenotypes."""

_CACHED = 512


class Ranker:
    """Ranks diseases by phenotype; opened once and used for many cases.

    Args:
        model: The compiled model.
        names: What its numbers stand for.
    """

    def __init__(self, model: RankModel, names: Names) -> None:
        self.model = model
        self.names = names
        self._inside = np.diff(model.basis.up.start) > 0
        self._cache: dict[int, Floats] = {}

    @classmethod
    def open(cls, snapshot: Snapshot) -> Ranker:
        """Open the ranking model of a snapshot; it is compiled the first time.

        Raises:
            StoreError: The graph lacks the phenotype ontology or annotated diseases, or the model is damaged.
        """
        model = RankModel.open(compile_model(snapshot))
        return cls(model, Names(snapshot, model.candidates))

    def rank(self, case: Case | Findings, top: int = 10, also: Sequence[str] = ()) -> Ranking:
        """Return the best candidates for a case, each explained.

        Args:
            case: A case, or the ids of its observed and excluded phenotypes.
            top: How many candidates to return.
            also: Diseases (or entries merged into them) to return beside the best, with the rank that they have.

        Raises:
            CaseError: None of the observed findings is a phenotype of the graph.
            UsageError: A disease of ``also`` is not among those that are ranked.
        """
        query, issues = self.query(case)
        scores = self.scores(query)
        scales = {name: scale(name, score) for name, score in scores.items()}
        total = fused(scores, scales)
        order = np.argsort(-total, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(1, len(order) + 1)
        wanted = np.array([self._ranked(disease) for disease in also], dtype=order.dtype)
        best = order[np.isin(order, wanted) | (place[order] <= top)]
        explained = explain(self.model, self.names, query, scores, scales, best)
        candidates = []
        for number, (parts, contributions) in zip(best.tolist(), explained, strict=True):
            id, *others = self.names.members(number)
            candidates.append(
                Candidate(
                    rank=int(place[number]),
                    id=id,
                    name=self.names.label(number),
                    members=(id, *others),
                    score=sum(parts.values()),
                    parts=parts,
                    contributions=contributions,
                )
            )
        return Ranking(tuple(candidates), len(total), issues)

    def score_all(self, case: Case | Findings) -> tuple[list[str], Floats]:
        """Return the ids of all candidates, ascending by entry, and their scores.

        Raises:
            CaseError: None of the observed findings is a phenotype of the graph.
        """
        query, _ = self.query(case)
        return self.ids, self.fuse(self.scores(query))

    @property
    def ids(self) -> list[str]:
        """Id of each candidate."""
        ids = list(self.names.diseases)
        return [ids[row] for row in self.model.candidates.disease.tolist()]

    def number_of(self, disease: str) -> int:
        """Return the candidate that a disease id belongs to, -1 where the graph annotates nothing of it."""
        row = self.names.diseases.get(disease, -1)
        return int(self.model.candidates.of[row]) if row >= 0 else -1

    def _ranked(self, disease: str) -> int:
        number = self.number_of(disease)
        if number < 0:
            hint = "give the id of a disease with annotated phenotypes, such as OMIM:154700"
            raise UsageError(f"{disease[:40]} is not among the ranked diseases", hint=hint)
        return number

    def query(self, case: Case | Findings) -> tuple[Query, tuple[Issue, ...]]:
        """Return a case's findings as rows, and what of it cannot be used.

        Raises:
            CaseError: None of the observed findings is a phenotype of the graph.
        """
        observed, excluded = (case.observed, case.excluded) if isinstance(case, Case) else case
        issues: list[Issue] = []
        present = self._rows(observed, issues)
        if not len(present):
            hint = "give at least one phenotypic abnormality that the patient has, such as HP:0001250"
            raise CaseError("no observed finding of the case can be ranked", hint=hint)
        if len(self._cache) > _CACHED:
            self._cache.clear()
        return Query(present, self._rows(excluded, issues), self._cache), tuple(issues)

    def scores(self, query: Query) -> dict[str, Scores]:
        """Return every scorer's scores for a query."""
        columns, basis = self.model.columns, self.model.basis
        return {name: scorer(columns, basis, query) for name, scorer in SCORERS.items()}

    def fuse(self, scores: dict[str, Scores]) -> Floats:
        """Return the fused score of every candidate."""
        scales: dict[str, Scale] = {name: scale(name, score) for name, score in scores.items()}
        return fused(scores, scales)

    def _rows(self, ids: Iterable[str], issues: list[Issue]) -> Ints:
        rows: dict[int, None] = {}
        for id in ids:
            row = self.names.terms.get(id, -1)
            if row < 0 or not self._inside[row]:
                row = self.names.terms.get(self.names.replacements.get(id, ""), row)
            if row < 0:
                issues.append(Issue("warning", id, "is not a phenotype of this graph", "it was left out"))
            elif not self._inside[row]:
                issues.append(Issue("info", id, "is not a phenotypic abnormality", "it does not take part in ranking"))
            else:
                rows[row] = None
        return np.array(list(rows), np.int64)
