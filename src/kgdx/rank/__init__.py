"""Ranking diseases by phenotype: candidates, scorers, their fusion, and what explains them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgdx.lazy import names_of

if TYPE_CHECKING:
    from kgdx.rank.ranker import Ranker
    from kgdx.rank.ranking import Ranking
    from kgdx.rank.ranking_model import compile_model
    from kgdx.rank.scorers import SCORERS, Scorer

__all__ = [
    "SCORERS",
    "Ranker",
    "Ranking",
    "Scorer",
    "compile_model",
]

__getattr__ = names_of(
    "kgdx",
    {
        "rank.ranker": "Ranker",
        "rank.ranking": "Ranking",
        "rank.ranking_model": "compile_model",
        "rank.scorers": "SCORERS Scorer",
    },
)
