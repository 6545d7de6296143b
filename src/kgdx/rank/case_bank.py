"""Other patients as evidence: published ones, and any that a graph holds with their diagnosis.

Patients whose diagnosis the graph knows are scored like diseases, each finding certain. A disease then counts for its
own score, for what its n patients change in its frequencies, and for the three of them that are most alike, together:

    s'(d) = τ ln( e^((s(d) + δ u(d)) / τ) + (1 + n)^−c Σ_p e^(s_p / τ) ),
    u(d) = 1/|Q| Σ_t max(0, ln x(f'(t,d)) − ln x(f(t,d))),    f'(t,d) = (m f(t,d) + k(t,d)) / (m + n),

with k of the n patients having t, and x the likelihood ratio of :func:`kgdx.rank.feature_matrices.columns` without its
neighbours. By c the best of many patients is worth less than that of few, since some are always alike. A patient never
lowers its disease; a case is never matched with itself or one of its own publication.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, mapped
from kgdx.errors import StoreError
from kgdx.rank.annotations import Annotations
from kgdx.rank.feature_matrices import BACKGROUND_SHARE, OWN_SHARE, Columns, columns, propagate
from kgdx.rank.fusion import PatientWeights, fused
from kgdx.rank.gates import names_found
from kgdx.rank.person_scorer import ByPerson
from kgdx.rank.query import Query, Recent
from kgdx.rank.ranker import Ranker
from kgdx.rank.ranking_model import VERSION as MODEL
from kgdx.rank.ranking_model import compile_model, read_part, write_part
from kgdx.rank.term_scorers import Coverage, dense
from kgdx.results.ranked import Candidate, MatchedCase

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.fusion import Scored, ScorerScale

VERSION = 1
"""Changes when the compiled arrays do."""
GAIN = 1e-4
"""A score that a patient raises by less was not raised but rounded."""
NEAREST = 4096
"""Findings of which the nearest patients are kept: with 5,000 patients 20 kB each."""
ALIKE = 3
"""How many patients of a disease count, and are named."""


@dataclass(frozen=True, slots=True)
class Matched:
    """How well the patients of a bank match one query.

    Attributes:
        bank: The patients.
        query: The case.
        value: Score of each patient, −∞ for those left out, and for those that share no finding; shape (patients,).
        count: How many patients of each disease count; shape (diseases of the bank,).
        update: u of each disease of the bank.
    """

    bank: CaseBank
    query: Query
    value: Floats
    count: Ints
    update: Floats

    def raised(self, total: Floats) -> Floats:
        """Return the candidates' scores together with their patients'; none is lowered."""
        bank, weights = self.bank, self.bank.weights
        there = np.flatnonzero(np.isfinite(self.value))
        there = there[np.lexsort((-self.value[there], bank.place[there]))]
        place = bank.place[there]
        nearest = np.r_[[True] * ALIKE, place[ALIKE:] != place[:-ALIKE]][: len(place)]
        place, value = place[nearest], self.value[there][nearest].astype(np.float64)
        own = total[bank.diseases].astype(np.float64) + weights.update * self.update
        most = own.copy()
        np.maximum.at(most, place, value)
        share = np.exp((own - most) / weights.pooling)
        alike = np.exp((value - most[place]) / weights.pooling)
        np.add.at(share, place, alike * (1.0 + self.count[place]) ** -weights.crowding)
        alike_of = np.unique(place)
        raised = total.copy()
        raised[bank.diseases[alike_of]] = (most + weights.pooling * np.log(share))[alike_of]
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
        patients = np.flatnonzero((self.bank.candidate == candidate) & np.isfinite(self.value))
        return tuple(
            MatchedCase(
                self.bank.ids[each],
                float(self.value[each]),
                self.bank.shared(self.query, each),
                self.bank.publications[each],
            )
            for each in patients[np.argsort(-self.value[patients], kind="stable")][:ALIKE].tolist()
        )

    def covered(self, candidate: int) -> float:
        """Return how well the most similar patient of a candidate covers the findings, as ``coverage`` does."""
        own = np.flatnonzero(self.bank.candidate == candidate)
        if not len(own) or not np.isfinite(self.value[own]).any():
            return 0.0
        best = int(own[self.value[own].argmax()])
        ic = self.bank.basis.ic[self.query.observed]
        similar = [float(self.bank.similar(term)[best]) for term in self.query.observed.tolist()]
        return float(np.dot(ic, similar) / max(float(ic.sum()), 1e-9))


class CaseBank:
    """Diagnosed patients of a snapshot, ready to be matched with a query.

    Args:
        ranker: Supplies the terms, and which candidate a diagnosis is.
        snapshot: Holds the patients.
        synthetic: Whether made-up patients count too: they say nothing of real ones that the annotations do not.
        weights: What patients are worth; those of the ranker's weights by default.
    """

    def __init__(
        self, ranker: Ranker, snapshot: Snapshot, *, synthetic: bool = False, weights: PatientWeights | None = None
    ) -> None:
        self.weights = weights or ranker.weights.patients
        self.basis, self._names, self._snapshot = ranker.model.basis, ranker.names, snapshot
        self._frequency, self._size = ranker.model.columns.frequency, ranker.model.columns.size
        folder = compile_bank(ranker, snapshot, synthetic=synthetic)
        self.candidate, self._rows = (mapped(folder / f"{name}.npy") for name in ("candidate", "rows"))
        self._columns: Columns = read_part(Columns, folder, "")
        self.diseases, self.place = np.unique(self.candidate, return_inverse=True)
        on = {name: scorer.on(self._columns) for name, scorer in ranker.scorers.items()}
        self._nearest = Coverage(ranker.model, {}, self._columns)
        self._similar, self._stated = Recent[int, Floats](NEAREST), Recent[int, Floats](NEAREST)
        self._scorers = {name: scorer for name, scorer in on.items() if scorer is not None}
        self._personal = {name: scorer for name, scorer in ranker.scorers.items() if isinstance(scorer, ByPerson)}

    @property
    def size(self) -> int:
        return len(self.candidate)

    @cached_property
    def ids(self) -> list[str]:
        return [str(each) for each in self._column("id")]

    @cached_property
    def publications(self) -> list[tuple[str, ...]]:
        return [tuple(each) for each in self._column("publications")]

    def _column(self, name: str) -> list[Any]:
        values = self._snapshot.values("patient_case", name).values()
        return [values[row] for row in self._rows.tolist()]

    @cached_property
    def _reported(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for number, (id, label, papers) in enumerate(
            zip(self.ids, self._column("label"), self.publications, strict=True)
        ):
            for name in {id, label, *papers} - {None}:
                found[name].append(number)
        return found

    def has(self, candidate: int, leave_out: frozenset[str]) -> bool:
        """Return whether the bank has a patient of the candidate that nothing in ``leave_out`` names."""
        return bool((self.used(leave_out) & (self.candidate == candidate)).any())

    def match(self, scored: Scored, leave_out: frozenset[str] = frozenset()) -> Matched:
        """Score every patient as if it were a disease.

        Args:
            scored: The case; on its scales the patients are standardised.
            leave_out: Publications, and ids or labels of patients, that do not count.
        """
        query, used = scored.query, self.used(leave_out)
        count = np.bincount(self.place[used], minlength=len(self.diseases))
        sharing, update = np.zeros(self.size, bool), np.zeros(len(self.diseases), np.float32)
        for term in query.observed.tolist():
            having = self._columns.frequency.columns(term)
            sharing[having] = True
            scale = np.float32(OWN_SHARE / BACKGROUND_SHARE / self.basis.background[term])
            stated = self._stated.get(term, partial(self._stated_of, term))
            also = np.bincount(self.place[having[used[having]]], minlength=len(self.diseases))
            known = self.weights.annotations
            rates = (known * stated + also) / (known + count)
            update += np.maximum(np.log1p(scale * rates) - np.log1p(scale * stated), 0)
        update /= max(len(query.observed), 1)
        value = self.scores(query, scored.scales)
        return Matched(self, query, np.where(used & sharing, value, -np.inf), count, update)

    def _stated_of(self, term: int) -> Floats:
        stated: Floats = dense(*self._frequency.row(term), self._size)[self.diseases]
        return stated

    def scores(self, query: Query, scales: Mapping[str, ScorerScale]) -> Floats:
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

    def similar(self, term: int) -> Floats:
        """Return each patient's similarity to a finding, that of the nearest of the patient's own; shape (patients,).

        It is what :class:`~kgdx.rank.scorers.Coverage` compares by, from 0 to 1; computed once and kept.
        """
        return self._similar.get(term, lambda: self._nearest.row(term) / max(float(self.basis.ic[term]), 1e-9))

    def used(self, leave_out: frozenset[str]) -> Ints:
        """Return which patients count where some publications and ids do not; shape (patients,)."""
        used = np.ones(self.size, bool)
        for name in leave_out:
            used[self._reported.get(name, [])] = False
        return used


def compile_bank(ranker: Ranker, snapshot: Snapshot, *, synthetic: bool = False) -> Path:
    """Compute the arrays of a snapshot's patients with one diagnosis that is ranked, once; return their folder."""
    made_up, stated = (snapshot.values("patient_case", name).values() for name in ("synthetic", "diseases"))
    if not made_up or (all(made_up) and not synthetic):
        raise _no_patient()

    def write(folder: Path) -> None:
        numbers = [{ranker.number_of(id) for id in diseases} - {-1} for diseases in stated]
        known = np.array(
            [len(each) == 1 and (synthetic or not made) for each, made in zip(numbers, made_up, strict=True)], bool
        )
        rows = np.flatnonzero(known)
        if not len(rows):
            raise _no_patient()
        basis, terms = ranker.model.basis, len(ranker.model.basis.ic)
        case, term = (snapshot.column("observed", end) for end in ("case", "phenotype"))
        use = known[case] & (np.diff(basis.up.start) > 0)[term]
        number = np.cumsum(known) - 1
        keys = np.unique(number[case[use]].astype(np.int64) * terms + term[use])
        patient, found = (part.astype(np.int32) for part in np.divmod(keys, terms))
        annotations = Annotations(patient, found, np.ones(len(keys), np.float32))
        lacking = Annotations(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))
        write_part(columns(annotations, lacking, propagate(annotations, basis.up), basis, len(rows)), folder, "")
        np.save(folder / "rows.npy", rows.astype(np.int32), allow_pickle=False)
        candidate = np.array([next(iter(numbers[row])) for row in rows.tolist()], np.int64)
        np.save(folder / "candidate.npy", candidate, allow_pickle=False)

    return snapshot.derived("patients-made-up" if synthetic else "patients", f"{MODEL}.{VERSION}", write)


def _no_patient() -> StoreError:
    hint = "load some with `kgdx build hp hpoa genes phenopackets=FILE`"
    return StoreError("the graph holds no patient case with a diagnosis to match with", hint=hint)


def compile_if_annotated(snapshot: Snapshot) -> Path | None:
    """Compile the model and what its scorers need with the build; nothing for a graph that describes no disease."""
    if not snapshot.rows("has_phenotype") and not snapshot.rows("has_symptom"):
        return None
    ranker = Ranker.open(snapshot)
    with suppress(StoreError):  # of a graph without patients
        compile_bank(ranker, snapshot)
    names_found(snapshot)
    return compile_model(snapshot)
