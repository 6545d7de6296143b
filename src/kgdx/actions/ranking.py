"""The action that ranks diseases for the case, on the snapshot."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from kgdx.actions.base import Action, Operations
from kgdx.actions.record import tool
from kgdx.actions.state import State

MAX_TOP = 100_000
"""More candidates than any graph has diseases."""


class Rank(Action):
    """Rank all diseases by the case's findings and keep the best.

    Example:
        >>> Rank(top=5).parameters()
        {'top': 5, 'also': [], 'case_bank': False}
    """

    name: ClassVar[str] = "rank"

    top: Annotated[int, Field(ge=1, le=MAX_TOP)] = 10
    """How many candidates to keep."""

    also: tuple[str, ...] = ()
    """Diseases to keep beside them, wherever they stand."""

    case_bank: bool = False
    """Whether to match with the graph's other patients too."""

    def run(self, graph: Operations, state: State) -> State:
        """Return the state with a ranking; evidence of an older one is dropped.

        Raises:
            CaseError: The case has no finding that the ranker knows.
            UsageError: A disease of :attr:`also` is not among those that are ranked.
            StoreError: Other patients are wanted, and the graph has none.
        """
        given = {
            "observed": list(state.case.observed),
            "excluded": list(state.case.excluded),
            "top": self.top,
            "also": list(self.also),
            "case_bank": self.case_bank,
        }
        bank = graph.bank if self.case_bank else None
        state, ranking = tool(
            state,
            "ranker",
            given,
            lambda: graph.ranker.rank(state.case, top=self.top, also=self.also, bank=bank, explain=True),
            lambda ranking: len(ranking.candidates),
        )
        return replace(state, ranking=ranking, evidence=None)
