"""The matrices that scorers read: propagated frequencies, likelihood ratios, least information content.

They are computed for all candidates when the model is compiled, and in the same way for a few columns at a time: for a
disease without one publication's annotations (evaluation) and for other patients (case bank).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, Sparse, compressed, gather
from kgdx.rank.annotations import Annotations

LEAST_FREQUENCY = 0.02
MOST_FREQUENCY = 0.98
"""Bounds of a propagated frequency: no annotation makes a finding certain, none makes it negligible."""
OWN_SHARE = 0.8
BACKGROUND_SHARE = 0.2
"""Mixture of a patient's findings: the disease's own phenotypes, and what any patient may have besides."""
FAINT = 0.05
"""Neighbours' ratios below this are dropped: they would move a finding's log-likelihood by less than a quarter."""
MOST_ABSENT = 1.0
"""Bound of what one annotated-absent finding takes away, in natural log units."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What is known of each term; shapes (terms,).

    Attributes:
        up: Term → its ancestors and itself, within Phenotypic abnormality.
        down: Term → its descendants and itself.
        ic: Information content −ln(share of candidates with the term), Resnik 1995.
        background: Mean frequency of the term over all candidates.
    """

    up: Sparse
    down: Sparse
    ic: Floats
    background: Floats


@dataclass(frozen=True, slots=True)
class Columns:
    """What is known of each candidate; sparse matrices are (terms × candidates).

    Attributes:
        frequency: Propagated frequency.
        least: Least information content among the candidate's annotations at or below the term (for each
            entry of ``frequency``).
        ratio: Log-likelihood ratio of the finding above that of a candidate of which nothing is known.
        breadth: ln(1 + expected number of annotated phenotypes); shape (candidates,).
        annotated: Candidate → annotated terms, with their frequencies.
        weight: Share of each annotation in its candidate's typical picture; shape (annotations,).
        lacking: Candidate → terms annotated as absent.
    """

    frequency: Sparse
    least: Floats
    ratio: Sparse
    breadth: Floats
    annotated: Sparse
    weight: Floats
    lacking: Sparse

    @property
    def size(self) -> int:
        """Number of candidates."""
        return len(self.breadth)


@dataclass(frozen=True, slots=True)
class Propagated:
    """Annotations carried up to all ancestors, one entry per candidate and term, sorted by candidate and term."""

    candidate: Ints
    term: Ints
    frequency: Floats
    owner: Ints
    order: Ints
    first: Ints

    def least(self, ic: Floats, annotated: Ints) -> Floats:
        """Return for each entry the least information content of the annotations below it."""
        least: Floats = np.minimum.reduceat(ic[annotated][self.owner][self.order], self.first)
        return least


def propagate(annotations: Annotations, up: Sparse) -> Propagated:
    """Carry frequencies up the ontology: f(a) = max over annotated terms at or below a, clipped.

    Args:
        annotations: Sorted by candidate and term.
        up: Term → ancestors and itself.
    """
    position, owner = gather(up.start, annotations.term)
    terms = np.int64(len(up.start) - 1)
    key = annotations.candidate[owner] * terms + up.index[position]
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.r_[True, key[1:] != key[:-1]]) if len(key) else np.zeros(0, int)
    highest = np.maximum.reduceat(annotations.frequency[owner][order], first) if len(key) else np.zeros(0, np.float32)
    frequency = np.clip(highest, LEAST_FREQUENCY, MOST_FREQUENCY).astype(np.float32)
    found = key[first]
    return Propagated(
        (found // terms).astype(np.int32), (found % terms).astype(np.int32), frequency, owner, order, first
    )


def by_row(propagated: Propagated, size: int) -> Sparse:
    """Return propagated frequencies as candidates × terms."""
    start = np.zeros(size + 1, np.int32)
    np.cumsum(np.bincount(propagated.candidate, minlength=size), out=start[1:])
    return Sparse(start, propagated.term, propagated.frequency)


def term_statistics(propagated: Propagated, terms: int, size: int) -> tuple[Floats, Floats]:
    """Return each term's information content and background frequency among ``size`` candidates."""
    having = np.bincount(propagated.term, minlength=terms)
    ic = -np.log(np.maximum(having, 0.5) / size)
    background = np.bincount(propagated.term, propagated.frequency, terms) / size
    return ic.astype(np.float32), np.maximum(background, 0.25 / size).astype(np.float32)


def columns(
    annotations: Annotations,
    lacking: Annotations,
    propagated: Propagated,
    basis: Basis,
    size: int,
    smoothing: Any = None,
) -> Columns:
    """Compute the matrices of ``size`` candidates.

    The ratio of a finding t in a candidate d is ln(x / β) with
    x = (λ f(t,d) + Σ_e w(d,e) f(t,e)) / bg(t) + β, λ = OWN_SHARE, β = BACKGROUND_SHARE and w the neighbours' shares:
    Jelinek–Mercer smoothing (Zhai and Lafferty, TOIS 2004) of the naive Bayes likelihood against the background.

    Args:
        annotations: What candidates have, sorted by candidate and term.
        lacking: What they are annotated not to have.
        propagated: ``annotations`` carried up.
        basis: The terms.
        size: Number of candidates.
        smoothing: Neighbours' weighted frequencies, a sparse array (candidates × terms), if there are any.
    """
    terms = len(basis.ic)
    by_candidate = by_row(propagated, size)
    narrow = np.uint16 if size <= np.iinfo(np.uint16).max else np.int32
    order = np.lexsort((propagated.candidate, propagated.term))
    start = np.zeros(terms + 1, np.int32)
    np.cumsum(np.bincount(propagated.term, minlength=terms), out=start[1:])
    entries = propagated.candidate[order].astype(narrow)
    annotated = compressed(annotations.candidate, annotations.term, annotations.frequency, size)
    weight = basis.ic[annotations.term] * np.sqrt(annotations.frequency)
    total = np.bincount(annotations.candidate, weight, size)
    expected = np.bincount(annotations.candidate, annotations.frequency, size)
    return Columns(
        frequency=Sparse(start, entries, propagated.frequency[order].astype(np.float16)),
        least=propagated.least(basis.ic, annotations.term)[order],
        ratio=_ratio(by_candidate, lacking, basis, smoothing, narrow),
        breadth=np.log1p(expected).astype(np.float32),
        annotated=annotated,
        weight=(weight / np.maximum(total, 1e-9)[annotations.candidate]).astype(np.float32),
        lacking=compressed(lacking.candidate, lacking.term, lacking.frequency, size),
    )


def _ratio(frequency: Sparse, lacking: Annotations, basis: Basis, smoothing: Any, narrow: type) -> Sparse:
    from scipy import sparse

    shape = len(frequency.start) - 1, len(basis.ic)
    scale = (1 / basis.background).astype(np.float32)
    total = sparse.csr_array((OWN_SHARE * frequency.values, frequency.index, frequency.start), shape=shape)
    total.data *= scale[total.indices]
    if smoothing is not None:
        extra = smoothing.tocsr()
        extra.data = extra.data * scale[extra.indices]
        extra.data[extra.data < FAINT] = 0
        extra.eliminate_zeros()
        total = total + extra
    total.data = np.log1p(total.data / BACKGROUND_SHARE).astype(np.float32)
    if len(lacking.term):
        total = total + _absent(frequency, lacking, basis, shape)
    by_term = total.T.tocsr()
    by_term.sort_indices()
    return Sparse(by_term.indptr, by_term.indices.astype(narrow), by_term.data.astype(np.float16))


def _absent(frequency: Sparse, lacking: Annotations, basis: Basis, shape: tuple[int, int]) -> Any:
    """What is taken from annotated-absent terms and those below them, but for what the candidate has after all."""
    from scipy import sparse

    position, owner = gather(basis.down.start, lacking.term)
    candidate, term = lacking.candidate[owner].astype(np.int64), basis.down.index[position]
    has = np.repeat(np.arange(shape[0]), np.diff(frequency.start)).astype(np.int64) * shape[1] + frequency.index
    key, first = np.unique(candidate * shape[1] + term, return_index=True)
    place = np.minimum(np.searchsorted(has, key), len(has) - 1)
    free = has[place] != key if len(has) else np.ones(len(key), bool)
    value = np.maximum(np.log(lacking.frequency[owner[first[free]]]), -MOST_ABSENT)
    return sparse.csr_array((value, (key[free] // shape[1], key[free] % shape[1])), shape=shape, dtype=np.float32)
