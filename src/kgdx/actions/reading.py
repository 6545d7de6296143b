"""The action that reads the case: text into findings, ids brought up to date, contradictions settled."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from kgdx.actions.base import Action, Operations
from kgdx.actions.record import tool
from kgdx.actions.state import State
from kgdx.case import Case, read_text


class Extract(Action):
    """Read the findings of the case's text and clean the case.

    Example:
        >>> Extract().parameters()
        {'language': None}
    """

    name: ClassVar[str] = "extract"

    language: str | None = None
    """Language of the text, ``en`` or ``zh``; found out when absent."""

    def run(self, graph: Operations, state: State) -> State:
        """Return the state with the case read.

        Raises:
            CaseError: No finding was recognised.
        """
        if state.read:
            return state

        def read() -> Case:
            return read_text(state.case, graph.reader, graph.ancestry, language=self.language)

        given = {"characters": len(state.case.text), "terms": len(state.case.findings)}
        state, case = tool(state, "reader", given, read, lambda case: len(case.findings))
        return replace(state, case=case, read=True)
