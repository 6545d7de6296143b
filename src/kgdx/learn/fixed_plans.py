"""Plans that are fixed before a patient is met: what an agent that is trained has to be better than."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.rank.choices import FEATURES


@dataclass(frozen=True)
class FixedPlan:
    """So many rounds of questions, or look-ups of the leading disease that was looked up least, and a diagnosis."""

    times: int = 0
    kind: Literal["round", "lookup"] = "round"

    def __str__(self) -> str:
        return f"{self.times} {self.kind}s" if self.times else "at once"

    def __call__(self, features: Floats, listed: Ints) -> Ints:
        """Return the place that is chosen in each episode, of a :class:`~kgdx.rank.choices.Listing`."""

        def of(name: str) -> Floats:
            return features[..., FEATURES.index(name)]

        more = np.rint(of(f"{self.kind}s_done") * 8) < self.times
        value = of("diagnose") + 10 * more * of(self.kind) * (8 - 4 * of("times_looked_up") - of("place"))
        found: Ints = np.where(listed, value, -np.inf).argmax(axis=1)
        return found


PLANS = (FixedPlan(), *(FixedPlan(times) for times in (1, 2, 3, 5, 8)), *(FixedPlan(each, "lookup") for each in (3, 8)))
"""The plans that are compared."""


@dataclass(frozen=True)
class AtRandom:
    """Takes any place that is listed."""

    chance: np.random.Generator

    def __call__(self, features: Floats, listed: Ints) -> Ints:
        found: Ints = np.where(listed, self.chance.random(listed.shape), -1.0).argmax(axis=1)
        return found
