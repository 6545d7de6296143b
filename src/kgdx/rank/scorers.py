"""The scorers: each turns a query into one score per candidate, and says what each finding adds.

All work on arrays of a :class:`~kgdx.rank.columns.Columns` and are compared within one query only, so a constant that
is the same for all candidates is left out. ``SCORERS`` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from kgdx.rank.columns import Basis, Columns
from kgdx.store.closure import Floats, Ints, gather

BREADTH = 0.1
"""Weight of the correction for broadly annotated candidates in the likelihood."""
EXCLUDED_SHARE = 0.9
"""Reliability of an excluded finding: 1 − 0.9 f of the patients with the disease are like this one."""
EXCLUDED_MOST = 2.0
"""Bound of what all excluded findings together take away, in natural log units."""


@dataclass(frozen=True, slots=True)
class Query:
    """A case as rows of the phenotype table; terms outside Phenotypic abnormality are left out.

    Attributes:
        observed: Terms of present findings, each once; shape (findings,).
        excluded: Terms of absent findings.
        cache: Similarities of one term to all candidates, kept by the ranker between queries.
    """

    observed: Ints
    excluded: Ints
    cache: dict[int, Floats] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of one scorer.

    Attributes:
        total: Score of each candidate; shape (candidates,).
        findings: Given some candidates, the share of each finding in their ``total``; shape (findings, given ones).
        mean: Mean of each finding's share over all candidates, where the shares are compared singly; shape (findings,).
    """

    total: Floats
    findings: Callable[[Ints], Floats]
    mean: Floats


Scorer = Callable[[Columns, Basis, Query], Scores]


def likelihood(columns: Columns, basis: Basis, query: Query) -> Scores:
    """Mean log-likelihood ratio of the present findings, less a correction for breadth.

    s(d) = 1/|Q| Σ_{t∈Q} ln(x(t,d)/β) − BREADTH ln(1 + Σ_u f(u,d)), with x as in :func:`kgdx.rank.columns.columns`.
    The last term is the length normalisation of the multinomial model, damped: a disease annotated with 200 phenotypes
    explains any patient a little.
    """
    found = np.zeros((len(query.observed), columns.size), np.float32)
    for row, term in zip(found, query.observed, strict=True):
        index, value = columns.ratio.row(term)
        row[index] = value
    found /= max(len(query.observed), 1)
    return _scores(found.sum(axis=0) - BREADTH * columns.breadth, found)


def coverage(columns: Columns, basis: Basis, query: Query) -> Scores:
    """How well the candidate's annotations cover the findings: best-match average, weighted by information content.

    s(d) = Σ_t IC(t) max_u sim(t,u) / Σ_t IC(t) over findings t and annotations u, with the relevance similarity
    sim(t,u) = 2 IC(a) / (IC(t) + IC(u)) · (1 − e^−IC(a)), a their most informative common ancestor (Schlicker et al.,
    BMC Bioinformatics 2006).
    """
    weight = basis.ic[query.observed]
    share = weight / max(float(weight.sum()), 1e-9)
    found = np.zeros((len(query.observed), columns.size), np.float32)
    for row, term, part in zip(found, query.observed.tolist(), share, strict=True):
        if term not in query.cache:
            query.cache[term] = best_match(columns, basis, term)
        np.multiply(query.cache[term], part, out=row)
    return _scores(found.sum(axis=0), found)


def _scores(total: Floats, found: Floats) -> Scores:
    return Scores(total, lambda candidates: found[:, candidates], found.mean(axis=1))


def best_match(columns: Columns, basis: Basis, term: int) -> Floats:
    """Return the relevance similarity of one term to each candidate's nearest annotation; shape (candidates,).

    The maximum over annotations is one over the term's ancestors a, since below a the least informative annotation is
    the most similar one: max_a 2 IC(a) (1 − e^−IC(a)) / (IC(t) + least IC of the candidate's annotations below a).
    """
    best = np.zeros(columns.size, np.float32)
    for ancestor in basis.up.columns(term).tolist():
        ic = basis.ic[ancestor]
        begin, end = columns.frequency.start[ancestor], columns.frequency.start[ancestor + 1]
        if ic <= 0 or begin == end:
            continue
        index = columns.frequency.index[begin:end]
        similar = (2 * ic * -np.expm1(-ic)) / (basis.ic[term] + columns.least[begin:end])
        best[index] = np.maximum(best[index], similar)
    return best


def typicality(columns: Columns, basis: Basis, query: Query) -> Scores:
    """How much of the candidate's typical picture the patient shows.

    s(d) = Σ_u w(u,d) max_t sim(u,t) over annotations u and findings t, with w ∝ IC(u) √f(u,d) summing to 1: the other
    direction of :func:`coverage`. What a finding adds is the share of the annotations that it matches best.
    """
    best, finding = nearest_finding(basis, query)
    annotated = columns.annotated
    value = columns.weight * best[annotated.index]
    total = np.zeros(columns.size, np.float32)
    some = annotated.start[:-1] < annotated.start[1:]
    total[some] = np.add.reduceat(value, annotated.start[:-1][some])

    def findings(candidates: Ints) -> Floats:
        position, owner = gather(annotated.start, candidates)
        cell = finding[annotated.index[position]].astype(np.int64) * len(candidates) + owner
        size = len(query.observed) * len(candidates)
        return np.bincount(cell, value[position], size)[:size].reshape(-1, len(candidates))

    return Scores(total, findings, np.zeros(len(query.observed), np.float32))


def nearest_finding(basis: Basis, query: Query) -> tuple[Floats, Ints]:
    """Return each term's relevance similarity to the nearest finding, and which finding that is; shapes (terms,)."""
    best = np.zeros(len(basis.ic), np.float32)
    finding = np.zeros(len(basis.ic), np.int32)
    nearest: dict[int, int] = {}  # the least informative finding below each ancestor
    for number, term in enumerate(query.observed.tolist()):
        for ancestor in basis.up.columns(term).tolist():
            other = nearest.setdefault(ancestor, number)
            if basis.ic[term] < basis.ic[query.observed[other]]:
                nearest[ancestor] = number
    for ancestor, number in nearest.items():
        ic = basis.ic[ancestor]
        if ic <= 0:
            continue
        below = basis.down.columns(ancestor)
        similar = (2 * ic * -np.expm1(-ic)) / (basis.ic[below] + basis.ic[query.observed[number]])
        better = similar > best[below]
        best[below[better]] = similar[better]
        finding[below[better]] = number
    return best, finding


def excluded(columns: Columns, basis: Basis, query: Query) -> Scores:
    """What excluded findings take away: bounded, since cohort tables exclude what belongs to the disease, too.

    s(d) = max(−EXCLUDED_MOST, Σ_t ln(1 − EXCLUDED_SHARE f(t,d))) over excluded findings t; where the bound is reached
    the findings share it in proportion.

    Returns:
        ``total`` of shape (candidates,), ``findings`` of shape (excluded findings, candidates).
    """
    found = np.zeros((len(query.excluded), columns.size), np.float32)
    for row, term in zip(found, query.excluded, strict=True):
        index, value = columns.frequency.row(term)
        row[index] = np.log1p(-EXCLUDED_SHARE * value.astype(np.float32))
    total = found.sum(axis=0)
    bounded = np.maximum(total, -EXCLUDED_MOST)
    found *= np.divide(bounded, total, out=np.ones_like(total), where=total < 0)
    return Scores(bounded, lambda candidates: found[:, candidates], np.zeros(len(found), np.float32))


SCORERS: Mapping[str, Scorer] = {
    "likelihood": likelihood,
    "coverage": coverage,
    "typicality": typicality,
    "excluded": excluded,
}
"""Name → scorer. ``excluded`` speaks of excluded findings, the others of present ones."""
