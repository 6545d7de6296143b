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
        language: Language of the case's text; found out when ``None``.

    Example:
        >>> from kgdx.case import Case
        >>> FixedPolicy().choose(State(Case("p"))).name
        'extract'
    """

    top: int = 10
    explain: int = 10
    language: str | None = None

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
            return Rank(top=self.top)
        if state.evidence is None and self.explain:
            return Explain(top=self.explain)
        return Diagnose()
