"""Ranking diseases by phenotype: candidates, scorers, their fusion, and what explains them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kgdx.rank.ranking import Ranking
from kgdx.results.ranked import Candidate, Contribution, MatchedCase

if TYPE_CHECKING:
    from kgdx.rank.fusion import Beliefs, Scored, Weights
    from kgdx.rank.query import Query
    from kgdx.rank.ranker import Ranker
    from kgdx.rank.ranking_model import compile_model
    from kgdx.rank.scorers import SCORERS, Scorer
    from kgdx.rank.term_scorers import ByFinding

_LAZY = {
    "Beliefs": "fusion",
    "ByFinding": "term_scorers",
    "Query": "query",
    "Ranker": "ranker",
    "SCORERS": "scorers",
    "Scored": "fusion",
    "Scorer": "scorers",
    "Weights": "fusion",
    "compile_model": "ranking_model",
}

__all__ = [
    "SCORERS",
    "Beliefs",
    "ByFinding",
    "Candidate",
    "Contribution",
    "MatchedCase",
    "Query",
    "Ranker",
    "Ranking",
    "Scored",
    "Scorer",
    "Weights",
    "compile_model",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
