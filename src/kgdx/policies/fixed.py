"""The default policy: read the case, rank all diseases, explain the best, declare. No choice, no language model."""

from __future__ import annotations

from typing import ClassVar

from kgdx.actions.explaining import Explain
from kgdx.actions.reading import Diagnose, Extract, Rank
from kgdx.answer.artifacts import Explained, Ranked, Read, evidence_of, ranking_of
from kgdx.episode.policy import Policy
from kgdx.episode.state import State
from kgdx.episode.wish import Wish


class FixedPolicy(Policy):
    """Extract, rank, explain, diagnose."""

    name: ClassVar[str] = "fixed"

    top: int = 10
    """How many candidates to rank."""
    explain: int = 10
    """How many of them to explain."""
    also: tuple[str, ...] = ()
    """Diseases to rank and explain beside the best, wherever they stand."""
    language: str | None = None
    """Language of the case's text; found out when ``None``."""
    gates: bool = True
    """Whether diseases that sex or age rules out are left out."""
    case_bank: bool | None = None
    """Whether to match with the graph's other patients too; ``None`` where it has some."""

    def choose(self, state: State) -> Wish | None:
        if state.get(Read) is None:
            return Extract(language=self.language)
        if state.get(Ranked) is None:
            return Rank(
                top=self.top,
                also=self.also,
                case_bank=self.case_bank,
                gates=self.gates,
                explain=True,
                abstain=not self.also,
            )
        ranking = ranking_of(state)
        if ranking is not None and not ranking.candidates:
            return Diagnose()
        if self.explain and not state.all(Explained):
            return Explain(top=self.explain)
        if self.also and not set(self.also) <= _explained(state):
            return Explain(diseases=self.also)
        return Diagnose()


def _explained(state: State) -> set[str]:
    evidence, ranking = evidence_of(state), ranking_of(state)
    candidates = () if ranking is None else ranking.candidates
    merged = {member for candidate in candidates if candidate.id in evidence for member in candidate.members}
    return merged | evidence.keys()
