"""Pairs of scores compared: mean difference with a bootstrap interval, wins, ties and losses.

The interval is the bias-corrected and accelerated one (Efron, JASA 1987), drawn over clusters where questions come in
clusters: paraphrases of one question are no independent evidence.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgdx.errors import UsageError

Floats = NDArray[np.float64]

RESAMPLES = 10_000
MARGIN = 0.05
"""Scores that differ by less than this are a tie."""

_ROUNDING = 1e-9
"""What two equal numbers may differ by once they were added up."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its 95 % interval; without one where fewer than two clusters are there."""

    mean: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Scores with and without something, over the same questions.

    Attributes:
        n: Pairs.
        treated: Mean score with it.
        control: Mean score without it.
        difference: Mean of the differences.
        wins: Pairs that are better with it by at least the margin.
        ties: Pairs that differ by less.
        losses: Pairs that are worse by at least the margin.
        margin: The margin.
        sign_p: Two-sided sign test over the clusters, each won or lost by its mean (Dixon and Mood, JASA 1946);
            ``None`` where all are ties.
        deviations: Standard deviations of the scores with it and without it, over the pairs (n - 1); ``None`` for one.
        t: Student's t of the paired differences, over the clusters' means; ``None`` where they do not vary.
        t_p: Its two-sided probability.
        cohens_d: Mean of those differences in units of their standard deviation (Cohen 1988, d_z), which is t / √n.
        gain: Difference of the means over the mean without it; ``None`` where that is 0.
    """

    n: int
    treated: Interval
    control: Interval
    difference: Interval
    wins: int
    ties: int
    losses: int
    margin: float
    sign_p: float | None
    deviations: tuple[float, float] | None = None
    t: float | None = None
    t_p: float | None = None
    cohens_d: float | None = None
    gain: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)


def compare(
    treated: Sequence[float],
    control: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    margin: float = MARGIN,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Comparison:
    """Compare paired scores.

    Args:
        treated: Scores with what is examined, one for each question.
        control: Scores without it, of the same questions in the same order.
        clusters: What each question is resampled with; by itself when ``None``.
        margin: Smallest difference that is no tie.
        seed: Of the resampling.
        resamples: How many samples are drawn.

    Raises:
        UsageError: There is no pair; the lists are of unequal length; a score is no finite number; or the margin is
            negative.

    Example:
        >>> found = compare([1.0, 0.5, 0.5], [0.0, 0.5, 0.6])
        >>> found.wins, found.ties, found.losses, round(found.difference.mean, 3)
        (1, 1, 1, 0.3)
    """
    if not len(treated) or len(treated) != len(control):
        raise UsageError(f"{len(treated)} scores are paired with {len(control)}", hint="give as many of each, and some")
    if not margin >= 0:
        raise UsageError(f"the margin is {margin}", hint="give 0 or more")
    first, second = np.asarray(treated, np.float64), np.asarray(control, np.float64)
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise UsageError("a score is no finite number", hint="leave questions without a score out")
    groups = list(range(len(first))) if clusters is None else list(clusters)
    difference = first - second
    wins = int((difference >= _least(margin)).sum())
    losses = int((difference <= -_least(margin)).sum())
    of_treated, of_control, of_difference = (
        interval(each, groups, seed=seed, resamples=resamples) for each in (first, second, difference)
    )
    ties = len(first) - wins - losses
    sums, counts = _by_cluster(difference, groups)
    means = sums / counts
    p = sign_test(int((means >= _least(margin)).sum()), int((means <= -_least(margin)).sum()))
    basic = Comparison(len(first), of_treated, of_control, of_difference, wins, ties, losses, margin, p)
    return replace(basic, **_classic(first, second, means))


def _classic(first: Floats, second: Floats, means: Floats) -> dict[str, Any]:
    """The figures that assume a normal distribution, as other work reports them."""
    control = float(second.mean())
    gain = float(first.mean() - control) / control if abs(control) > _ROUNDING else None
    if len(first) < 2:
        return {"gain": gain}
    found: dict[str, Any] = {"gain": gain, "deviations": (float(first.std(ddof=1)), float(second.std(ddof=1)))}
    if len(means) > 1 and means.std(ddof=1) > _ROUNDING:
        from scipy import stats

        t, p = stats.ttest_1samp(means, 0.0)
        found |= {"t": float(t), "t_p": float(p), "cohens_d": float(means.mean() / means.std(ddof=1))}
    return found


def interval(
    values: Sequence[float] | Floats, clusters: Sequence[Hashable], *, seed: int = 0, resamples: int = RESAMPLES
) -> Interval:
    """Return a mean and its 95 % BCa bootstrap interval, resampled by cluster.

    Where all clusters have one mean there is nothing to resample, and the interval is that point.

    Args:
        values: One for each question; shape (questions,).
        clusters: Cluster of each question.
        seed: Of the resampling.
        resamples: How many samples are drawn.

    Example:
        >>> interval([0.0, 1.0, 1.0, 0.0, 1.0], range(5)).low > 0
        True
    """
    sums, counts = _by_cluster(np.asarray(values, np.float64), clusters)
    n, mean = len(sums), float(sums.sum() / counts.sum())
    if n < 2:
        return Interval(mean)
    without = (sums.sum() - sums) / (counts.sum() - counts)
    if np.ptp(without) <= _ROUNDING * max(1.0, float(np.abs(without).max())):
        return Interval(mean, mean, mean)
    drawn = _resampled(sums, counts, seed, resamples)
    low, high = np.quantile(drawn, _levels(drawn, mean, without))
    return Interval(mean, float(low), float(high))


def sign_test(wins: int, losses: int) -> float | None:
    """Return the two-sided probability of a split at least so uneven if both were as likely.

    Example:
        >>> sign_test(5, 0), sign_test(0, 0)
        (0.0625, None)
    """
    n = wins + losses
    if n == 0:
        return None
    if n > 1_000:  # the sum below would take long; the normal approximation with continuity correction is close
        z = max(0.0, abs(wins - losses) - 1) / math.sqrt(n)
        return math.erfc(z / math.sqrt(2))
    tail = sum(math.comb(n, k) for k in range(min(wins, losses) + 1))
    return float(min(1.0, 2 * tail / 2**n))


def _least(margin: float) -> float:
    """The difference that counts, with room for the rounding of decimal scores; any difference where it is 0."""
    return max(margin - _ROUNDING, _ROUNDING)


def _by_cluster(values: Floats, clusters: Sequence[Hashable]) -> tuple[Floats, Floats]:
    numbers: dict[Hashable, int] = {}
    owner = np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters])
    sums = np.bincount(owner, values, len(numbers)).astype(np.float64)
    return sums, np.bincount(owner, minlength=len(numbers)).astype(np.float64)


def _resampled(sums: Floats, counts: Floats, seed: int, resamples: int) -> Floats:
    """Means of samples of clusters; in blocks, so that many clusters need little memory."""
    generator, n = np.random.default_rng(seed), len(sums)
    block = max(1, 2_000_000 // n)
    means = []
    for begin in range(0, resamples, block):
        drawn = generator.integers(0, n, (min(block, resamples - begin), n))
        means.append(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))
    return np.concatenate(means)


def _levels(drawn: Floats, mean: float, without: Floats) -> Floats:
    """The two quantiles of the samples between which the interval lies (Efron 1987, equations 2.3 and 6.6)."""
    from scipy.special import ndtr, ndtri

    share = ((drawn < mean).sum() + 0.5 * (drawn == mean).sum()) / len(drawn)
    bias = ndtri(np.clip(share, 0.5 / len(drawn), 1 - 0.5 / len(drawn)))
    apart = without.mean() - without
    acceleration = (apart**3).sum() / (6 * (apart**2).sum() ** 1.5)
    z = bias + ndtri(np.array([0.025, 0.975]))
    levels: Floats = ndtr(bias + z / (1 - acceleration * z))
    return levels
