"""Ranks the diseases of a snapshot for a case, without a language model, and explains every place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kgdx.case.model import Case, Issue, Status
from kgdx.errors import CaseError, UsageError
from kgdx.rank.bank import leaving_out
from kgdx.rank.compile import RankModel, compile_model
from kgdx.rank.explain import explain
from kgdx.rank.fusion import Scale, fused, scale
from kgdx.rank.model import Candidate, Contribution, Ranking
from kgdx.rank.names import Names
from kgdx.rank.scorers import SCORERS, Query, Scores
from kgdx.store.closure import Floats, Ints

if TYPE_CHECKING:
    from kgdx.rank.bank import CaseBank, Matched
    from kgdx.store.snapshot import Snapshot

Findings = tuple[Sequence[str], Sequence[str]]
"""Ids of observed and of excluded phenotypes."""

_CACHED = 512
GAIN = 1e-4
"""A score that a patient raises by less was not raised but rounded."""


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

    def rank(
        self, case: Case | Findings, top: int = 10, also: Sequence[str] = (), bank: CaseBank | None = None
    ) -> Ranking:
        """Return the best candidates for a case, each explained.

        Args:
            case: A case, or the ids of its observed and excluded phenotypes.
            top: How many candidates to return.
            also: Diseases (or entries merged into them) to return beside the best, with the rank that they have.
            bank: Other patients to match with; the case itself and those of its publications are left out.

        Raises:
            CaseError: None of the observed findings is a phenotype of the graph.
            UsageError: A disease of ``also`` is not among those that are ranked.
        """
        query, issues = self.query(case)
        scores = self.scores(query)
        scales = self.scales(scores)
        total = fused(scores, scales)
        matched = None
        if bank is not None:
            matched = bank.match(query, scores, scales, leaving_out(case) if isinstance(case, Case) else frozenset())
            total = matched.raised(total)
        places = placed(total, top, [self._ranked(disease) for disease in also])
        best = np.array(list(places), np.int64)
        explained = explain(self.model, self.names, query, scores, scales, best)
        candidates = []
        for number, (parts, contributions) in zip(places, explained, strict=True):
            candidate = self._candidate(number, places[number], parts, contributions)
            candidates.append(candidate if matched is None else with_cases(candidate, matched, number, total[number]))
        return Ranking(tuple(candidates), len(total), issues)

    def _candidate(
        self, number: int, rank: int, parts: Mapping[str, float], contributions: tuple[Contribution, ...]
    ) -> Candidate:
        members = self.names.members(number)
        return Candidate(
            rank=rank,
            id=members[0],
            name=self.names.label(number),
            members=members,
            score=sum(parts.values()),
            parts=parts,
            contributions=contributions,
            name_zh=self.names.label_zh(number),
        )

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
            hint = "give the id of an annotated disease; `kgdx run search_diseases text=NAME limit=5` finds ids"
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

    def scales(self, scores: Mapping[str, Scores]) -> dict[str, Scale]:
        """Return the scale on which each scorer's scores are added up."""
        return {name: scale(name, score) for name, score in scores.items()}

    def fuse(self, scores: Mapping[str, Scores]) -> Floats:
        """Return the fused score of every candidate."""
        return fused(scores, self.scales(scores))

    def _rows(self, ids: Iterable[str], issues: list[Issue]) -> Ints:
        rows: dict[int, None] = {}
        for id in ids:
            row = self.names.terms.get(id, -1)
            if row < 0 or not self._inside[row]:
                row = self.names.terms.get(self.names.replacements.get(id, ""), row)
            if row < 0:
                issues.append(Issue("warning", id, f"{id} is not a phenotype of this graph", "it was left out"))
            elif not self._inside[row]:
                message = f"{id} is not a phenotypic abnormality"
                issues.append(Issue("info", id, message, "it does not take part in ranking"))
            else:
                rows[row] = None
        return np.array(list(rows), np.int64)


def placed(total: Floats, top: int, also: Iterable[int] = ()) -> dict[int, int]:
    """Return the best candidates and their ranks, best first; equal scores are in the order of the candidates.

    Args:
        total: Score of each candidate.
        top: How many.
        also: Candidates to add with the rank that they have.

    Example:
        >>> placed(np.array([1.0, 3.0, 2.0, 3.0]), top=2, also=[0])
        {1: 1, 3: 2, 0: 4}
    """
    least = np.partition(total, -top)[-top] if top < len(total) else total.min()
    near = np.flatnonzero(total >= least)
    best = near[np.argsort(-total[near], kind="stable")][:top].tolist()
    ranks = dict(zip(best, range(1, len(best) + 1), strict=True))
    for number in also:
        ahead = np.count_nonzero(total > total[number]) + np.count_nonzero(total[:number] == total[number])
        ranks[number] = int(ahead) + 1
    return dict(sorted(ranks.items(), key=lambda item: item[1]))


def with_cases(candidate: Candidate, matched: Matched, number: int, score: float) -> Candidate:
    """Return a candidate with the patients that match, and with what the best of them adds to its score.

    Args:
        candidate: Scored by what is known of the disease alone.
        matched: How well the patients match.
        number: The candidate's number.
        score: Its score when patients count.
    """
    cases, gain = matched.cases(number), float(score) - candidate.score
    if gain <= GAIN or not cases:
        return replace(candidate, cases=cases)
    more = Contribution("", Status.UNKNOWN, gain, "patient", "case_bank", matched=cases[0].id)
    return replace(
        candidate,
        cases=cases,
        score=candidate.score + gain,
        parts={**candidate.parts, "case_bank": gain},
        contributions=(*candidate.contributions, more),
    )
