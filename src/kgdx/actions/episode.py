"""The loop: a policy looks at the state and chooses an action, the action returns a new state, until an end is reached.

Pure but for the graph: equal graph, case, policy and seed give an equal log. It needs no language model.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Protocol

from kgdx.actions.base import Action, Operations
from kgdx.actions.state import Author, Limits, Segment, State
from kgdx.errors import KgdxError

CLOSING_STEPS = 8
"""Most actions that bring an episode to its end after a limit."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A policy's next action, and what came about while it chose.

    Attributes:
        action: The action; ``None`` when there is nothing more to do.
        said: Goes into the log before the action: what a model was asked and answered, what of its plan is refused.

    Example:
        >>> Chosen(None).said
        ()
    """

    action: Action | None
    said: tuple[Segment, ...] = ()


class Policy(Protocol):
    """Chooses the next action; keeps no state of its own, so that one policy can serve many episodes.

    What it has to remember from one choice to the next is in the log of the state.
    """

    @property
    def name(self) -> str:
        """Its name in the registry and in the log."""
        ...

    def choose(self, state: State) -> Action | Chosen | None:
        """Return the next action; ``None`` when there is nothing more to do.

        Raises:
            KgdxError: It cannot choose; the episode ends with what it has.
        """
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


def run(
    graph: Operations, state: State, policy: Policy, limits: Limits | None = None, closing: Policy | None = None
) -> Episode:
    """Run an episode to its end; a failing action or choice ends it with what it has.

    Args:
        graph: Where the actions run.
        state: Where to start.
        policy: Who chooses.
        limits: When to stop a policy that would go on.
        closing: Who brings an episode to an end that its policy or a limit left without one: at most
            :data:`CLOSING_STEPS` actions, until one fails.

    Returns:
        The episode; its reason is ``diagnosed``, ``answered``, ``policy ended``, ``steps``, ``stagnation``, ``time``,
        ``cost``, ``calls``, ``tokens`` or ``error``.
    """
    episode = _run(graph, state, policy, limits or Limits())
    if closing is not None and not episode.state.done:
        closed = _run(graph, episode.state, closing, Limits(steps=CLOSING_STEPS))
        episode = replace(episode, state=closed.state, error=episode.error or closed.error)
    end = Segment(Author.TOOL, "end", "episode", content=episode.reason)
    return replace(episode, state=episode.state.logged(end))


def _run(graph: Operations, state: State, policy: Policy, limits: Limits) -> Episode:
    clock = _Clock(limits)
    error: KgdxError | None = None
    failures = 0
    while (reason := clock.reason(state)) is None:
        try:
            chosen = policy.choose(state)
        except KgdxError as caught:
            error, state, reason = caught, state.logged(_error(policy.name, caught)), "error"
            break
        if isinstance(chosen, Chosen):
            state = state.logged(*chosen.said)
        action = chosen.action if isinstance(chosen, Chosen) else chosen
        if action is None:
            reason = "policy ended"
            break
        try:
            after = step(graph, state, action)
        except KgdxError as caught:
            error, failures = caught, failures + 1
            made = Segment(Author.POLICY, "action", action.name, action.parameters())
            state = state.logged(made, _error(action.name, caught))
            clock.count(changed=False)
            if failures > limits.errors:
                reason = "error"
                break
            continue
        clock.count(changed=after.differs(state))
        state, error = after, None
    return Episode(state, policy.name, reason, error)


def _error(name: str, error: KgdxError) -> Segment:
    return Segment(Author.TOOL, "error", name, {"error": type(error).__name__}, content=str(error))


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
            return "diagnosed" if state.answer is None else "answered"
        if self._steps >= limits.steps:
            return "steps"
        if self._stagnant >= limits.stagnation:
            return "stagnation"
        if limits.seconds is not None and time.monotonic() - self._started >= limits.seconds:
            return "time"
        if limits.cost is not None and state.cost >= limits.cost:
            return "cost"
        if limits.calls is None and limits.tokens is None:
            return None
        spent = state.spent
        if limits.calls is not None and spent.calls >= limits.calls:
            return "calls"
        if limits.tokens is not None and spent.read + spent.written >= limits.tokens:
            return "tokens"
        return None
