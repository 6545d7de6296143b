"""What ranking returns: candidates with the parts of their scores and, once explained, what each finding adds."""

from __future__ import annotations

from dataclasses import dataclass

from kgdx.case.model import Issue
from kgdx.results.ranked import Candidate, Contribution, MatchedCase

__all__ = ["Candidate", "Contribution", "MatchedCase", "Ranking"]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best candidates for a case.

    Attributes:
        candidates: Best first.
        n_candidates: How many were compared.
        issues: Findings that could not be used, and why.
    """

    candidates: tuple[Candidate, ...]
    n_candidates: int
    issues: tuple[Issue, ...] = ()
