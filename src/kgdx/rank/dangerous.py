"""Which dangerous diseases must not be missed: those that the findings do not exclude, and what settles each now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kgdx.arrays.sparse import Floats
from kgdx.results.ranked import DangerousDisease

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking import Names
    from kgdx.rank.ranking_model import RankModel

SEVERE = 2
"""Severity up to which a disease is dangerous: the table of conditions says 2, DDXPlus 1 and 2 of its five."""
MOST = 5
"""How many are named."""
BEHIND = 10.0
"""How far behind the first of the list a dangerous disease may be: from 4, 6, 8, 10, the least by which the dangerous
disease of every development note is in the list or named (benchmarks.judgement); two are named for a note then."""
LEAST = 0.2
"""Share of the findings' information that a dangerous disease has to explain."""


class Dangerous:
    """The dangerous diseases of a graph.

    Args:
        snapshot: States how severe diseases are, and what settles them.
        model: The ranking model.
        names: What its numbers stand for.
    """

    def __init__(self, snapshot: Snapshot, model: RankModel, names: Names) -> None:
        self._names = names
        severity, settled = snapshot.column("disease", "severity"), snapshot.values("disease", "settled_by")
        self._settled: dict[int, str] = {}
        for row in np.flatnonzero(severity <= SEVERE).tolist():
            number = int(model.candidates.of[row])
            if number >= 0 and (test := settled[row]):
                self._settled.setdefault(number, test)
        self.numbers = np.array(list(self._settled), np.int64)

    def lane(self, total: Floats, explained: Floats) -> tuple[DangerousDisease, ...]:
        """Return those that must not be missed, the likeliest first.

        Args:
            total: Scores of all candidates; that of what sex or age rules out is the least.
            explained: The share of the findings that each of :attr:`numbers` explains.
        """
        own = total[self.numbers]
        kept = np.flatnonzero((own >= total.max() - BEHIND) & (explained >= LEAST) & (own > total.min()))
        best = kept[np.argsort(-own[kept], kind="stable")][:MOST].tolist()
        return tuple(self._told(int(self.numbers[each]), total, float(explained[each])) for each in best)

    def _told(self, number: int, total: Floats, explained: float) -> DangerousDisease:
        rank = int(np.count_nonzero(total > total[number])) + 1
        named = self._names.candidate(number)
        return DangerousDisease(named.id, named.name, rank, self._settled[number], round(explained, 3), named.name_zh)
