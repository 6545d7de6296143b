"""Ranking diseases by phenotype: candidates, scorers, their fusion, and what explains them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgdx.rank.model import Candidate, Contribution, MatchedCase, Ranking

if TYPE_CHECKING:
    from kgdx.rank.compile import compile_model
    from kgdx.rank.ranker import Ranker

__all__ = ["Candidate", "Contribution", "MatchedCase", "Ranker", "Ranking", "compile_model"]


def __getattr__(name: str) -> Any:
    if name == "Ranker":
        from kgdx.rank.ranker import Ranker

        return Ranker
    if name == "compile_model":
        from kgdx.rank.compile import compile_model

        return compile_model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
