"""The action that ranks diseases for the case, on the snapshot."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from kgdx.answer.artifacts import Ranked
from kgdx.episode.state import Artifact, Reads, State
from kgdx.episode.wish import Action, Operations

MAX_TOP = 100_000
"""More candidates than any graph has diseases."""


class Rank(Action):
    """Rank all diseases by the case's findings and keep the best.

    Example:
        >>> Rank(top=5).parameters()
        {'top': 5, 'also': [], 'case_bank': False, 'explain': False}
    """

    name: ClassVar[str] = "rank"
    needs_findings: ClassVar[bool] = True
    makes: ClassVar[type[Artifact]] = Ranked

    top: Annotated[int, Field(ge=1, le=MAX_TOP)] = 10
    """How many candidates to keep."""

    also: tuple[str, ...] = ()
    """Diseases to keep beside them, wherever they stand."""

    case_bank: bool = False
    """Whether to match with the graph's other patients too."""

    explain: bool = False
    """Whether to say what each finding adds to each candidate's score, which takes as long again."""

    @property
    def reads(self) -> tuple[Reads, ...]:
        """The findings; with the case bank the whole case, whose own publications are withheld."""
        return ("case",) if self.case_bank else ("evidence",)

    def run(self, graph: Operations, view: State) -> Ranked:
        """Return the ranking.

        Raises:
            CaseError: The case has no finding that the ranker knows.
            UsageError: A disease of :attr:`also` is not among those that are ranked.
            StoreError: Other patients are wanted, and the graph has none.
        """
        case = view.case
        given = {
            "observed": list(case.observed),
            "excluded": list(case.excluded),
            "top": self.top,
            "also": list(self.also),
            "case_bank": self.case_bank,
        }
        bank = graph.graph.bank if self.case_bank else None
        return Ranked(
            graph.tool(
                "ranker",
                given,
                lambda: graph.graph.ranker.rank(case, top=self.top, also=self.also, bank=bank, explain=self.explain),
                lambda ranking: len(ranking.candidates),
            )
        )
