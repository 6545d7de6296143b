"""A correction for hubs: candidates that score well whatever the patient has.

In spaces of many dimensions some points are near neighbours of very many others (Radovanović et al., JMLR 2010); in
retrieval it helps to take from a score what its object gets from any query (as inverted softmax does, Smith et al.,
ICLR 2017). What a candidate gets from any query is measured on simulated patients, so that no diagnosis is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kgdx.arrays.sparse import Floats
from kgdx.rank.fusion import Weights, fused, scale
from kgdx.rank.query import Query
from kgdx.rank.scorers import SCORERS, Scorer

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel

PARTS = ("likelihood", "coverage", "typicality")
"""The scorers whose sum is corrected, as kgdx weighs them."""
QUERIES = 300
"""Simulated patients; twice as many give the same figures (correlation of .995)."""
LEAST_ANNOTATIONS = 3
"""Diseases with fewer are not simulated."""
MEAN_FINDINGS = 7.0
"""A simulated patient has 1 + Poisson(7) findings, as far as its disease is annotated with so many."""
IMPRECISION = 0.3
"""Share of findings that give way to a random ancestor."""
LEAST_IC = 0.2
"""Findings below this information content are dropped."""


class Hub(Scorer):
    """What a candidate scores whatever the patient has, taken away.

    s(d) = −(mean over simulated patients of other diseases of the fused score of d), against the mean of all curated
    candidates; 0 for one that is described in words alone, of whose patients the simulated ones say nothing.
    """

    name: ClassVar[str] = "hub"
    whole: ClassVar[bool] = False
    standardised: ClassVar[bool] = False
    steady: ClassVar[bool] = True
    rest: ClassVar[str] = "hub"

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        weights = Weights.read()
        parts = {name: SCORERS.get(name)(model, {}) for name in PARTS}
        size = model.columns.size
        total, count = np.zeros(size), np.zeros(size)
        for disease, query in simulated(model):
            values = {name: scorer.score(query) for name, scorer in parts.items()}
            scales = {
                name: scale(parts[name], value, weights.of(name), size, parts[name].field(query))
                for name, value in values.items()
            }
            found = fused(values, scales)
            found[disease] = 0
            total += found
            count += 1
            count[disease] -= 1
        mean = total / np.maximum(count, 1)
        score = np.where(model.curated, mean[model.curated].mean() - mean, 0) if model.curated.any() else 0 * mean
        return {"score": score.astype(np.float32)}

    def speaks(self, query: Query) -> bool:
        return len(query.observed) > 0

    def score(self, query: Query) -> Floats:
        return self.arrays["score"]


def simulated(model: RankModel, count: int = QUERIES, seed: int = 0) -> Iterator[tuple[int, Query]]:
    """Yield patients with the disease that each is made of: its terms, drawn by frequency, some of them imprecise."""
    made = np.random.default_rng(seed)
    annotated, basis = model.columns.annotated, model.basis
    described = np.flatnonzero(model.curated & (np.diff(annotated.start) >= LEAST_ANNOTATIONS))
    if not len(described):
        return
    none = np.zeros(0, np.int64)
    for disease in made.choice(described, count, replace=len(described) < count).tolist():
        terms, frequency = annotated.row(disease)
        findings = min(1 + int(made.poisson(MEAN_FINDINGS)), len(terms))
        share = frequency.astype(float) / frequency.sum(dtype=float)
        drawn = made.choice(terms, findings, replace=False, p=share)
        stated = dict.fromkeys(
            int(made.choice(basis.up.columns(term))) if made.random() < IMPRECISION else term for term in drawn.tolist()
        )
        if kept := [term for term in stated if basis.ic[term] > LEAST_IC]:
            yield disease, Query(np.array(kept, np.int64), none)
