"""The action that reads the question: which entities of the graph it names."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from kgdx.actions.base import Action, Operations
from kgdx.actions.record import tool
from kgdx.actions.state import State


class Recognise(Action):
    """Find the entities of the graph that the question names.

    Example:
        >>> Recognise().parameters()
        {}
    """

    name: ClassVar[str] = "recognise"

    def run(self, graph: Operations, state: State) -> State:
        """Return the state with what the question mentions."""
        given = {"characters": len(state.question)}
        state, found = tool(state, "names", given, lambda: graph.names.mentions(state.question), len)
        return replace(state, mentioned=tuple(found))
