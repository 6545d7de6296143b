"""The last action of an episode: the policy declares its diagnosis."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from kgdx.actions.base import Action, Operations
from kgdx.actions.state import State
from kgdx.errors import UsageError


class Diagnose(Action):
    """Declare the present ranking as the diagnosis and end the episode.

    Example:
        >>> Diagnose.name
        'diagnose'
    """

    name: ClassVar[str] = "diagnose"

    def run(self, graph: Operations, state: State) -> State:
        """Return the state, done.

        Raises:
            UsageError: Nothing has been ranked yet.
        """
        if state.ranking is None:
            raise UsageError("there is no ranking to declare", hint="run the action rank first")
        return replace(state, done=True)
