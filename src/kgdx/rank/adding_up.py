"""Scores cases by all scorers of a ranking and adds up what they say: one case, or several with equal results."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kgdx.arrays.sparse import Floats
from kgdx.rank.fusion import Scored, ScorerScale, Weights, added, scale
from kgdx.rank.query import Query, Recent
from kgdx.rank.scorers import Scorer
from kgdx.rank.term_scorers import ByFinding

PARTS = 64
"""Parts of scores that are kept, of what does not depend on the findings: 80 kB each."""


ANSWERED = 2.0
"""Findings that answers to questions brought beside which the first words count half. Set by hand."""


class Scorers:
    """The scorers of a ranking with what each weighs."""

    def __init__(self, scorers: Mapping[str, Scorer], weights: Weights, size: int) -> None:
        self.scorers, self.size = scorers, size
        self._weight = {name: weights.of(name) for name in scorers}
        self._nothing = np.zeros(size, np.float32)
        self._nothing.setflags(write=False)
        self.forget()

    def forget(self) -> None:
        self._parts: Recent[tuple[int, ScorerScale], tuple[Floats, Floats]] = Recent(PARTS)

    def score(self, query: Query, before: Scored | None = None) -> Scored:
        """Score a query, going on from what is known of it before; the result is the same without that."""
        values: dict[str, Floats] = {}
        combined: dict[str, Floats] = {}
        for name, scorer in self.scorers.items():
            if not scorer.speaks(query):
                continue
            if not scorer.tells(query):
                values[name] = self._nothing
            elif isinstance(scorer, ByFinding):
                rows = None if before is None else before.combined.get(name)
                known = None if before is None or rows is None else (before.query, rows)
                combined[name] = scorer.combined(query, known)
                values[name] = scorer.finish(combined[name], query)
            else:
                values[name] = scorer.score(query)
        return self.fuse(query, values, combined)

    def fuse(self, query: Query, values: Mapping[str, Floats], combined: Mapping[str, Floats]) -> Scored:
        scales, parts = {}, []
        gate = min((scorer.gate(query) for scorer in self.scorers.values()), default=1.0) if query.phrases else 1.0
        for name, value in values.items():
            scorer = self.scorers[name]
            weight = self._weight[name] * scorer.heeded(gate)
            if scorer.hears:
                weight /= 1 + query.answered / ANSWERED
            if value is self._nothing or (value.shape == (self.size,) and not value.any()):
                scales[name] = ScorerScale(0.0, 1.0, weight)
                continue
            field = scorer.field(query)
            scales[name] = scale(scorer, value, weight, self.size, field)
            if field is not None:
                value[field.numbers[1]] = scales[name].mean
            parts.append(self._part(value, scales[name], steady=scorer.steady))
        total = added(parts, self.size)
        total.setflags(write=False)  # it is kept, and handed out
        return Scored(query, values, scales, total, combined)

    def _part(self, value: Floats, scale: ScorerScale, *, steady: bool) -> Floats:
        if not steady:
            return scale.part(value)
        # the array is kept beside its part, so that no other one can have its id
        return self._parts.get((id(value), scale), lambda: (value, scale.part(value)))[1]
