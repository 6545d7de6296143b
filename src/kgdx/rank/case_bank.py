"""Other patients as evidence: a switch of its own, off by default.

Patients whose diagnosis the graph knows are scored like diseases, each finding certain; a disease then counts for its
own score and its patients' together, τ ln(e^(s/τ) + Σ_p e^(s_p/τ)): several patients alike say more than one. A case is
never matched with itself or one of its own publication.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.errors import StoreError
from kgdx.rank.annotations import Annotations
from kgdx.rank.feature_matrices import columns, propagate
from kgdx.rank.fusion import fused
from kgdx.rank.person_scorer import ByPerson
from kgdx.rank.query import Query, Recent
from kgdx.rank.term_scorers import Coverage
from kgdx.results.ranked import Candidate, MatchedCase

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.fusion import Scale, Scored
    from kgdx.rank.ranker import Ranker

GAIN = 1e-4
"""A score that a patient raises by less was not raised but rounded."""
POOLING = 1.0
"""τ: how much several patients of a disease add up; chosen on development phenopackets that no annotation cites."""
NEAREST = 4096
"""Findings of which the nearest patients are kept: with 5,000 patients 20 kB each."""
SHOWN = 3
"""How many patients are named for a candidate."""


@dataclass(frozen=True, slots=True)
class Matched:
    """How well the patients of a bank match one query.

    Attributes:
        bank: The patients.
        query: The case.
        value: Score of each patient, −∞ for those left out, and for those that share no finding; shape (patients,).
    """

    bank: CaseBank
    query: Query
    value: Floats

    def raised(self, total: Floats) -> Floats:
        """Return the candidates' scores together with their patients'; each is at least its best patient's."""
        raised, pooling = total.copy(), self.bank.pooling
        there = np.flatnonzero(np.isfinite(self.value))
        candidate, value = self.bank.candidate[there], self.value[there].astype(total.dtype)
        np.maximum.at(raised, candidate, value)
        if pooling > 0:
            of = np.unique(candidate)
            share = np.exp((total - raised) / pooling)
            np.add.at(share, candidate, np.exp((value - raised[candidate]) / pooling))
            raised[of] += pooling * np.log(share[of])
        return raised

    def told(self, candidate: Candidate, number: int, total: Floats) -> Candidate:
        """Return a candidate with the patients that match, and with what they add to its score.

        Args:
            candidate: Scored by what is known of the disease alone.
            number: The candidate's number.
            total: All scores when patients count.
        """
        cases, gain = self.cases(number), float(total[number]) - candidate.score
        if gain <= GAIN or not cases:
            return replace(candidate, cases=cases)
        parts = {**candidate.parts, "case_bank": gain}
        return replace(candidate, cases=cases, score=candidate.score + gain, parts=parts)

    def cases(self, candidate: int) -> tuple[MatchedCase, ...]:
        """Return the most similar patients of a candidate that share a finding with the query, best first."""
        found: list[MatchedCase] = []
        patients = np.flatnonzero((self.bank.candidate == candidate) & np.isfinite(self.value))
        for patient in patients[np.argsort(-self.value[patients], kind="stable")].tolist():
            if len(found) == SHOWN:
                break
            shared = self.bank.shared(self.query, patient)
            if shared:
                score = float(self.value[patient])
                found.append(MatchedCase(self.bank.ids[patient], score, shared, self.bank.publications[patient]))
        return tuple(found)


class CaseBank:
    """Diagnosed patients of a snapshot, ready to be matched with a query.

    Args:
        ranker: Supplies the terms, and which candidate a diagnosis is.
        snapshot: Holds the patients.
        synthetic: Whether made-up patients count too: they say nothing of real ones that the annotations do not.
        pooling: τ of what several patients of a disease add up to; 0 for the best one alone.
    """

    def __init__(
        self, ranker: Ranker, snapshot: Snapshot, *, synthetic: bool = False, pooling: float = POOLING
    ) -> None:
        self.pooling = pooling
        self._basis = ranker.model.basis
        self._names = ranker.names
        ids, labels, stated, publications = (
            snapshot.values("patient_case", name).values() for name in ("id", "label", "diseases", "publications")
        )
        numbers = [{ranker.number_of(id) for id in diseases} - {-1} for diseases in stated]
        made_up = snapshot.values("patient_case", "synthetic").values()
        real = [synthetic or not each for each in made_up]
        known = np.array([len(each) == 1 and use for each, use in zip(numbers, real, strict=True)], bool)
        kept = np.flatnonzero(known).tolist()
        if not kept:
            hint = "load some with `kgdx build hp hpoa genes phenopackets=FILE`"
            raise StoreError("the graph holds no patient case with a diagnosis to match with", hint=hint)
        self.candidate = np.array([next(iter(numbers[row])) for row in kept], np.int64)
        self.ids = [ids[row] for row in kept]
        self.publications = [tuple(publications[row]) for row in kept]
        self._reported: dict[str, list[int]] = defaultdict(list)
        for number, (row, papers) in enumerate(zip(kept, self.publications, strict=True)):
            for name in {ids[row], labels[row], *papers} - {None}:
                self._reported[name].append(number)
        annotations = self._findings(snapshot, known)
        lacking = Annotations(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))
        propagated = propagate(annotations, self._basis.up)
        self._columns = columns(annotations, lacking, propagated, self._basis, len(kept))
        on = {name: scorer.on(self._columns) for name, scorer in ranker.scorers.items()}
        self._nearest = Coverage(ranker.model, {}, self._columns)
        self._similar: Recent[int, Floats] = Recent(NEAREST)
        self._scorers = {name: scorer for name, scorer in on.items() if scorer is not None}
        self._personal = {name: scorer for name, scorer in ranker.scorers.items() if isinstance(scorer, ByPerson)}

    @property
    def size(self) -> int:
        """Number of patients."""
        return len(self.candidate)

    def has(self, candidate: int, leave_out: frozenset[str]) -> bool:
        """Return whether the bank has a patient of the candidate that nothing in ``leave_out`` names."""
        return bool((self.used(leave_out) & (self.candidate == candidate)).any())

    def match(self, scored: Scored, leave_out: frozenset[str] = frozenset()) -> Matched:
        """Score every patient as if it were a disease.

        Args:
            scored: The case; on its scales the patients are standardised.
            leave_out: Publications, and ids or labels of patients, that do not count.
        """
        value = self.scores(scored.query, scored.scales)
        used = self.used(leave_out) & self._sharing(scored.query)
        return Matched(self, scored.query, np.where(used, value, -np.inf))

    def scores(self, query: Query, scales: Mapping[str, Scale]) -> Floats:
        """Return each patient's score, as if it were a disease; shape (patients,).

        Args:
            query: The case.
            scales: Those of the diseases' scores for it.
        """
        value = fused({name: scorer.score(query) for name, scorer in self._scorers.items()}, scales)
        for name in scales.keys() & self._personal.keys():  # what the person says of a disease, its patients share
            value += scales[name].part(self._personal[name].score(query))[self.candidate]
        return value

    def shared(self, query: Query, patient: int) -> tuple[str, ...]:
        """Return ids of the query's present findings that a patient has, or has something more specific of."""
        having = (term for term in query.observed.tolist() if patient in self._columns.frequency.columns(term))
        return tuple(self._names.term(term) for term in having)

    def _sharing(self, query: Query) -> Ints:
        """Whether each patient has a finding of the query, or something more specific."""
        sharing = np.zeros(self.size, bool)
        for term in query.observed.tolist():
            sharing[self._columns.frequency.columns(term)] = True
        return sharing

    def similar(self, term: int) -> Floats:
        """Return each patient's similarity to a finding, that of the nearest of the patient's own; shape (patients,).

        It is what :class:`~kgdx.rank.scorers.Coverage` compares by, from 0 to 1; computed once and kept.
        """
        return self._similar.get(term, lambda: self._nearest.row(term) / max(float(self._basis.ic[term]), 1e-9))

    def used(self, leave_out: frozenset[str]) -> Ints:
        """Return which patients count where some publications and ids do not; shape (patients,)."""
        used = np.ones(self.size, bool)
        for name in leave_out:
            used[self._reported.get(name, [])] = False
        return used

    def _findings(self, snapshot: Snapshot, known: Ints) -> Annotations:
        case, term = (snapshot.column("observed", end) for end in ("case", "phenotype"))
        use = known[case] & (np.diff(self._basis.up.start) > 0)[term]
        number = np.cumsum(known) - 1
        terms = len(self._basis.ic)
        keys = np.unique(number[case[use]].astype(np.int64) * terms + term[use])
        candidate, found = (part.astype(np.int32) for part in np.divmod(keys, terms))
        return Annotations(candidate, found, np.ones(len(keys), np.float32))
