"""Scores of links as probabilities: by bins of held-out links, monotone, at the rate at which links are in the graph.

    p(link | s in bin b) = π h_b / (π h_b + (1 − π) o_b)

h_b is the share of the held-out links that fall into the bin, o_b that of the pairs that are no links, π the share of
links among all pairs of the graph: so a probability is the share of links among the pairs with such a score, and not
among those of a balanced sample. Bins hold equally many held-out links; their probabilities are made monotone
(isotonic regression: Zadrozny and Elkan, KDD 2002), and log-odds are interpolated between them. A logistic curve
(Platt) is far too sure at the top here, where the few pairs are that anybody asks about.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgdx.arrays.sparse import Floats

BINS = 10
"""Bins of a reliability table."""
MOST_KNOTS = 40
"""Bins of a calibration at most."""
LEAST = 10
"""Held-out links that a bin should have."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a score becomes a probability.

    Attributes:
        scores: Of the bins, ascending; shape (bins,).
        log_odds: Of a link at these scores, never falling; shape (bins,).
        error: Expected calibration error on the held-out sample where both classes weigh the same, each half judged by
            the fit of the other.
        bins: Reliability of that sample: of each bin its mean probability, the share that are links, and its weight.
    """

    scores: Floats
    log_odds: Floats
    error: float = 0.0
    bins: tuple[tuple[float, float, float], ...] = ()

    @classmethod
    def fit(cls, links: Floats, others: Floats, prior: float) -> Calibration:
        """Fit a calibration.

        Args:
            links: Scores of links that were held out of training; shape (n₊,).
            others: Scores of pairs that are no links, drawn by chance; shape (n₋,).
            prior: Share of links among all pairs of the graph, above 0 and below 1.

        Example:
            >>> rng = np.random.default_rng(0)
            >>> fitted = Calibration.fit(rng.normal(1, 1, 2000), rng.normal(-1, 1, 2000), prior=0.5)
            >>> fitted.probability(np.array([0.0, 2.0])).round(1).tolist(), bool(fitted.error < 0.04)
            ([0.5, 1.0], True)
        """
        even = [_crossed(links, others, half) for half in (0, 1)]
        bins = reliability(*(np.concatenate(part) for part in zip(*even, strict=True)))
        return cls(*_fitted(links, others, prior), calibration_error(bins), bins)

    def probability(self, scores: Floats) -> Floats:
        return _sigmoid(np.interp(scores, self.scores, self.log_odds))


def reliability(probabilities: Floats, truth: Floats, weights: Floats) -> tuple[tuple[float, float, float], ...]:
    """Return of each bin of equal width that is not empty: mean probability, share that is true, and weight.

    Args:
        probabilities: In [0, 1]; shape (n,).
        truth: 1 for what is true; shape (n,).
        weights: What each counts; shape (n,).
    """
    place = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    total = np.bincount(place, weights, BINS)
    sums = [np.bincount(place, weights * values, BINS) for values in (probabilities, truth)]
    return tuple(
        (float(sums[0][each] / total[each]), float(sums[1][each] / total[each]), float(total[each]))
        for each in np.flatnonzero(total).tolist()
    )


def calibration_error(bins: tuple[tuple[float, float, float], ...]) -> float:
    """Return the expected calibration error: Σ_b w_b/w |mean probability − share that is true|."""
    total = sum(weight for _, _, weight in bins)
    return sum(weight * abs(mean - share) for mean, share, weight in bins) / total if total else 0.0


def _crossed(links: Floats, others: Floats, half: int) -> tuple[Floats, Floats, Floats]:
    fitted = Calibration(*_fitted(links[1 - half :: 2], others[1 - half :: 2], 0.5))
    own = links[half::2], others[half::2]
    counts = [len(part) for part in own]
    weights = np.repeat([1 / max(count, 1) for count in counts], counts)
    return fitted.probability(np.concatenate(own)), np.repeat([1.0, 0.0], counts), weights


def _fitted(links: Floats, others: Floats, prior: float) -> tuple[Floats, Floats]:
    from scipy.optimize import isotonic_regression

    even = float(np.log(prior) - np.log1p(-prior))
    if not len(links) or not len(others):
        return np.zeros(1), np.array([even])
    count = int(np.clip(len(links) // LEAST, 2, MOST_KNOTS))
    inner = np.unique(np.quantile(links, np.arange(1, count) / count))
    place, other = (np.searchsorted(inner, part, "right") for part in (links, others))
    size = len(inner) + 1
    having, lacking = np.bincount(place, minlength=size), np.bincount(other, minlength=size)
    shares = (having + 0.5) / (len(links) + size / 2), (lacking + 0.5) / (len(others) + size / 2)
    middle = np.bincount(place, links, size) / np.maximum(having, 1)
    told = np.flatnonzero(having)
    odds = np.log(shares[0][told]) - np.log(shares[1][told]) + even
    return middle[told], isotonic_regression(odds, weights=having[told]).x


def _sigmoid(values: Floats) -> Floats:
    bent: Floats = 0.5 * (1 + np.tanh(values / 2))
    return bent
