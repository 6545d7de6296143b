"""The loop: a policy looks at the state and chooses an action, the action returns a new state, until an end is reached.

Pure but for the graph: equal graph, case, policy and seed give an equal log. It needs no language model.
"""

from __future__ import annotations

import time
from collections.abc import Callable
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


Watch = Callable[[Segment], None]
"""Told what happens in an episode."""


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
    graph: Operations,
    state: State,
    policy: Policy,
    limits: Limits | None = None,
    *,
    closing: Policy | None = None,
    watch: Watch | None = None,
) -> Episode:
    """Run an episode to its end; a failing action or choice ends it with what it has.

    Args:
        graph: Where the actions run.
        state: Where to start.
        policy: Who chooses.
        limits: When to stop a policy that would go on.
        closing: Who brings an episode to an end that its policy or a limit left without one: at most
            :data:`CLOSING_STEPS` actions, until one fails.
        watch: Given each segment of the log, as soon as the choice and its action are done.

    Returns:
        The episode; its reason is ``diagnosed``, ``answered``, ``policy ended``, ``steps``, ``stagnation``, ``time``,
        ``cost``, ``calls``, ``tokens`` or ``error``.
    """
    watch = watch or _nobody
    episode = _run(graph, state, policy, limits or Limits(), watch)
    if closing is not None and not episode.state.done:
        closed = _run(graph, episode.state, closing, Limits(steps=CLOSING_STEPS), watch)
        episode = replace(episode, state=closed.state, error=episode.error or closed.error)
    end = Segment(Author.TOOL, "end", "episode", content=episode.reason)
    watch(end)
    return replace(episode, state=episode.state.logged(end))


def _run(graph: Operations, state: State, policy: Policy, limits: Limits, watch: Watch) -> Episode:
    clock = _Clock(limits)
    error: KgdxError | None = None
    while (reason := clock.reason(state)) is None:
        before = state
        state, failed, reason = _turn(graph, before, policy)
        for segment in state.log[len(before.log) :]:
            watch(segment)
        if reason is not None:
            error = failed or error
            break
        error = failed
        clock.count(changed=state.differs(before), failed=failed is not None)
    return Episode(state, policy.name, reason, error)


def _turn(graph: Operations, state: State, policy: Policy) -> tuple[State, KgdxError | None, str | None]:
    """Let the policy choose and do what it chose.

    Returns:
        The state, what failed, and why the episode ends here, if it does.
    """
    try:
        chosen = policy.choose(state)
    except KgdxError as error:
        return state.logged(_error(policy.name, error)), error, "error"
    if isinstance(chosen, Chosen):
        state = state.logged(*chosen.said)
    action = chosen.action if isinstance(chosen, Chosen) else chosen
    if action is None:
        return state, None, "policy ended"
    try:
        return step(graph, state, action), None, None
    except KgdxError as error:
        made = Segment(Author.POLICY, "action", action.name, action.parameters())
        return state.logged(made, _error(action.name, error)), error, None


def _error(name: str, error: KgdxError) -> Segment:
    return Segment(Author.TOOL, "error", name, {"error": type(error).__name__}, content=str(error))


def _nobody(segment: Segment) -> None:
    """Nobody watches."""


class _Clock:
    """Counts what the limits are about."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._started = time.monotonic()
        self._steps = 0
        self._stagnant = 0
        self._failures = 0

    def count(self, *, changed: bool, failed: bool) -> None:
        self._steps += 1
        self._failures += failed
        self._stagnant = 0 if changed else self._stagnant + 1

    def reason(self, state: State) -> str | None:
        """Return why the episode ends here, or ``None``."""
        limits = self._limits
        if state.done:
            return "diagnosed" if state.answer is None else "answered"
        if self._failures > limits.errors:
            return "error"
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
        if limits.tokens is not None and spent.prompt_tokens + spent.completion_tokens >= limits.tokens:
            return "tokens"
        return None
