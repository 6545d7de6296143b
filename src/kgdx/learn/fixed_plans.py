"""Plans that are fixed before a patient is met: what a learned policy has to be better than."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgdx.arrays.sparse import Floats
from kgdx.rank.choices import FEATURES


@dataclass(frozen=True)
class FixedPlan:
    """Look up so many diseases, match, diagnose. It scores listed choices like a network does.

    Attributes:
        times: How many diseases are looked up, the leading one first that was not looked up yet; or rounds asked.
        weight: How much the match counts; no match where ``None``.
        kind: ``lookup``, or ``round`` for rounds of the ten most telling questions.
        wide: How many of the rounds, the first ones, are wide.

    Example:
        >>> str(FixedPlan(8, 2.0)), str(FixedPlan(4, 2.0, "round", 2))
        ('8 lookups, match 2', '4 rounds (2 wide), match 2')
    """

    times: int = 0
    weight: float | None = None
    kind: str = "lookup"
    wide: int = 0

    def __str__(self) -> str:
        done = f"{self.times} {self.kind}s{f' ({self.wide} wide)' * (self.wide > 0)}" if self.times else "at once"
        return done if self.weight is None else f"{done}, match {self.weight:g}"

    def logits(self, features: Floats) -> Floats:
        """Return the score of each choice: the greatest for what the plan does next.

        Args:
            features: Shape (…, FEATURES).
        """

        def of(name: str) -> Floats:
            return features[..., FEATURES.index(name)]

        asked = np.rint(of("lookups_done") * 8)
        more, right = asked < self.times, of("wide") == (asked < self.wide)
        fresh = of(self.kind) * right * (8 - 4 * of("times_looked_up") - of("place"))
        found: Floats = of("diagnose") + np.where(more, 10 * fresh, 0)
        if self.weight is not None:
            usual = (of("weight") == self.weight / 2) & (of("specific") == 0) & (of("matched") == 0)
            found = found + 5 * of("match") * usual
        return found


PLANS = (
    *(FixedPlan(0, weight) for weight in (None, 1.0, 2.0)),
    *(FixedPlan(times, 2.0) for times in (1, 3)),
    *(FixedPlan(8, weight) for weight in (None, 1.0, 2.0)),
    *(FixedPlan(times, 2.0, "round") for times in (1, 3, 5, 8)),
    *(FixedPlan(times, 2.0, "round", wide) for times, wide in ((3, 2), (3, 3), (4, 2), (5, 3), (6, 3), (8, 3))),
)
"""The plans that are compared; a match without weight changes no ranking and is left out."""

TEACHER = FixedPlan(4, 2.0, "round", 2)
"""The plan that a policy imitates before it learns from rewards."""
