"""The figures of all evaluations: measures of a ranking, pairs of scores compared, and one interval; on arrays.

The interval is the bias-corrected and accelerated bootstrap one (Efron, JASA 1987). Whole clusters are resampled: cases
of one publication, like paraphrases of one question, are no independent evidence, and drawing them singly would make
it too narrow (Field and Welsh, JRSS B 2007).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgdx.errors import UsageError

Floats = NDArray[Any]
Ints = NDArray[Any]

TOPS = (1, 3, 5, 10, 20, 50)
METRICS = (*(f"top{k}" for k in TOPS), "mrr")
RESAMPLES = 2_000
MISS = float("inf")
"""Rank of a right answer that is not among the candidates."""

_ROUNDING = 1e-9
"""What two equal numbers may differ by once they were added up, in relation to them."""


def mean_rank(scores: Floats, right: Sequence[int]) -> float:
    """Return the rank of the best right candidate; equal scores share the mean of their ranks, negative numbers miss.

    Example:
        >>> mean_rank(np.array([3.0, 2.0, 2.0, 1.0]), [1])
        2.5
    """
    among = [number for number in right if number >= 0]
    if not among:
        return MISS
    best = max(scores[number] for number in among)
    return float((scores > best).sum() + ((scores == best).sum() + 1) / 2)


class FamilyRanks:
    """Ranks families, of shape (candidates,), instead of candidates: each has the score of its best member."""

    def __init__(self, of: Ints) -> None:
        _, self._of = np.unique(of, return_inverse=True)
        self._order = np.argsort(self._of, kind="stable")
        self._start = np.searchsorted(self._of[self._order], np.arange(self._of.max(initial=-1) + 1))

    def of(self, right: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted({int(self._of[number]) for number in right}))

    def rank(self, scores: Floats, right: Sequence[int]) -> float:
        """Return the rank of the best right candidate's family among all families, as :func:`mean_rank` does."""
        among = [int(self._of[number]) for number in right if number >= 0]
        return mean_rank(np.maximum.reduceat(scores[self._order], self._start), among) if among else MISS


def as_json(rank: float) -> float | None:
    """Return a rank as a JSON value: ``None`` for a miss."""
    return None if rank == MISS else rank


def ranks_of(records: Sequence[Mapping[str, Any]], name: str = "rank") -> Floats:
    """Return the ranks that records have as JSON values; one that is not there is a miss."""
    return np.array([MISS if (rank := each.get(name)) is None else rank for each in records], float)


def values(ranks: Sequence[float] | Floats) -> Floats:
    """Return what each rank counts for; shape (ranks, metrics), in the order of ``METRICS``.

    Example:
        >>> values([2.0]).tolist()
        [[0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5]]
    """
    rank = np.asarray(ranks, float)
    return np.column_stack([*(rank <= k for k in TOPS), 1 / rank]).astype(float)


def hits(ranks: Sequence[float] | Floats, at: Sequence[int]) -> Floats:
    """Return whether each right answer is among the first K; shape (ranks, at)."""
    return (np.asarray(ranks, float)[:, None] <= np.asarray(at)).astype(float)


def gains(ranks: Sequence[float] | Floats, at: Sequence[int]) -> Floats:
    """Return the NDCG at each K where one answer is right: 1 / log₂(1 + rank) within K; shape (ranks, at).

    With one relevant item the ideal gain is 1, so that it cannot fall with K (Järvelin and Kekäläinen, TOIS 2002).

    Example:
        >>> gains([3.0], [1, 10, 20]).tolist()
        [[0.0, 0.5, 0.5]]
    """
    gain: Floats = hits(ranks, at) / np.log2(1 + np.asarray(ranks, float))[:, None]
    return gain


def summary(ranks: Sequence[float] | Floats, clusters: Sequence[Hashable]) -> dict[str, Any]:
    """Return n, top-k, mean reciprocal rank and their intervals over clusters, such as publications."""
    return {"n": len(ranks), **means(METRICS, values(ranks), clusters)}


def mean_over(
    ranks: Sequence[float] | Floats, groups: Sequence[Hashable], clusters: Sequence[Hashable] | None = None
) -> dict[str, Any]:
    """Return the metrics averaged within groups (such as diseases) first: one with many cases counts once.

    Example:
        >>> mean_over([1.0, 1.0, 1.0, 20.0], ["a", "a", "a", "b"])["top1"]
        0.5
    """
    weights, n = once_each(groups)
    return {"n": n, **means(METRICS, values(ranks), range(len(ranks)) if clusters is None else clusters, weights)}


def means(
    names: Sequence[str], each: Floats, clusters: Sequence[Hashable], weights: Floats | None = None
) -> dict[str, Any]:
    """Return name → mean of values of shape (cases, names), and under ``ci95`` name → its interval."""
    low, high = bootstrap(each, clusters, weights)
    mean = each.mean(axis=0) if weights is None else weights @ each / weights.sum()
    ends = {name: [float(low[at]), float(high[at])] for at, name in enumerate(names)}
    return {**{name: float(mean[at]) for at, name in enumerate(names)}, "ci95": ends}


def once_each(groups: Sequence[Hashable]) -> tuple[Floats, int]:
    """Return weights by which each group counts once, and the number of groups."""
    owner = owners(groups)
    counts = np.bincount(owner)
    return (1 / counts)[owner], len(counts)


def bootstrap(
    each: Floats,
    clusters: Sequence[Hashable],
    weights: Floats | None = None,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[Floats, Floats]:
    """Return the 95 % interval of the mean of each column when whole clusters are resampled.

    Values have the shape (cases, metrics), weights (cases,). Where all clusters have one mean there is nothing to
    resample, and the interval is that point.
    """
    weight, owner = np.ones(len(each)) if weights is None else weights, owners(clusters)
    sums = np.zeros((int(owner.max()) + 1, each.shape[1] + 1))
    np.add.at(sums, owner, np.column_stack([each * weight[:, None], weight]))
    total = sums.sum(axis=0)
    mean = total[:-1] / total[-1]
    low, high = mean.copy(), mean.copy()
    if len(sums) < 2:
        return low, high
    rest = total - sums
    without = rest[:, :-1] / rest[:, -1:]
    varied = np.ptp(without, axis=0) > _ROUNDING * np.maximum(1.0, np.abs(without).max(axis=0))
    totals = _counts(len(sums), seed, resamples) @ sums
    drawn = totals[:, :-1] / totals[:, -1:]
    for column in np.flatnonzero(varied).tolist():
        levels = _levels(drawn[:, column], float(mean[column]), without[:, column])
        low[column], high[column] = np.quantile(drawn[:, column], levels)
    return low, high


def wilson(right: int, n: int) -> tuple[float, float]:
    """Return the 95 % score interval of a share (Wilson 1927): for shares of 0 and 1, which no bootstrap can tell.

    Example:
        >>> [round(end, 3) for end in wilson(10, 10)]
        [0.722, 1.0]
    """
    from scipy import stats

    ends = stats.binomtest(right, n).proportion_ci(method="wilson")
    return float(ends.low), float(ends.high)


MARGIN = 0.05
"""Scores that differ by less than this are a tie."""


def interval(
    values: Sequence[float] | Floats, clusters: Sequence[Hashable], *, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, Any]:
    """Return the ``mean`` of scores and its interval, ``low`` and ``high``: ``None`` below two clusters.

    Example:
        >>> interval([0.0, 1.0, 1.0, 0.0, 1.0], range(5))["low"] > 0
        True
    """
    each = np.asarray(values, float)
    if len({*clusters}) < 2:
        return {"mean": float(each.mean()), "low": None, "high": None}
    low, high = bootstrap(each[:, None], clusters, seed=seed, resamples=resamples)
    return {"mean": float(each.mean()), "low": float(low[0]), "high": float(high[0])}


def compare(
    treated: Sequence[float],
    control: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    margin: float = MARGIN,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> dict[str, Any]:
    """Compare scores with something and without it, of the same questions in the same order.

    Args:
        clusters: What each question is resampled with; by itself when ``None``.
        margin: Smallest difference that is no tie.

    Returns:
        ``n``; ``treated``, ``control`` and their ``difference``, each as :func:`interval` gives it; ``wins``, ``ties``,
        ``losses`` (by ``margin``); ``sign_p``: two-sided sign test over the clusters, each won or lost by its mean
        (Dixon and Mood, JASA 1946), ``None`` where all are ties; ``deviations`` of both scores over the pairs (n - 1);
        ``t``, ``t_p``: Student's t of the clusters' mean differences; ``cohens_d``: their mean in units of their
        deviation (Cohen 1988, d_z); ``gain``: difference over the mean without it. What cannot be said is ``None``.
    """
    if not len(treated) or len(treated) != len(control):
        raise UsageError(f"{len(treated)} scores are paired with {len(control)}", hint="give as many of each, and some")
    if not margin >= 0:
        raise UsageError(f"the margin is {margin}", hint="give 0 or more")
    first, second = np.asarray(treated, float), np.asarray(control, float)
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise UsageError("a score is no finite number", hint="leave questions without a score out")
    groups = range(len(first)) if clusters is None else clusters
    drawn: dict[str, int] = {"seed": seed, "resamples": resamples}
    difference, least = first - second, max(margin - _ROUNDING, _ROUNDING)
    owner = owners(groups)
    by_cluster = np.bincount(owner, difference) / np.bincount(owner)
    wins, losses = int((difference >= least).sum()), int((difference <= -least).sum())
    before, spread = float(second.mean()), by_cluster.std(ddof=1) if len(by_cluster) > 1 else 0.0
    found = {
        "n": len(first),
        "treated": interval(first, groups, **drawn),
        "control": interval(second, groups, **drawn),
        "difference": interval(difference, groups, **drawn),
        "wins": wins,
        "ties": len(first) - wins - losses,
        "losses": losses,
        "margin": margin,
        "sign_p": sign_test(int((by_cluster >= least).sum()), int((by_cluster <= -least).sum())),
        "deviations": [float(first.std(ddof=1)), float(second.std(ddof=1))] if len(first) > 1 else None,
        **dict.fromkeys(("t", "t_p", "cohens_d")),
        "gain": float(first.mean() - before) / before if abs(before) > _ROUNDING else None,
    }
    if spread > _ROUNDING:
        from scipy import stats

        t, p = stats.ttest_1samp(by_cluster, 0.0)
        found |= {"t": float(t), "t_p": float(p), "cohens_d": float(by_cluster.mean() / spread)}
    return found


def sign_test(wins: int, losses: int) -> float | None:
    """Return the two-sided probability of a split at least so uneven if both were as likely."""
    from scipy import stats

    n = wins + losses
    return float(stats.binomtest(wins, n).pvalue) if n else None


def milliseconds(times: Sequence[float]) -> dict[str, float | None]:
    """Return the median and the 95th percentile of times, ``None`` where there are none."""
    return {
        "ms_median": float(np.median(times)) if len(times) else None,
        "ms_p95": float(np.percentile(times, 95)) if len(times) else None,
    }


@lru_cache(1)
def _counts(clusters: int, seed: int, resamples: int) -> Floats:
    """How often each sample has each cluster; shape (samples, clusters). Fewer samples where clusters are many."""
    most = max(200, min(resamples, 40_000_000 // clusters))
    drawn = np.random.default_rng(seed).multinomial(clusters, np.full(clusters, 1 / clusters), most)
    return drawn.astype(float)


def _levels(drawn: Floats, mean: float, without: Floats) -> Floats:
    """The two quantiles of the samples between which the interval lies (Efron 1987, equations 2.3 and 6.6)."""
    from scipy.special import ndtr, ndtri

    near = np.abs(drawn - mean) <= _ROUNDING * max(1.0, abs(mean))
    share = (((drawn < mean) & ~near).sum() + 0.5 * near.sum()) / len(drawn)
    bias = ndtri(np.clip(share, 0.5 / len(drawn), 1 - 0.5 / len(drawn)))
    apart = without.mean() - without
    acceleration = (apart**3).sum() / (6 * (apart**2).sum() ** 1.5)
    z = bias + ndtri(np.array([0.025, 0.975]))
    levels: Floats = ndtr(bias + z / (1 - acceleration * z))
    return levels


def owners(names: Sequence[Hashable]) -> Ints:
    """Return numbers for names, from 0 in the order in which they first come."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
