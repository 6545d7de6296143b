"""The last action of an episode: the policy declares its diagnosis."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from kgdx.answer.artifacts import Declared, Ranked
from kgdx.episode.state import Artifact, Reads, State
from kgdx.episode.wish import Action, Operations


class Diagnose(Action):
    """Declare the present ranking, or an order of diseases, as the diagnosis and end the episode.

    Example:
        >>> Diagnose().parameters()
        {'diseases': []}
    """

    name: ClassVar[str] = "diagnose"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Declared
    ends: ClassVar[str] = "diagnosed"
    pure: ClassVar[bool] = True

    diseases: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    """Ids of diseases, best first; the ranking's own order when absent."""

    @property
    def reads(self) -> tuple[Reads, ...]:
        """The ranking; an order of diseases stands alone."""
        return () if self.diseases else (Ranked,)

    def refused(self, state: State) -> str | None:
        """Refuse to declare a ranking that was made of an older case, or none."""
        if self.diseases or state.get(Ranked) is not None:
            return None
        if state.last(Ranked) is not None:
            return "the ranking was made before the case's findings changed: run the action rank again"
        return "there is no ranking to declare: run the action rank first"

    def run(self, graph: Operations, view: State) -> Declared:
        """Return the declaration."""
        return Declared(self.diseases)
