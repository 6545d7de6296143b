"""The action that reads the question: which entities of the graph it names."""

from __future__ import annotations

from typing import ClassVar

from kgdx.answer.artifacts import Mentioned
from kgdx.episode.state import Artifact, State
from kgdx.episode.wish import Action, Operations


class Recognise(Action):
    """Find the entities of the graph that the question names.

    Example:
        >>> Recognise().parameters()
        {}
    """

    name: ClassVar[str] = "recognise"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Mentioned

    def run(self, graph: Operations, view: State) -> Mentioned:
        """Return what the question mentions."""
        given = {"characters": len(view.question)}
        return Mentioned(graph.tool("names", given, lambda: tuple(graph.graph.names.mentions(view.question)), len))
