"""The loop: a policy looks at the state and chooses an action, the action returns a new state, until an end is reached.

Pure but for the graph: equal graph, case, policy and seed give an equal log. It needs no language model.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from kgdx.actions.base import Action, Operations
from kgdx.actions.state import Author, Limits, Segment, State
from kgdx.errors import KgdxError


class Policy(Protocol):
    """Chooses the next action; keeps no state of its own, so that one policy can serve many episodes."""

    @property
    def name(self) -> str:
        """Its name in the registry and in the log."""
        ...

    def choose(self, state: State) -> Action | None:
        """Return the next action; ``None`` when there is nothing more to do."""
        ...


@dataclass(frozen=True, slots=True)
class Episode:
    """A finished episode: its last state, why it ended, and the error that ended it, if one did."""

    state: State
    policy: str
    reason: str
    error: KgdxError | None = None

    @property
    def log(self) -> tuple[Segment, ...]:
        """The record of the whole episode."""
        return self.state.log


def step(graph: Operations, state: State, action: Action) -> State:
    """Run one action and record it.

    Raises:
        KgdxError: The action cannot be done.
    """
    return action.run(graph, state.logged(Segment(Author.POLICY, "action", action.name, action.parameters())))


def run(graph: Operations, state: State, policy: Policy, limits: Limits | None = None) -> Episode:
    """Run an episode to its end; a failing action ends it with what it has.

    Args:
        graph: Where the actions run.
        state: Where to start.
        policy: Who chooses.
        limits: When to stop a policy that would go on.

    Returns:
        The episode; its reason is ``diagnosed``, ``policy ended``, ``steps``, ``stagnation``, ``time``, ``cost`` or
        ``error``.
    """
    limits = limits or Limits()
    clock = _Clock(limits)
    error: KgdxError | None = None
    failures = 0
    while (reason := clock.reason(state)) is None:
        action = policy.choose(state)
        if action is None:
            reason = "policy ended"
            break
        try:
            after = step(graph, state, action)
        except KgdxError as caught:
            error, failures = caught, failures + 1
            state = state.logged(*_failed(action, caught))
            clock.count(changed=False)
            if failures > limits.errors:
                reason = "error"
                break
            continue
        clock.count(changed=after.differs(state))
        state, error = after, None
    state = state.logged(Segment(Author.TOOL, "end", "episode", content=reason))
    return Episode(state, policy.name, reason, error)


def _failed(action: Action, error: KgdxError) -> Iterator[Segment]:
    yield Segment(Author.POLICY, "action", action.name, action.parameters())
    yield Segment(Author.TOOL, "error", action.name, content=str(error))


class _Clock:
    """Counts what the limits are about."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._started = time.monotonic()
        self._steps = 0
        self._stagnant = 0

    def count(self, *, changed: bool) -> None:
        self._steps += 1
        self._stagnant = 0 if changed else self._stagnant + 1

    def reason(self, state: State) -> str | None:
        """Return why the episode ends here, or ``None``."""
        limits = self._limits
        if state.done:
            return "diagnosed"
        if self._steps >= limits.steps:
            return "steps"
        if self._stagnant >= limits.stagnation:
            return "stagnation"
        if limits.seconds is not None and time.monotonic() - self._started >= limits.seconds:
            return "time"
        if limits.cost is not None and state.cost >= limits.cost:
            return "cost"
        return None
