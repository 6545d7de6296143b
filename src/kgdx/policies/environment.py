"""Consultations as a Gymnasium environment: the same states, wishes and limits, chosen by number.

``gymnasium.make("kgdx.policies.environment:kgdx/Consult-v0", world=…, starts=…, menu=…)`` makes one by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from kgdx.actions.believing import Shares
from kgdx.answer.artifacts import Declared, Ranked
from kgdx.episode.loop import advance, chosen, forbidden, perform, refusal
from kgdx.episode.policy import Policy
from kgdx.episode.state import State
from kgdx.episode.wish import Action, Wish
from kgdx.episode.world import World
from kgdx.errors import MissingExtraError, UsageError

try:
    import gymnasium
    from gymnasium.spaces import Box, Discrete
except ImportError as error:
    raise MissingExtraError("an environment of consultations", "environment") from error

NAME = "kgdx/Consult-v0"
LEADERS = 16
QUESTION = 0.01

Floats = NDArray[np.float32]
Features = Callable[[State], Floats]
"""What an agent observes of a state: one array of one length for every state."""
Reward = Callable[[State, State], float]
"""What a step is worth: a pure function of the state before and after it."""


def leading(state: State) -> Floats:
    """Return what is observed by default: numbers from 0 to 1.

    The shares of the 16 leading diseases, whether shares and ranking are fresh, how many findings are present, absent
    and unknown (of 64), and how many of the steps that the limits allow are taken.

    Example:
        >>> from kgdx.case import Case
        >>> leading(State(Case("p"))).shape
        (22,)
    """
    values = np.zeros(LEADERS + 6, np.float32)
    shares = state.last(Shares)
    if shares is not None:
        told = [each.share for each in shares.shares[:LEADERS]]
        values[: len(told)] = told
    present, absent = len(state.case.observed), len(state.case.excluded)
    counts = (present, absent, max(len(state.case.findings) - present - absent, 0))
    values[LEADERS:] = (
        state.get(Shares) is not None,
        state.get(Ranked) is not None,
        *(min(each, 64) / 64 for each in counts),
        min(state.counts.steps / max(state.limits.steps, 1), 1.0),
    )
    return values


def certainty(before: State, after: State) -> float:
    """Return the default reward, which knows no truth: what the leading share gained, less 0.01 for each question."""
    return _share(after) - _share(before) - QUESTION * (after.counts.questions - before.counts.questions)


def _share(state: State) -> float:
    found = state.last(Shares)
    return found.shares[0].share if found is not None and found.shares else 0.0


def declares(truth: Mapping[str, Collection[str]], question: float = QUESTION) -> Reward:
    """Return a reward of 1 for a declaration whose first disease is right, less a price for each question.

    Args:
        truth: Ids of the right diseases by :attr:`Case.id`; no observation holds them.
        question: Price of a question.
    """

    def reward(before: State, after: State) -> float:
        price = question * (after.counts.questions - before.counts.questions)
        declared = after.get(Declared) if after.finished else None
        if declared is None or before.finished:
            return -price
        ranked = after.get(Ranked)
        best = ranked.ranking.candidates[:1] if ranked is not None else ()
        first = (
            {declared.diseases[0]} if declared.diseases else {id for each in best for id in (each.id, *each.members)}
        )
        return float(not first.isdisjoint(truth.get(after.case.id, ()))) - price

    return reward


class _Chosen(Policy):
    """Wishes what the agent has chosen, and closes without a wish of its own."""

    name: ClassVar[str] = "environment"
    wish: Wish | None

    def choose(self, state: State) -> Wish | None:
        return self.wish

    def close(self, state: State) -> Wish | None:
        return None


class ConsultEnv(gymnasium.Env[Floats, np.int64]):
    """Episodes in which an agent chooses each wish from a menu.

    A declaration terminates an episode, a limit truncates it. ``info["action_mask"]`` tells which places of the menu
    can be wished now (:meth:`Wish.refused`, and the limits); one that cannot is an error in the log, of which
    ``limits.errors`` allows some. ``info["reason"]`` is why the episode has ended, empty while it goes on.

    Args:
        world: What episodes act on; everybody whom the menu asks has to be there.
        starts: States in which episodes begin, drawn by the seed of :meth:`reset`; from :func:`kgdx.episode.begin`.
        menu: The wishes that can be chosen, such as ``AskPatient(term=…)``, ``Believe()``, ``Rank()``, ``Diagnose()``.
        features: What of a state is observed.
        reward: What a step is worth.
        bounds: Least and greatest value of a feature.

    Raises:
        UsageError: There is no start or menu, or the world cannot do what the menu offers.

    Example:
        >>> from kgdx.actions import Diagnose
        >>> from kgdx.case import Case
        >>> env = ConsultEnv(World(), [State(Case("p"))], [Diagnose(diseases=("OMIM:154700",)), Diagnose()])
        >>> observed, info = env.reset(seed=7)
        >>> info["action_mask"].tolist()
        [1, 0]
        >>> _, _, terminated, truncated, info = env.step(0)
        >>> terminated, truncated, info["reason"]
        (True, False, 'diagnosed')
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own attribute

    def __init__(
        self,
        world: World,
        starts: Sequence[State],
        menu: Sequence[Wish],
        features: Features = leading,
        reward: Reward = certainty,
        bounds: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        if not starts or not menu:
            raise UsageError("an environment needs a start and a menu", hint="give at least one state and one wish")
        for wish in menu:
            _check(world, wish)
        self.world, self.starts, self.menu = world, tuple(starts), tuple(menu)
        self.features, self.reward = features, reward
        self.action_space = Discrete(len(self.menu))
        self.observation_space = Box(*bounds, features(self.starts[0]).shape, np.float32)
        self._choices = tuple(_Chosen(wish=wish) for wish in self.menu)
        self._state: State | None = None

    @property
    def state(self) -> State:
        """The state of the episode, with its log.

        Raises:
            UsageError: There is none yet.
        """
        if self._state is None:
            raise UsageError("no episode has begun", hint="call reset first")
        return self._state

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode; nothing of the one before is left.

        Args:
            seed: Of the choice of starts; equal seeds give equal series of episodes.
            options: ``start``: number of the start, instead of a random one.
        """
        super().reset(seed=seed)
        number = (options or {}).get("start")
        self._state = self.starts[int(self.np_random.integers(len(self.starts))) if number is None else number]
        return self.features(self._state), self._info(self._state)

    def step(self, action: np.int64) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Wish what stands at a place of the menu.

        Raises:
            UsageError: The episode has ended, or none has begun.
        """
        before = self.state
        if before.ended:
            raise UsageError("the episode has ended", hint="call reset")
        state = chosen(before, self._choices[int(action)])
        if (wish := cast("Wish | None", state.pending)) is not None:
            after = refusal(state, wish) or perform(self.world, state, wish)
            if after is None:
                raise UsageError(f"the world cannot do {wish.name} any more", hint="give it what its menu needs")
            state = after
        if state.finished or state.limited or state.limits.reached(state.counts):
            state, _ = advance(state, _CLOSING)
        self._state = state
        declared = bool(state.finished)
        return (
            self.features(state),
            float(self.reward(before, state)),
            declared,
            bool(state.ended) and not declared,
            self._info(state),
        )

    def _info(self, state: State) -> dict[str, Any]:
        mask = [not state.ended and wish.refused(state) is None and not forbidden(state, wish) for wish in self.menu]
        return {"action_mask": np.array(mask, np.int8), "reason": state.ended}


_CLOSING = _Chosen(wish=None)


def _check(world: World, wish: Wish) -> None:
    """Refuse a wish that an environment on this world cannot do."""
    there = {
        "graph": world.graph is not None or (isinstance(wish, Action) and wish.pure),
        "patient": world.patient is not None,
        "model": bool(world.models),
    }.get(wish.effect, False)
    if not there:
        hint = "a menu is of actions, questions and requests" if wish.effect == "note" else f"give it a {wish.effect}"
        raise UsageError(f"the world of the environment cannot do {wish.name}", hint=hint)


gymnasium.register(NAME, entry_point=f"{__name__}:ConsultEnv")
