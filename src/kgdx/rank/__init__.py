"""Ranking diseases by phenotype: candidates, scorers, their fusion, and what explains them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgdx.lazy import names_of

if TYPE_CHECKING:
    from kgdx.rank.fusion import Beliefs, Scored, Weights
    from kgdx.rank.query import Query
    from kgdx.rank.ranker import Ranker
    from kgdx.rank.ranking import Ranking
    from kgdx.rank.ranking_model import compile_model
    from kgdx.rank.scorers import SCORERS, Scorer
    from kgdx.rank.term_scorers import ByFinding

__all__ = [
    "SCORERS",
    "Beliefs",
    "ByFinding",
    "Query",
    "Ranker",
    "Ranking",
    "Scored",
    "Scorer",
    "Weights",
    "compile_model",
]

__getattr__ = names_of(
    "kgdx",
    {
        "rank.fusion": "Beliefs Scored Weights",
        "rank.query": "Query",
        "rank.ranker": "Ranker",
        "rank.ranking": "Ranking",
        "rank.ranking_model": "compile_model",
        "rank.scorers": "SCORERS Scorer",
        "rank.term_scorers": "ByFinding",
    },
)
