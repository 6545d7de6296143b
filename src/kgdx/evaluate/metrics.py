"""Ranking metrics: mean ranks where scores tie, top-k, reciprocal ranks, bootstrap intervals over clusters."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]

TOPS = (1, 3, 5, 10)
METRICS = (*(f"top{k}" for k in TOPS), "mrr")
RESAMPLES = 1000
MISS = float("inf")
"""Rank of a right answer that is not among the candidates."""


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


def values(ranks: Sequence[float]) -> Floats:
    """Return what each rank counts for; shape (ranks, metrics), in the order of ``METRICS``.

    Example:
        >>> values([2.0]).tolist()
        [[0.0, 1.0, 1.0, 1.0, 0.5]]
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
    means = each.mean(axis=0)
    low, high = bootstrap(each, clusters)
    return {
        "n": len(each),
        **{name: float(mean) for name, mean in zip(METRICS, means, strict=True)},
        "ci95": {name: [float(low[i]), float(high[i])] for i, name in enumerate(METRICS)},
    }


def mean_over(ranks: Sequence[float], groups: Sequence[Hashable]) -> dict[str, Any]:
    """Return the metrics averaged within groups (such as diseases) first: one with many cases counts once.

    Example:
        >>> mean_over([1.0, 1.0, 1.0, 20.0], ["a", "a", "a", "b"])["top1"]
        0.5
    """
    sums, counts = _by_cluster(values(ranks), groups)
    means = (sums / counts[:, None]).mean(axis=0)
    return {"n": len(counts), **{name: float(mean) for name, mean in zip(METRICS, means, strict=True)}}


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
    drawn = np.random.default_rng(0).multinomial(len(counts), np.full(len(counts), 1 / len(counts)), resamples)
    means = (drawn @ sums) / (drawn @ counts)[:, None]
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return low, high


def _by_cluster(each: Floats, clusters: Sequence[Hashable]) -> tuple[Floats, Floats]:
    numbers: dict[Hashable, int] = {}
    owner = np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters])
    sums = np.zeros((len(numbers), each.shape[1]))
    np.add.at(sums, owner, each)
    return sums, np.bincount(owner).astype(float)
