"""The default policy: read the case, rank all diseases, explain the best, declare. No choice, no language model."""

from __future__ import annotations

from dataclasses import dataclass

from kgdx.actions.base import Action
from kgdx.actions.declare import Diagnose
from kgdx.actions.explaining import Explain
from kgdx.actions.ranking import Rank
from kgdx.actions.reading import Extract
from kgdx.actions.state import State


@dataclass(frozen=True, slots=True)
class FixedPolicy:
    """Extract, rank, explain, diagnose.

    Attributes:
        top: How many candidates to rank.
        explain: How many of them to explain.
        also: Diseases to rank and explain beside the best, wherever they stand.
        language: Language of the case's text; found out when ``None``.
        case_bank: Whether to match with the graph's other patients too.

    Example:
        >>> from kgdx.case import Case
        >>> FixedPolicy().choose(State(Case("p"))).name
        'extract'
    """

    top: int = 10
    explain: int = 10
    also: tuple[str, ...] = ()
    language: str | None = None
    case_bank: bool = False

    @property
    def name(self) -> str:
        """``fixed``."""
        return "fixed"

    def choose(self, state: State) -> Action | None:
        """Return the next action of the fixed order."""
        if state.done:
            return None
        if not state.read:
            return Extract(language=self.language)
        if state.ranking is None:
            return Rank(top=self.top, also=self.also, case_bank=self.case_bank)
        if state.evidence is None and self.explain:
            return Explain(top=self.explain)
        if self.also and not set(self.also) <= _explained(state):
            return Explain(diseases=self.also)
        return Diagnose()


def _explained(state: State) -> set[str]:
    """Ids of the diseases that have their evidence, with the entries merged into them."""
    evidence = state.evidence or {}
    candidates = () if state.ranking is None else state.ranking.candidates
    merged = {member for candidate in candidates if candidate.id in evidence for member in candidate.members}
    return merged | evidence.keys()
