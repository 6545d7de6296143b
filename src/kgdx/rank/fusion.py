"""Adds the scorers up: each is standardised over the candidates of the query, weighted, and summed.

Sums of standard scores keep how far a candidate stands out, which fusion by rank throws away (Wu and McClean,
Information Retrieval 2006, compare the two).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kgdx.rank.scorers import Scores
from kgdx.store.closure import Floats

WEIGHTS: Mapping[str, float] = {"likelihood": 1.0, "coverage": 0.6, "typicality": 0.2, "excluded": 0.05}
"""Weight of each scorer's part."""
AS_IS = frozenset({"excluded"})
"""Scorers whose values stay in their own unit: standardising a bounded penalty would unbound it."""
FLOOR = -8.0
"""Standard scores below this are cut."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How one scorer's values become parts of the score: part = weight · (value − mean) / deviation."""

    mean: float
    deviation: float
    weight: float

    def part(self, value: Floats) -> Floats:
        """Return the parts of the fused score.

        Example:
            >>> Scale(mean=1.0, deviation=2.0, weight=0.5).part(np.array([3.0, -99.0])).tolist()
            [0.5, -4.0]
        """
        return self.weight * np.maximum((value - self.mean) / self.deviation, FLOOR)


def scale(name: str, scores: Scores) -> Scale:
    """Return the scale of one scorer's values in this query.

    Args:
        name: The scorer.
        scores: Its values for all candidates.
    """
    if name in AS_IS:
        return Scale(0.0, 1.0, WEIGHTS[name])
    deviation = float(scores.total.std())
    return Scale(float(scores.total.mean()), deviation if deviation > 1e-9 else 1.0, WEIGHTS[name])


def fused(scores: Mapping[str, Scores], scales: Mapping[str, Scale]) -> Floats:
    """Return the sum of all parts; shape (candidates,)."""
    total = sum(scales[name].part(score.total) for name, score in scores.items())
    return np.asarray(total, np.float32)
