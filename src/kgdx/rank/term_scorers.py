"""The scorers of phenotype terms: one row a finding is combined, whatever the order and the number of findings.

What a patient is known not to have takes away a little for any finding, much for what a disease always has, and never
speaks for a disease: tables of cohorts exclude for one patient what belongs to the disease of all, so that benchmarks
would teach the opposite.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, Sparse, gather, transposed
from kgdx.case.patient import Status
from kgdx.rank.feature_matrices import Basis, Columns
from kgdx.rank.query import Field, Query
from kgdx.rank.scorers import Scorer

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel

BREADTH = 0.1
"""Weight of the correction for broadly annotated candidates in the likelihood."""
SPECIFIC = 1.5
"""Information content from which an ancestor makes two terms below it alike: both being endocrine says nothing."""
ROWS = 640
"""Rows that a scorer keeps, one a term: with 12,000 candidates 40 kB where most values are not 0, else 1 to 15 kB."""
SIMILAR = 8192
"""The same of similarities and of what is absent, of which one takes two kilobytes."""
FEW = 8
"""Candidates that are looked up in a row one by one, where it has more than so many times as many values."""
SPARSE = 4
"""A row of which no more than one value in so many is not 0 is kept as these alone."""


class KeptRow(NamedTuple):
    """A finding's row: all its values, or those at some places, ascending, where the others are 0."""

    places: Ints | None
    values: Floats

    @classmethod
    def of(cls, row: Floats) -> KeptRow:
        places = np.flatnonzero(row != 0)  # a comparison is four times as fast
        return cls(None, row) if len(places) * SPARSE > len(row) else cls(places, row[places])

    def mean(self, size: int) -> np.float32:
        row = self.values if self.places is None else dense(self.places, self.values, size)
        return row.mean()  # type: ignore[no-any-return]


class ByFinding(Scorer):
    """A scorer that combines one row for each finding, in their order, and makes the score of what they come to.

    One more finding is one more row, so that a case is scored anew, in a batch, or on from an earlier one, with equal
    results to the last bit.
    """

    of_terms: ClassVar[bool] = False
    """Whether its rows are of terms, and so the same for other columns."""
    keeps: ClassVar[int] = ROWS
    joins: ClassVar[np.ufunc] = np.add
    """How rows are combined."""

    def __init__(self, model: RankModel, arrays: Mapping[str, Floats], columns: Columns | None = None) -> None:
        super().__init__(model, arrays)
        self.basis, self.columns, self.kept = model.basis, columns or model.columns, lru_cache(self.keeps)(self.row)
        self._mean = cache(lambda term: self.kept(term).mean(self.width()))
        annotated = np.diff(model.columns.annotated.start) > 0
        self._field = None if model.curated.all() else Field(model.curated, self._silent(~annotated))

    def field(self, query: Query) -> Field | None:
        return self._field

    def _silent(self, undescribed: Ints) -> Ints:
        return undescribed

    def on(self, columns: Columns) -> Self:
        return type(self)(self.model, self.arrays, columns)

    @abstractmethod
    def row(self, term: int) -> KeptRow:
        """Compute a finding's row; of as many values as there are candidates, or as :meth:`finish` takes."""

    @abstractmethod
    def finish(self, combined: Floats, query: Query) -> Floats:
        """Return the scores; shape (candidates,)."""

    def width(self) -> int:
        return self.columns.size

    def combined(self, query: Query, before: tuple[Query, Floats] | None = None) -> Floats:
        """Return the combined rows of all findings."""
        terms = query.terms(self.reads)
        done, known = 0, None
        if before is not None:
            earlier = before[0].terms(self.reads)
            if np.array_equal(earlier, terms[: len(earlier)]):
                done, known = len(earlier), before[1]
        if known is not None and done == len(terms):
            return known
        combined = np.zeros(self.width(), np.float32) if known is None else known.copy()
        for whole, rows in groupby(map(self.kept, terms[done:].tolist()), lambda row: row.places is None):
            if whole:
                for row in rows:
                    self.joins(combined, row.values, out=combined)
            else:  # at a place that several rows have, in their order
                places, values = zip(*rows, strict=True)
                self.joins.at(combined, np.concatenate(places), np.concatenate(values))
        return combined

    def score(self, query: Query) -> Floats:
        return self.finish(self.combined(query), query)

    def at(self, query: Query, candidates: Ints) -> Floats:
        """Return the findings' rows at some candidates; shape (findings, candidates given)."""
        rows = [self.kept(term) for term in query.terms(self.reads).tolist()]
        found, blank = np.empty((len(rows), len(candidates)), np.float32), np.zeros(self.width(), np.float32)
        for place, (places, values) in enumerate(rows):
            if places is None:
                found[place] = values[candidates]
            elif len(candidates) * FEW < len(places):
                at = places.searchsorted(candidates)
                found[place] = np.where(places.take(at, mode="clip") == candidates, values.take(at, mode="clip"), 0)
            else:
                blank[places] = values
                found[place] = blank[candidates]
                blank[places] = 0
        return found

    def beyond_mean(self, query: Query, candidates: Ints) -> Floats:
        """Return the findings' rows at some candidates, less each row's mean; shape (findings, candidates given)."""
        means = [self._mean(term) for term in query.terms(self.reads).tolist()]
        return self.at(query, candidates) - np.array(means, np.float32)[:, None]


class Likelihood(ByFinding):
    """Mean log-likelihood ratio of the present findings, less a correction for breadth.

    s(d) = 1/|Q| Σ_{t∈Q} ln(x(t,d)/β) − BREADTH ln(1 + Σ_u f(u,d)), with x as in
    :func:`kgdx.rank.feature_matrices.columns`.
    The last term is the length normalisation of the multinomial model, damped: a disease annotated with 200 phenotypes
    explains any patient a little.
    """

    name: ClassVar[str] = "likelihood"
    whole: ClassVar[bool] = False
    rest: ClassVar[str] = "breadth"

    def row(self, term: int) -> KeptRow:
        """Return the log-likelihood ratio of a finding in each candidate; below 0 where it is contrary to it."""
        row = dense(*self.columns.ratio.row(term), self.columns.size)
        index, value = self.columns.contrary.row(term)
        row[index] = value
        return KeptRow.of(row)

    def finish(self, combined: Floats, query: Query) -> Floats:
        if not len(query.observed):
            return np.zeros_like(combined)
        score: Floats = combined / np.float32(max(len(query.observed), 1)) - BREADTH * self.columns.breadth
        return score

    def explain(self, query: Query, candidates: Ints) -> Floats:
        return self.beyond_mean(query, candidates) / np.float32(max(len(query.observed), 1))


class Coverage(ByFinding):
    """How well the candidate's annotations cover the findings: best-match average, weighted by information content.

    s(d) = Σ_t IC(t) max_u sim(t,u) / Σ_t IC(t) over findings t and annotations u, with the relevance similarity
    sim(t,u) = 2 IC(a) / (IC(t) + IC(u)) · (1 − e^−IC(a)), a their most informative common ancestor (Schlicker et al.,
    BMC Bioinformatics 2006).
    """

    name: ClassVar[str] = "coverage"
    whole: ClassVar[bool] = False

    def __init__(self, model: RankModel, arrays: Mapping[str, Floats], columns: Columns | None = None) -> None:
        super().__init__(model, arrays, columns)
        self._having: dict[int, tuple[Ints, Floats]] = {}

    def row(self, term: int) -> KeptRow:
        """Return IC(t) max_u sim(t,u) for each candidate.

        The maximum over annotations is one over the term's ancestors a, since below a the least informative annotation
        is the most similar one: max_a 2 IC(a) (1 − e^−IC(a)) / (IC(t) + least IC of the candidate's annotations below).
        """
        basis, best = self.basis, np.zeros(self.columns.size, np.float32)
        for ancestor in basis.up.columns(term).tolist():
            ic = basis.ic[ancestor]
            if ic <= 0:
                continue
            index, least = self._general(ancestor) if ic < min(SPECIFIC, basis.ic[term]) else self._below(ancestor)
            if len(index):
                best[index] = np.maximum(best[index], _relevance(ic) / (basis.ic[term] + least))
        best *= basis.ic[term]
        best[self.columns.contrary.columns(term)] = 0
        return KeptRow.of(best)

    def _below(self, ancestor: int) -> tuple[Ints, Floats]:
        frequency = self.columns.frequency
        begin, end = frequency.start[ancestor], frequency.start[ancestor + 1]
        return frequency.index[begin:end].astype(np.intp), self.columns.least[begin:end]

    def _general(self, ancestor: int) -> tuple[Ints, Floats]:
        found = self._having.get(ancestor)
        if found is None:
            index, least = self._below(ancestor)
            itself = least <= self.basis.ic[ancestor]
            found = self._having[ancestor] = index[itself], least[itself]
        return found

    def finish(self, combined: Floats, query: Query) -> Floats:
        return combined / self._weight(query)

    def explain(self, query: Query, candidates: Ints) -> Floats:
        return self.beyond_mean(query, candidates) / self._weight(query)

    def _weight(self, query: Query) -> np.float32:
        return np.float32(max(float(self.basis.ic[query.observed].sum()), 1e-9))


class Typicality(ByFinding):
    """How much of the candidate's typical picture the patient shows.

    s(d) = Σ_u w(u,d) max_t sim(u,t) over annotations u and findings t, with w ∝ IC(u) √f(u,d) summing to 1: the other
    direction of :class:`Coverage`. What a finding adds is the share of the annotations that it matches best.
    """

    name: ClassVar[str] = "typicality"
    whole: ClassVar[bool] = False
    of_terms: ClassVar[bool] = True
    keeps: ClassVar[int] = SIMILAR
    joins: ClassVar[np.ufunc] = np.maximum
    """The similarity of each term to the nearest finding is kept."""

    def __init__(self, model: RankModel, arrays: Mapping[str, Floats], columns: Columns | None = None) -> None:
        super().__init__(model, arrays, columns)
        of_others = columns is not None and columns is not model.columns
        of = by_term(self.columns, len(self.basis.ic)) if of_others or not arrays else arrays
        self._typical = Sparse(of["start"], of["index"], of["value"])
        self._length = np.diff(of["start"])
        self._annotated = np.flatnonzero(self._length)

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        return by_term(model.columns, len(model.basis.ic))

    def _silent(self, undescribed: Ints) -> Ints:
        return ~self.model.curated

    def on(self, columns: Columns) -> Self:
        other = super().on(columns)
        other.kept = self.kept
        return other

    def width(self) -> int:
        return len(self.basis.ic)

    def row(self, term: int) -> KeptRow:
        return KeptRow.of(similarity(self.basis, term))

    def finish(self, combined: Floats, query: Query) -> Floats:
        similar = combined.take(self._annotated)
        alike = self._annotated.compress(similar > 0)
        length = self._length.take(alike)
        position = np.repeat(self._typical.start.take(alike) - np.cumsum(length) + length, length)
        position += np.arange(len(position))
        weight = self._typical.values.take(position)
        weight *= np.repeat(combined.take(alike), length)
        return np.bincount(self._typical.index.take(position), weight, self.columns.size).astype(np.float32)

    def explain(self, query: Query, candidates: Ints) -> Floats:
        """Return the share of the annotations that are most similar to each finding; of equal ones the first has it."""
        annotated = self.columns.annotated
        position, owner = gather(annotated.start, candidates)
        similar = self.at(query, annotated.index[position])
        found = np.zeros((len(similar), len(candidates)), np.float32)
        if len(similar):
            nearest = similar.argmax(axis=0)
            value = self.columns.weight[position] * np.take_along_axis(similar, nearest[None], axis=0)[0]
            np.add.at(found, (nearest, owner), value)
        return found


def by_term(columns: Columns, terms: int) -> dict[str, Floats]:
    """Return the weights of annotations by their term: where each term begins, the candidates, and the weights."""
    annotated = columns.annotated
    of = transposed(Sparse(annotated.start, annotated.index, columns.weight), terms)
    return {"start": of.start.astype(np.int64), "index": of.index.astype(np.int64), "value": of.values}


def similarity(basis: Basis, term: int) -> Floats:
    """Return the relevance similarity of a term to every term (Schlicker et al. 2006); shape (terms,)."""
    common = np.zeros(len(basis.ic), np.float32)
    above = basis.up.columns(term)
    above = above[basis.ic[above] > 0]
    for ancestor in above[np.argsort(basis.ic[above], kind="stable")].tolist():  # the most informative comes last
        ic, below = basis.ic[ancestor], basis.down.columns(ancestor)
        alike = below if ic >= min(SPECIFIC, basis.ic[term]) else below[basis.ic[below] <= ic]
        common[alike] = _relevance(ic)
    for opposite in basis.opposite.columns(term).tolist():
        common[basis.down.columns(opposite)] = 0
    common /= np.maximum(basis.ic + basis.ic[term], np.float32(1e-9))
    return common


def _relevance(ic: Floats) -> Floats:
    numerator: Floats = 2 * ic * -np.expm1(-ic)
    return numerator


def dense(index: Ints, value: Floats, size: int) -> Floats:
    """Return a row of the length ``size`` with some values in it, and 0 elsewhere."""
    row = np.zeros(size, np.float32)
    row[index] = value
    return row


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
    keeps: ClassVar[int] = SIMILAR
    most: ClassVar[float] = EXCLUDED_MOST

    def tells(self, query: Query) -> bool:
        return len(query.excluded) > 0

    def penalty(self, frequency: Floats) -> Floats:
        value: Floats = np.log1p(-EXCLUDED_SHARE * frequency)
        return value

    def row(self, term: int) -> KeptRow:
        index, value = self.columns.frequency.row(term)
        penalty = self.penalty(value.astype(np.float32))
        there = penalty != 0
        return KeptRow(index[there].astype(np.intp), penalty[there])

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
