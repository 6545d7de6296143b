"""Measures of a ranking: ranks of right answers, shares at the top, and their intervals; functions on arrays."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]
Ints = NDArray[Any]

TOPS = (1, 3, 5, 10, 20, 50)
METRICS = (*(f"top{k}" for k in TOPS), "mrr")
RESAMPLES = 1000
MISS = float("inf")
"""Rank of a right answer that is not among the candidates."""
_BLOCK = 100
"""Samples that are averaged at a time, so that thousands of diseases take little memory."""


def mean_rank(scores: Floats, right: Sequence[int]) -> float:
    """Return the rank of the best right candidate; equal scores share the mean of their ranks.

    Args:
        scores: Score of each candidate; shape (candidates,).
        right: Numbers of the right candidates; negative ones are not in the graph.

    Example:
        >>> mean_rank(np.array([3.0, 2.0, 2.0, 1.0]), [1])
        2.5
    """
    among = [number for number in right if number >= 0]
    if not among:
        return MISS
    best = max(scores[number] for number in among)
    return float((scores > best).sum() + ((scores == best).sum() + 1) / 2)


class Families:
    """Ranks families of candidates instead of candidates: each has the score of its best member.

    Args:
        of: Family of each candidate; shape (candidates,).

    Example:
        >>> families = Families(np.array([0, 1, 1, 2]))
        >>> families.rank(np.array([5.0, 4.0, 3.0, 2.0]), [2])
        2.0
    """

    def __init__(self, of: Ints) -> None:
        _, self._of = np.unique(of, return_inverse=True)
        self._order = np.argsort(self._of, kind="stable")
        self._start = np.searchsorted(self._of[self._order], np.arange(self._of.max(initial=-1) + 1))

    def rank(self, scores: Floats, right: Sequence[int]) -> float:
        """Return the rank of the best right candidate's family among all families, as :func:`mean_rank` does.

        Args:
            scores: Score of each candidate; shape (candidates,).
            right: Numbers of the right candidates; negative ones are not in the graph.
        """
        among = [int(self._of[number]) for number in right if number >= 0]
        return mean_rank(np.maximum.reduceat(scores[self._order], self._start), among) if among else MISS


def values(ranks: Sequence[float]) -> Floats:
    """Return what each rank counts for; shape (ranks, metrics), in the order of ``METRICS``.

    Example:
        >>> values([2.0]).tolist()
        [[0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5]]
    """
    rank = np.asarray(ranks, float)
    return np.column_stack([*(rank <= k for k in TOPS), 1 / rank]).astype(float)


def summary(ranks: Sequence[float], clusters: Sequence[Hashable]) -> dict[str, Any]:
    """Return n, top-k, mean reciprocal rank and their bootstrap intervals.

    Args:
        ranks: Rank of the right answer in each case, ``inf`` for a miss.
        clusters: What each case is resampled with, such as its publication.

    Example:
        >>> found = summary([1.0, 4.0], ["a", "b"])
        >>> found["n"], found["top1"], found["top5"], found["mrr"]
        (2, 0.5, 1.0, 0.625)
    """
    each = values(ranks)
    return _figures(len(each), each.mean(axis=0), bootstrap(each, clusters))


def mean_over(
    ranks: Sequence[float], groups: Sequence[Hashable], clusters: Sequence[Hashable] | None = None
) -> dict[str, Any]:
    """Return the metrics averaged within groups (such as diseases) first: one with many cases counts once.

    Args:
        ranks: Rank of the right answer in each case, ``inf`` for a miss.
        groups: Group of each case.
        clusters: What each case is resampled with; each case alone where ``None``.

    Example:
        >>> mean_over([1.0, 1.0, 1.0, 20.0], ["a", "a", "a", "b"])["top1"]
        0.5
    """
    each = values(ranks)
    sums, counts = _by_cluster(each, groups)
    means = (sums / counts[:, None]).mean(axis=0)
    resampled = bootstrap_over(each, groups, range(len(each)) if clusters is None else clusters)
    return _figures(len(counts), means, resampled)


def bootstrap(each: Floats, clusters: Sequence[Hashable], resamples: int = RESAMPLES) -> tuple[Floats, Floats]:
    """Return the 2.5 and 97.5 percentiles of the metrics' means when whole clusters are resampled.

    Cases of one publication resemble each other; drawing them singly would make the interval too narrow (Field and
    Welsh, JRSS B 2007).

    Args:
        each: Values of each case; shape (cases, metrics).
        clusters: Cluster of each case.
        resamples: How many samples are drawn, with a fixed seed.
    """
    sums, counts = _by_cluster(each, clusters)
    drawn = _drawn(len(counts), resamples)
    means = (drawn @ sums) / (drawn @ counts)[:, None]
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return low, high


def bootstrap_over(
    each: Floats, groups: Sequence[Hashable], clusters: Sequence[Hashable], resamples: int = RESAMPLES
) -> tuple[Floats, Floats]:
    """Return the percentiles of :func:`bootstrap` for means over groups: a sample's mean is over the groups it drew.

    Args:
        each: Values of each case; shape (cases, metrics).
        groups: Group of each case, such as its disease.
        clusters: Cluster of each case, such as its publication.
        resamples: How many samples are drawn, with a fixed seed.
    """
    from scipy import sparse

    group, cluster = _numbered(groups), _numbered(clusters)
    shape = int(cluster.max()) + 1, int(group.max()) + 1
    columns = [np.ones(len(each)), *each.T]
    totals = [sparse.csr_array((column, (cluster, group)), shape=shape) for column in columns]
    drawn = _drawn(shape[0], resamples)
    means = []
    for begin in range(0, resamples, _BLOCK):
        block = drawn[begin : begin + _BLOCK]
        counts, *sums = (block @ total for total in totals)
        present = counts > 0
        shares = (np.divide(total, counts, out=np.zeros_like(counts), where=present) for total in sums)
        means.append(np.column_stack([share.sum(axis=1) for share in shares]) / present.sum(axis=1)[:, None])
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5], axis=0)
    return low, high


def _figures(n: int, means: Floats, interval: tuple[Floats, Floats]) -> dict[str, Any]:
    low, high = interval
    return {
        "n": n,
        **{name: float(mean) for name, mean in zip(METRICS, means, strict=True)},
        "ci95": {name: [float(low[i]), float(high[i])] for i, name in enumerate(METRICS)},
    }


def _drawn(clusters: int, resamples: int) -> Floats:
    """How often each cluster is in each sample; shape (samples, clusters)."""
    drawn = np.random.default_rng(0).multinomial(clusters, np.full(clusters, 1 / clusters), resamples)
    return drawn.astype(float)


def _numbered(names: Sequence[Hashable]) -> Ints:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)


def _by_cluster(each: Floats, clusters: Sequence[Hashable]) -> tuple[Floats, Floats]:
    owner = _numbered(clusters)
    sums = np.zeros((int(owner.max()) + 1, each.shape[1]))
    np.add.at(sums, owner, each)
    return sums, np.bincount(owner).astype(float)
