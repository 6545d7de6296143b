"""Ranks a disease as if one publication had never been curated: its annotations without that publication's rows.

Benchmark cases are often curated from the papers that the annotations cite. Taking a paper's rows out of its disease
for its own cases shows what is left without that short cut (a lower bound: nothing replaces the paper).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kgdx.arrays.sparse import Ints, Sparse
from kgdx.rank import neighbours
from kgdx.rank.annotations import Annotations, pooled, read_rows, with_groups
from kgdx.rank.feature_matrices import Columns, columns, propagate
from kgdx.rank.person_scorer import ByPerson

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.fusion import Scored
    from kgdx.rank.ranker import Ranker


@dataclass(frozen=True, slots=True)
class _Others:
    features: Any
    frequency: Any


class Withheld:
    """Recomputes single diseases without some publications."""

    def __init__(self, ranker: Ranker, snapshot: Snapshot) -> None:
        self._ranker, self._model = ranker, ranker.model
        self._rows = read_rows(snapshot)
        tables = (snapshot.table(name).column("reference") for name in ("has_phenotype", "lacks_phenotype"))
        self._references = [reference or "" for table in tables for reference in table.to_pylist()]
        candidates = self._model.candidates
        owner = candidates.entry[self._rows.disease]
        self._order = np.argsort(owner, kind="stable")
        self._start = np.searchsorted(owner[self._order], np.arange(len(candidates.members.start)))
        self._inside = np.diff(self._model.basis.up.start) > 0
        self._others = self._read_others()
        self._known: dict[tuple[int, frozenset[str]], Columns | None] = {}

    def cites(self, candidate: int, publications: frozenset[str]) -> bool:
        return any(self._cited(row, publications) for row in self._rows_of(candidate))

    def without(self, candidate: int, publications: frozenset[str]) -> Columns | None:
        """Return the candidate's column without the rows of ``publications``; ``None`` where nothing is left of it."""
        key = candidate, publications
        if key not in self._known:
            self._known[key] = self._compute(candidate, publications)
        return self._known[key]

    def score(self, scored: Scored, columns: Mapping[int, Columns]) -> Scored:
        """Return a case scored anew, some candidates by their recomputed columns where a scorer reads columns."""
        values = {name: value.copy() for name, value in scored.values.items()}
        for candidate, column in columns.items():
            for name, value in values.items():
                scorer = self._ranker.scorers[name]
                other = scorer.on(column)
                if other is not None:
                    value[candidate] = other.score(scored.query)[0]
                elif isinstance(scorer, ByPerson):
                    value[candidate] = 0  # its onset, inheritance and genes may be that publication's, too
        return self._ranker.scoring.fuse(scored.query, values, {})

    def _rows_of(self, candidate: int) -> Ints:
        rows: Ints = self._order[self._start[candidate] : self._start[candidate + 1]]
        return rows

    def _cited(self, row: int, publications: frozenset[str]) -> bool:
        return any(reference.strip() in publications for reference in self._references[row].split(";"))

    def _compute(self, candidate: int, publications: frozenset[str]) -> Columns | None:
        model, terms = self._model, len(self._model.basis.ic)
        kept = [row for row in self._rows_of(candidate).tolist() if not self._cited(row, publications)]
        annotations, lacking = self._pooled(candidate, np.array(kept, np.int64))
        if not len(annotations.term):
            return None
        annotations = self._inherited(annotations, candidate)
        propagated = propagate(annotations, model.basis.up)
        vector = np.zeros(terms, np.float32)
        vector[propagated.term] = propagated.frequency * model.basis.ic[propagated.term]
        index, share = neighbours.like(self._others.features, vector, candidate)
        lent = self._row(index, share) + self._row(*model.related.row(candidate))
        return columns(annotations, lacking, propagated, model.basis, 1, lent)

    def _pooled(self, entry: int, rows: Ints) -> tuple[Annotations, Annotations]:
        only = np.where(self._model.candidates.entry == entry, 0, -1)
        return pooled(self._rows.take(rows), only, self._inside)

    def _row(self, index: Ints, share: Any) -> Any:
        from scipy import sparse

        size = self._model.columns.size
        row = sparse.csr_array((share, index, np.array([0, len(index)])), shape=(1, size))
        return row @ self._others.frequency

    def _inherited(self, annotations: Annotations, candidate: int) -> Annotations:
        candidates = self._model.candidates
        groups = candidates.broad[candidates.narrow == candidate]
        parts = [annotations]
        for place, group in enumerate(groups.tolist(), start=1):
            own, _ = self._pooled(group, self._rows_of(group))
            parts.append(Annotations(np.full_like(own.candidate, place), own.term, own.frequency))
        joined = Annotations(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("candidate", "term", "frequency"))
        )
        broad = np.arange(1, len(groups) + 1)
        mixed = with_groups(joined, np.zeros_like(broad), broad, len(self._model.basis.ic))
        own = mixed.candidate == 0
        return Annotations(mixed.candidate[own], mixed.term[own], mixed.frequency[own])

    def _read_others(self) -> _Others:
        basis, by = self._model.basis, self._model.propagated
        value = by.values.astype(np.float32)
        term, candidate = by.index.astype(np.int32), np.repeat(np.arange(len(by.start) - 1), np.diff(by.start))
        shape = self._model.columns.size, len(basis.ic)
        features = neighbours.annotation_features(term, candidate, value * basis.ic[term], shape)
        return _Others(features, Sparse(by.start, term, value).array(len(basis.ic)))
