"""The scorer of a random walk: from a patient's findings to diseases, on to what else those have, and back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from kgdx.arrays.sparse import Floats
from kgdx.rank.meanings import MeaningScorer, vectors_of
from kgdx.rank.query import Query
from kgdx.rank.scorers import Scorer

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel

RESTART, STEPS = 0.4, 6
NEIGHBOURS, SHARPNESS = 10, 20.0
"""Symptoms in words that a phrase begins at, and how fast their shares fall with the cosine."""
_LEAST = 1e-9


class Walk(Scorer):
    """How often a walk with restart from the patient's findings is at the disease, as a logarithm.

    x ← .4 x₀ + .6 A B x, six steps, B from a symptom or term to the diseases that have it, A from a disease to what it
    has, by frequency (Tong, Faloutsos and Pan, ICDM 2006). x₀ begins at the terms of the case, and for a phrase at the
    ten symptoms that are nearest in meaning, by e^(20 cos).
    """

    name: ClassVar[str] = "walk"

    def __init__(self, model: RankModel, arrays: Mapping[str, Floats]) -> None:
        super().__init__(model, arrays)
        self.size, self._terms = len(model.curated), len(model.basis.ic)

    @classmethod
    def open(cls, snapshot: Snapshot, model: RankModel, version: str) -> Self:
        return cls(model, MeaningScorer.open(snapshot, model, version).arrays)

    @property
    def heard(self) -> int:
        return int(np.count_nonzero(np.diff(self.arrays["first"]))) if "first" in self.arrays else 0

    def knows(self, query: Query) -> bool:
        return "vectors" in self.arrays and bool(query.english)

    def score(self, query: Query) -> Floats:
        away, back = self._ways
        start = self._start(query)
        at = start
        for _ in range(STEPS):
            at = RESTART * start + (1 - RESTART) * (back @ (away @ at))
        score: Floats = np.log(np.asarray(away @ at) + _LEAST).astype(np.float32)
        return score

    @cached_property
    def _ways(self) -> tuple[Any, Any]:
        from scipy import sparse

        has = sparse.csr_array(self.model.propagated.array(self._terms), dtype=np.float32)
        if "vectors" in self.arrays:
            row, first = (np.asarray(self.arrays[name]) for name in ("row", "first"))
            shape = self.size, len(self.arrays["vectors"])
            listed = sparse.csr_array((np.ones(len(row), np.float32), row, first), shape=shape)
            has = sparse.hstack([has, listed], format="csr")
        return _by_column(has), _by_column(has.T.tocsr())

    def _start(self, query: Query) -> Floats:
        start = np.zeros(self._ways[0].shape[1], np.float32)
        start[query.observed] = 1
        if query.english and "vectors" in self.arrays:
            cosines = vectors_of(query.english) @ self.arrays["vectors"].T
            count = min(NEIGHBOURS, cosines.shape[1])
            nearest = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
            share = np.exp(SHARPNESS * (np.take_along_axis(cosines, nearest, axis=1) - 1))
            share /= share.sum(axis=1, keepdims=True)
            np.add.at(start, self._terms + nearest.ravel(), share.ravel())
        return start / max(float(start.sum()), _LEAST)


def _by_column(matrix: Any) -> Any:
    from scipy import sparse

    total = np.asarray(matrix.sum(axis=0)).ravel()
    return (matrix @ sparse.diags_array(1 / np.maximum(total, _LEAST))).astype(np.float32)
