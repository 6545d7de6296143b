"""Other patients as evidence: a switch of its own, off by default.

Patients whose diagnosis the graph knows are scored like diseases, each finding certain; a disease then counts for the
better of its own score and its best patient's. A case is never matched with one of its own publication.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kgdx.rank.annotations import Annotations
from kgdx.rank.closure import Floats, Ints
from kgdx.rank.columns import columns, propagate
from kgdx.rank.fusion import fused, scale
from kgdx.rank.scorers import SCORERS, Query, Scores

if TYPE_CHECKING:
    from kgdx.rank.ranker import Ranker
    from kgdx.store.snapshot import Snapshot


class CaseBank:
    """Diagnosed patients of a snapshot, ready to be matched with a query.

    Args:
        ranker: Supplies the terms, and which candidate a diagnosis is.
        snapshot: Holds the patients.
    """

    def __init__(self, ranker: Ranker, snapshot: Snapshot) -> None:
        self._basis = ranker.model.basis
        diagnoses = snapshot.table("patient_case").column("diseases").to_pylist()
        publications = snapshot.table("patient_case").column("publications").to_pylist()
        numbers = [{ranker.number_of(id) for id in stated} - {-1} for stated in diagnoses]
        known = np.array([len(stated) == 1 for stated in numbers], bool)
        kept = np.flatnonzero(known)
        self.candidate = np.array([next(iter(numbers[row])) for row in kept], np.int64)
        self._publications = [frozenset(publications[row]) for row in kept]
        annotations = self._findings(snapshot, known)
        lacking = Annotations(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))
        propagated = propagate(annotations, self._basis.up)
        self._columns = columns(annotations, lacking, propagated, self._basis, len(kept))

    @property
    def size(self) -> int:
        """Number of patients."""
        return len(self.candidate)

    def has(self, candidate: int, leave_out: frozenset[str]) -> bool:
        """Return whether the bank has a patient of the candidate that no publication of ``leave_out`` reports."""
        return any(not self._publications[row] & leave_out for row in np.flatnonzero(self.candidate == candidate))

    def raise_scores(
        self, query: Query, scores: dict[str, Scores], total: Floats, leave_out: frozenset[str] = frozenset()
    ) -> Floats:
        """Return the candidates' scores, each at least that of its best patient.

        Args:
            query: The case.
            scores: The scorers' scores of the candidates: patients are standardised on their scale.
            total: Fused score of each candidate.
            leave_out: Publications whose patients do not count.
        """
        alone = Query(query.observed, query.excluded)
        patients = {name: SCORERS[name](self._columns, self._basis, alone) for name in scores}
        value = fused(patients, {name: scale(name, score) for name, score in scores.items()})
        use = np.array([not publications & leave_out for publications in self._publications], bool)
        raised = total.copy()
        np.maximum.at(raised, self.candidate[use], value[use])
        return raised

    def _findings(self, snapshot: Snapshot, known: Ints) -> Annotations:
        case, term = (snapshot.column("observed", end) for end in ("case", "phenotype"))
        use = known[case] & (np.diff(self._basis.up.start) > 0)[term]
        number = np.cumsum(known) - 1
        terms = len(self._basis.ic)
        keys = np.unique(number[case[use]].astype(np.int64) * terms + term[use])
        candidate, found = (part.astype(np.int32) for part in np.divmod(keys, terms))
        return Annotations(candidate, found, np.ones(len(keys), np.float32))
