"""Pairs of scores compared: mean difference with a bootstrap interval, wins, ties and losses.

The interval is that of :mod:`kgdx.evaluate.metrics`, drawn over clusters where questions come in clusters: paraphrases
of one question are no independent evidence.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgdx.errors import UsageError
from kgdx.evaluate.metrics import RESAMPLES, bootstrap, owners

Floats = NDArray[np.float64]

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
class PairedComparison:
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
        found = asdict(self)
        return found | {"deviations": None if self.deviations is None else list(self.deviations)}


def compare(
    treated: Sequence[float],
    control: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    margin: float = MARGIN,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> PairedComparison:
    """Compare paired scores.

    Args:
        treated: Scores with what is examined, one for each question.
        control: Scores without it, of the same questions in the same order.
        clusters: What each question is resampled with; by itself when ``None``.
        margin: Smallest difference that is no tie.
        seed: Of the resampling.
        resamples: How many samples are drawn.

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
    basic = PairedComparison(len(first), of_treated, of_control, of_difference, wins, ties, losses, margin, p)
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
    """Return a mean and its interval, resampled by cluster; see :func:`kgdx.evaluate.metrics.bootstrap`.

    Example:
        >>> interval([0.0, 1.0, 1.0, 0.0, 1.0], range(5)).low > 0
        True
    """
    each = np.asarray(values, np.float64)
    if len({*clusters}) < 2:
        return Interval(float(each.mean()))
    low, high = bootstrap(each[:, None], clusters, seed=seed, resamples=resamples)
    return Interval(float(each.mean()), float(low[0]), float(high[0]))


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
    return max(margin - _ROUNDING, _ROUNDING)


def _by_cluster(values: Floats, clusters: Sequence[Hashable]) -> tuple[Floats, Floats]:
    owner = owners(clusters)
    return np.bincount(owner, values).astype(np.float64), np.bincount(owner).astype(np.float64)
