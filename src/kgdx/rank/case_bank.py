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

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, mapped
from kgdx.errors import StoreError
from kgdx.rank.annotations import Annotations
from kgdx.rank.feature_matrices import BACKGROUND_SHARE, OWN_SHARE, Columns, among, columns, propagate
from kgdx.rank.fusion import PatientWeights, fused
from kgdx.rank.gates import diseases_found
from kgdx.rank.person_scorer import ByPerson
from kgdx.rank.query import Query
from kgdx.rank.ranker import Ranker
from kgdx.rank.ranking_model import VERSION as MODEL
from kgdx.rank.ranking_model import compile_model, read_part, write_part
from kgdx.rank.term_scorers import ROWS, ByFinding, dense
from kgdx.results.ranked import MatchedCase, Raised

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.fusion import Scored

VERSION = 1
"""Changes when the compiled arrays do."""
GAIN = 1e-4
"""A score that a patient raises by less was not raised but rounded."""
ALIKE = 3
"""How many patients of a disease count, and are named."""


@dataclass(frozen=True, slots=True)
class Matched:
    """How well the patients of a bank match one query.

    ``value`` is the score of each patient, −∞ for those left out, and for those that share no finding, ``coverage`` how
    well it covers the findings; ``count`` how many patients of each disease of the bank count, and ``update`` its u.
    """

    bank: CaseBank
    query: Query
    value: Floats
    count: Ints
    update: Floats
    coverage: Floats

    def raised(self, total: Floats) -> Floats:
        """Return the candidates' scores together with their patients'; none is lowered."""
        bank, weights = self.bank, self.bank.weights
        there, nearest = bank.nearest(self.value.astype(np.float64))
        own = total[bank.diseases[there]].astype(np.float64) + weights.update * self.update[there]
        most = np.maximum(own, nearest[0])
        share, crowd = np.exp((own - most) / weights.pooling), (1.0 + self.count[there]) ** -weights.crowding
        for value in nearest:
            share += np.exp((value - most) / weights.pooling) * crowd
        raised = total.copy()
        raised[bank.diseases[there]] = most + weights.pooling * np.log(share)
        return raised

    def told(self, nearest: Sequence[Ints], gains: Sequence[float]) -> list[Raised]:
        """Return of each candidate its most similar patients, as :meth:`nearest` gives them, and what they add."""
        bank, alike = self.bank, [patients[:ALIKE] for patients in nearest]
        shared = dict(zip(known := np.concatenate(alike).tolist(), bank.shared(self.query, known), strict=True))
        found = []
        for gain, patients in zip(gains, alike, strict=True):
            cases = tuple(
                MatchedCase(bank.ids[each], float(self.value[each]), shared[each], bank.publications[each])
                for each in patients.tolist()
            )
            found.append((cases, gain if cases and gain > GAIN else 0.0))
        return found

    def nearest(self, candidate: int) -> Ints:
        """Return the patients of a candidate that share a finding with the query, the most similar first."""
        patients = self.bank.of(candidate)
        patients = patients[np.isfinite(self.value[patients])]
        nearest: Ints = patients[np.argsort(-self.value[patients], kind="stable")]
        return nearest

    def covered(self, nearest: Iterable[Ints]) -> list[float]:
        return [float(self.coverage[patients[0]]) if len(patients) else 0.0 for patients in nearest]


class CaseBank:
    """Diagnosed patients of a snapshot, ready to be matched with a query.

    Where ``synthetic``, made-up patients count too: they say nothing of real ones that the annotations do not.
    """

    def __init__(
        self, ranker: Ranker, snapshot: Snapshot, *, synthetic: bool = False, weights: PatientWeights | None = None
    ) -> None:
        self.weights = weights or ranker.weights.patients
        self.basis, self._names, self._snapshot = ranker.model.basis, ranker.names, snapshot
        self._frequency, self._size = ranker.model.columns.frequency, ranker.model.columns.size
        folder = compile_bank(ranker, snapshot, synthetic=synthetic)
        try:
            self.candidate, self._rows = (mapped(folder / f"{name}.npy") for name in ("candidate", "rows"))
            self._columns: Columns = read_part(Columns, folder, "")
        except (OSError, EOFError, ValueError) as error:
            hint = "build the graph again with `kgdx build`"
            raise StoreError(f"the arrays of patients in {folder} cannot be read ({error})", hint=hint) from error
        self.diseases, self.place = np.unique(self.candidate, return_inverse=True)
        on = {name: scorer.on(self._columns) for name, scorer in ranker.scorers.items()}
        self._by_candidate = np.argsort(self.candidate, kind="stable")
        self._ordered, self._placed = self.candidate[self._by_candidate], self.place[self._by_candidate]
        self._many = np.bincount(self.place)
        self._told = lru_cache(ROWS)(self._told_of)
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
        return bool((self.used(leave_out) & (self.candidate == candidate)).any())

    def nearest(self, value: Floats) -> tuple[Ints, list[Floats]]:
        """Return the diseases with patients of finite value, and of each the greatest, the next one, −∞ for none."""
        value = value[self._by_candidate]
        finite = np.flatnonzero(np.isfinite(value))
        value, placed, nearest = value[finite], self._placed[finite], list[Floats]()
        begin = np.flatnonzero(np.diff(placed, prepend=-1))
        many = np.diff(begin, append=len(placed))
        for _ in range(ALIKE if len(begin) else 0):
            nearest.append(np.maximum.reduceat(value, begin))
            found = np.flatnonzero(value == np.repeat(nearest[-1], many))
            value[found[np.diff(placed[found], prepend=-1) != 0]] = -np.inf
        return placed[begin], nearest or [np.zeros(0)]

    def match(self, scored: Scored, leave_out: frozenset[str] = frozenset()) -> Matched:
        query, used = scored.query, self.used(leave_out)
        left, known = np.flatnonzero(~used), self.weights.annotations
        count = self._many - np.bincount(self.place[left], minlength=len(self.diseases))
        sharing, update = np.zeros(self.size, bool), np.zeros(len(self.diseases), np.float32)
        told = [self._told(term) for term in query.observed.tolist()]
        if told:
            having, scale, stated, before, at, also = (np.concatenate(each) for each in zip(*told, strict=True))
            sharing[having] = True
            ends = np.cumsum([len(each[4]) for each in told]).tolist()
            for (own, *_, of, _), end in zip(told, ends, strict=True):
                if len(gone := self.place[left[among(left, own)]]):
                    also[end - len(of) : end] -= np.bincount(np.searchsorted(of, gone), minlength=len(of))
            # only where one of its patients has it is a finding more frequent in a disease than stated
            more = np.maximum(np.log1p(scale * ((known * stated + also) / (known + count[at]))) - before, 0)
            for (*_, of, _), end in zip(told, ends, strict=True):
                update[of] += more[end - len(of) : end]
            update /= len(told)
        values = {
            name: scorer.finish(scored.combined[name], query)
            if isinstance(scorer, ByFinding) and scorer.of_terms and name in scored.combined
            else scorer.score(query)
            for name, scorer in self._scorers.items()
        }
        value = fused(values, scored.scales)
        for name in filter(self._personal.__contains__, scored.scales):
            # what the person says of a disease, its patients share
            value += scored.scales[name].part(self._personal[name].score(query))[self.candidate]
        coverage = values.get("coverage", np.zeros(self.size, np.float32))
        return Matched(self, query, np.where(used & sharing, value, -np.inf), count, update, coverage)

    def of(self, candidate: int) -> Ints:
        begin, end = self._ordered.searchsorted((candidate, candidate + 1))
        return self._by_candidate[begin:end]

    def _told_of(self, term: int) -> tuple[Any, ...]:
        having = self._columns.frequency.columns(term)
        at, also = np.unique(self.place[having], return_counts=True)
        stated = dense(*self._frequency.row(term), self._size)[self.diseases[at]]
        scale = np.float32(OWN_SHARE / BACKGROUND_SHARE / self.basis.background[term])
        return having, np.full(len(at), scale), stated, np.log1p(scale * stated), at, also

    def shared(self, query: Query, patients: Sequence[int]) -> list[tuple[str, ...]]:
        """Return ids of the query's present findings that patients have, or have something more specific of."""
        terms, given = query.observed.tolist(), np.array(patients, np.int64)
        having = np.zeros((len(terms), len(given)), bool)
        for place, term in enumerate(terms):
            having[place] = among(given, self._columns.frequency.columns(term))
        ids = [self._names.term(term) for term in terms]
        return [tuple(itertools.compress(ids, has)) for has in having.T.tolist()]

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
    diseases_found(snapshot)
    return compile_model(snapshot)
