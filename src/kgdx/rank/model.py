"""What ranking returns: candidates with the parts of their scores and, once explained, what each finding adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kgdx.case.model import Issue, Status


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one finding adds to one candidate's score through one scorer.

    Attributes:
        finding: HPO CURIE of the finding; empty for what belongs to the disease alone (rule ``breadth``) or to the
            comparison with the other diseases (rule ``baseline``).
        status: Whether the patient has the finding or is known not to have it.
        score: Its share of the candidate's score, in the score's own unit; a candidate's contributions sum to it.
        rule: How finding and disease were matched: ``exact``, ``descendant`` (a more specific term is annotated),
            ``ancestor`` (a more general one), ``shared`` (another term under a common ancestor), ``neighbour``
            (similar diseases have it), ``annotated_absent``, ``excluded_annotated``, ``excluded``, ``background``;
            ``patient`` for what a patient of the case bank adds beyond the disease's own score.
        matched: HPO CURIE of the annotated term that explains it; the similar disease's for ``neighbour``, the
            patient's id for ``patient``.
        via: HPO CURIE of the ancestor that finding and annotated term share; empty where they are the same.
        frequency: The annotated term's frequency as its sources state it.
        references: The sources of that annotation.
        scorer: Name of the scorer.
    """

    finding: str
    status: Status
    score: float
    rule: str
    scorer: str
    matched: str = ""
    via: str = ""
    frequency: str = ""
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MatchedCase:
    """Another patient of the graph, diagnosed with the candidate.

    Attributes:
        id: The patient case's id.
        score: Its score when it is ranked like a disease.
        shared: HPO CURIEs of the case's findings that this patient has too, or has something more specific of.
        publications: Where the patient is reported.
    """

    id: str
    score: float
    shared: tuple[str, ...]
    publications: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """One disease in a ranking; entries that are the same disease are one candidate.

    Attributes:
        rank: 1 is best; equal scores are ordered by id.
        id: CURIE of the entry that stands for the candidate (OMIM before others).
        name: Its name.
        members: CURIEs of all merged entries, ``id`` first.
        score: Sum of the scorers' weighted, standardised parts.
        parts: Scorer name → its part of the score; ``case_bank`` where a patient raised it.
        contributions: What each finding adds through each scorer; they sum to ``score``. Empty until it is explained.
        cases: The most similar patients with this disease, where the case bank is used.
        name_zh: Its Chinese name, where the graph has one.
    """

    rank: int
    id: str
    name: str
    members: tuple[str, ...]
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)
    contributions: tuple[Contribution, ...] = ()
    cases: tuple[MatchedCase, ...] = ()
    name_zh: str | None = None

    @property
    def raised(self) -> tuple[Contribution, ...]:
        """What the best patient of the case bank adds: one contribution, or none."""
        gain = self.parts.get("case_bank")
        if gain is None:
            return ()
        return (Contribution("", Status.UNKNOWN, gain, "patient", "case_bank", matched=self.cases[0].id),)


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
