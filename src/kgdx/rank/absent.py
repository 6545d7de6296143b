"""What findings that a patient is known not to have take away: a little for any, much for what a disease always has.

Neither is ever in favour of a disease: tables of cohorts exclude for one patient what belongs to the disease of all, so
that benchmarks would teach the opposite.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.case.patient import Status
from kgdx.rank.feature_matrices import Columns
from kgdx.rank.query import Query
from kgdx.rank.term_scorers import ByFinding, dense

EXCLUDED_SHARE = 0.9
"""Reliability of an excluded finding: 1 − 0.9 f of the patients with the disease are like this one."""
EXCLUDED_MOST = 2.0
"""Bound of what all excluded findings together take away, in natural log units."""
OBLIGATE_FROM = 0.85
"""Pooled frequency from which a finding counts as near-obligate: no fewer than 14 patients, all of whom have it."""
OBLIGATE_FULL = 0.9
"""Pooled frequency from which its absence counts in full."""
OBLIGATE_MOST = 2.0
"""Bound of the number of absent near-obligate findings that count."""


class Excluded(ByFinding):
    """What excluded findings take away: bounded, since cohort tables exclude what belongs to the disease, too.

    s(d) = max(−EXCLUDED_MOST, Σ_t ln(1 − EXCLUDED_SHARE f(t,d))) over excluded findings t; where the bound is reached
    the findings share it in proportion.
    """

    name: ClassVar[str] = "excluded"
    whole: ClassVar[bool] = False
    reads: ClassVar[Status] = Status.ABSENT
    standardised: ClassVar[bool] = False
    most: ClassVar[float] = EXCLUDED_MOST

    def tells(self, query: Query) -> bool:
        return len(query.excluded) > 0

    def penalty(self, frequency: Floats) -> Floats:
        value: Floats = np.log1p(-EXCLUDED_SHARE * frequency)
        return value

    def row(self, term: int) -> Floats:
        index, value = self.columns.frequency.row(term)
        return dense(index, self.penalty(value.astype(np.float32)), self.columns.size)

    def finish(self, combined: Floats, query: Query) -> Floats:
        bounded: Floats = np.maximum(combined, np.float32(-self.most))
        return bounded

    def explain(self, query: Query, candidates: Ints) -> Floats:
        found = self.at(query, candidates)
        total = found.sum(axis=0)
        bounded = np.maximum(total, np.float32(-self.most))
        found *= np.divide(bounded, total, out=np.ones_like(total), where=total < 0)
        return found


class Obligate(Excluded):
    """What the absence of near-obligate findings takes away.

    s(d) = max(−OBLIGATE_MOST, −Σ_t g(f(t,d))) over excluded findings t, where g rises from 0 at OBLIGATE_FROM to 1 at
    OBLIGATE_FULL. The pooled frequency is drawn to a prior, so that only what many patients have, or what a source
    calls obligate, counts.
    """

    name: ClassVar[str] = "obligate"
    most: ClassVar[float] = OBLIGATE_MOST

    def on(self, columns: Columns) -> None:  # type: ignore[override]  # of no other columns is anything known
        """Return nothing: what one patient has, or lacks, is not obligate in anybody else."""

    def penalty(self, frequency: Floats) -> Floats:
        value: Floats = -np.clip((frequency - OBLIGATE_FROM) / (OBLIGATE_FULL - OBLIGATE_FROM), 0, 1)
        return value
