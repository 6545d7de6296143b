"""The matrices that scorers read: propagated frequencies, likelihood ratios, least information content.

They are computed for all candidates when the model is compiled, and in the same way for a few columns at a time: for a
disease without one publication's annotations (evaluation) and for other patients (case bank).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, Sparse, compressed, gather
from kgdx.config.values import read_yaml
from kgdx.rank.annotations import GROUP_SHARE, Annotations
from kgdx.resources import resource

LEAST_FREQUENCY = 0.02
MOST_FREQUENCY = 0.98
"""Bounds of a propagated frequency: no annotation makes a finding certain, none makes it negligible."""
OWN_SHARE = 0.8
BACKGROUND_SHARE = 0.2
"""Mixture of a patient's findings: the disease's own phenotypes, and what any patient may have besides."""
FAINT = 0.05
"""Neighbours' ratios below this are dropped: they would move a finding's log-likelihood by less than a quarter."""
RELIABILITY = 0.9
"""Reliability of an annotated opposite: 1 − 0.9 f of the patients with the disease may have the finding."""
MOST_ABSENT = 1.0
"""Bound of what one finding takes away that is annotated as absent, or whose opposite is annotated, in log units."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What is known of each term; shapes (terms,).

    Attributes:
        up: Term → its ancestors and itself, within Phenotypic abnormality.
        down: Term → its descendants and itself.
        ic: Information content −ln(share of candidates with the term), Resnik 1995.
        background: Mean frequency of the term over all candidates.
        opposite: Term → the terms whose descendants are its opposites.
    """

    up: Sparse
    down: Sparse
    ic: Floats
    background: Floats
    opposite: Sparse


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
        contrary: Term → candidates that speak against it, since they are annotated with its opposite, or as not having
            it, with what that takes from the finding's log-likelihood.
    """

    frequency: Sparse
    least: Floats
    ratio: Sparse
    breadth: Floats
    annotated: Sparse
    weight: Floats
    lacking: Sparse
    contrary: Sparse

    @property
    def size(self) -> int:
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
        least: Floats = np.minimum.reduceat(ic[annotated][self.owner][self.order], self.first)
        return least


def propagate(annotations: Annotations, up: Sparse) -> Propagated:
    """Carry frequencies up the ontology: f(a) = max over annotated terms at or below a, clipped."""
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
    Jelinek–Mercer smoothing (Zhai and Lafferty, TOIS 2004) of the naive Bayes likelihood against the background. The
    neighbours' weighted frequencies are the sparse array ``smoothing`` (candidates × terms), if there are any.
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
        ratio=_ratio(by_candidate, basis, smoothing, narrow),
        breadth=np.log1p(expected).astype(np.float32),
        annotated=annotated,
        weight=(weight / np.maximum(total, 1e-9)[annotations.candidate]).astype(np.float32),
        lacking=compressed(lacking.candidate, lacking.term, lacking.frequency, size),
        contrary=_contrary(annotations, lacking, by_candidate, basis, narrow),
    )


def _ratio(frequency: Sparse, basis: Basis, smoothing: Any, narrow: type) -> Sparse:
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
    by_term = total.T.tocsr()
    by_term.sort_indices()
    return Sparse(by_term.indptr, by_term.indices.astype(narrow), by_term.data.astype(np.float16))


def _contrary(annotations: Annotations, lacking: Annotations, frequency: Sparse, basis: Basis, narrow: type) -> Sparse:
    terms, size = len(basis.ic), len(frequency.start) - 1
    position, owner = gather(basis.opposite.start, annotations.term)
    candidate = np.concatenate([annotations.candidate[owner], lacking.candidate]).astype(np.int64)
    top = np.concatenate([basis.opposite.index[position], lacking.term])
    opposed = np.log1p(-RELIABILITY * np.minimum(annotations.frequency[owner], 1))
    value = np.maximum(np.concatenate([opposed, np.log(lacking.frequency)]), -MOST_ABSENT)
    below, owner = gather(basis.down.start, top)
    key = basis.down.index[below] * np.int64(size) + candidate[owner]
    has = frequency.index * np.int64(size) + np.repeat(np.arange(size), np.diff(frequency.start))
    own = np.sort(has[frequency.values > GROUP_SHARE])  # what a broader group lends weighs less than what is stated
    stated = (owner >= len(position)) & (basis.down.index[below] == top[owner])
    free = ~among(key, np.sort(has)) | (stated & ~among(key, own))
    keys, first = np.unique(key[free], return_inverse=True)
    least = np.zeros(len(keys), np.float32)
    np.minimum.at(least, first, value[owner[free]])
    start = np.searchsorted(keys, np.arange(terms + 1, dtype=np.int64) * size).astype(np.int32)
    return Sparse(start, (keys % size).astype(narrow), least.astype(np.float16))


def among(values: Ints, ordered: Ints) -> Ints:
    """Return which values are among ascending ones."""
    if not len(ordered):
        return np.zeros(len(values), bool)
    found: Ints = ordered.take(np.searchsorted(ordered, values), mode="clip") == values
    return found


def named_opposites(ids: Sequence[str], names: Sequence[str | None]) -> list[tuple[int, int]]:
    """Return pairs of rows whose names differ by a pair of ``ranking/opposites.yaml``, or that it names by id."""
    table = read_yaml(resource("ranking", "opposites.yaml"))
    row = {id: at for at, id in enumerate(ids)}
    of_name = {name.lower(): at for at, name in enumerate(names) if name}
    found = {(row[one], row[other]): None for one, other in table["pairs"] if one in row and other in row}
    paired = re.compile("|".join(f"(?:{more})" for more, _ in table["parts"]))
    for name, at in of_name.items():
        if not paired.search(name) or any(part in name for part in table["unless"]):
            continue
        for more, less in table["parts"]:
            for place in re.finditer(more, name):
                other = of_name.get(name[: place.start()] + less + name[place.end() :])
                if other is not None:
                    found[at, other] = None
    return list(found)


def opposites(ids: Sequence[str], names: Sequence[str | None], up: Sparse) -> Sparse:
    """Return term → the terms whose descendants are its opposites: those paired with it or with an ancestor.

    A term below both of a pair is the opposite of neither.
    """
    terms = len(ids)
    pairs = [pair for pair in named_opposites(ids, names) if all(len(up.columns(each)) for each in pair)]
    ends = np.array([*pairs, *((other, one) for one, other in pairs)], np.int64).reshape(-1, 2)
    term = np.repeat(np.arange(terms), np.diff(up.start))
    order = np.argsort(ends[:, 0], kind="stable")
    start = np.searchsorted(ends[order, 0], np.arange(terms + 1))
    position, owner = gather(start, up.index)
    lower, other = term[owner], ends[order, 1][position]
    keys = np.unique(lower * np.int64(terms) + other)
    above = term * np.int64(terms) + up.index
    keys = keys[~np.isin(keys, above)]
    lower, other = keys // terms, keys % terms
    return compressed(lower, other.astype(np.int32), np.ones(len(keys), np.int8), terms)
