"""Ranks the diseases of a snapshot for a case, without a language model; what a place rests on is asked for apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgdx.arrays.sparse import Floats, Ints
from kgdx.rank.fusion import Scale
from kgdx.rank.scorers import Query

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class Scored:
    """A case with every candidate's scores.

    Attributes:
        query: The case.
        values: Scorer → its scores; shape (candidates,).
        scales: Scorer → how its scores become parts.
        total: The fused score; shape (candidates,).
        combined: Scorer → what its rows came to, where it combines rows: a longer case goes on from there.
    """

    query: Query
    values: Mapping[str, Floats]
    scales: Mapping[str, Scale]
    total: Floats
    combined: Mapping[str, Floats]

    def parts(self, numbers: Ints) -> list[dict[str, float]]:
        """Return the parts of some candidates' scores, by scorer."""
        by_scorer = {name: self.scales[name].part(value[numbers]).tolist() for name, value in self.values.items()}
        return [{name: part[place] for name, part in by_scorer.items()} for place in range(len(numbers))]
