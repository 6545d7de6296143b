"""What ranking returns: candidates with the parts of their scores and, once explained, what each finding adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from kgdx.case.patient import Case, Issue
from kgdx.results.ranked import Candidate, Contribution, MatchedCase

__all__ = ["Bank", "Candidate", "Contribution", "MatchedCase", "Ranking", "leaving_out"]


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


class Bank(Protocol):
    """Other patients that a case can be matched with; :class:`kgdx.rank.bank.CaseBank` is one."""

    def match(self, scored: Any, leave_out: frozenset[str] = frozenset()) -> Any:
        """Return the patients that are most similar, without those left out."""
        ...


def leaving_out(case: Case) -> frozenset[str]:
    """Return what a case's own patients are known by: its id and its publications.

    Example:
        >>> sorted(leaving_out(Case("p1", publications=("PMID:1",))))
        ['PMID:1', 'p1']
    """
    return frozenset({case.id, *case.publications} - {""})
