"""Episodes as Gymnasium environments: the same states, wishes and limits, chosen by number.

``kgdx/Consult-v0`` is over a menu of wishes of one's own; that of recorded cases whose diagnoses are withheld is
:mod:`kgdx.learn.diagnosis_env`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgdx.actions.believing import Shares
from kgdx.answer.artifacts import Declared, Ranked
from kgdx.episode.state import State
from kgdx.episode.wish import Action, AskPatient, Wish
from kgdx.episode.world import World
from kgdx.errors import MissingExtraError, UsageError
from kgdx.learn import ENVIRONMENTS, register_environments
from kgdx.learn.recorded_cases import allowed, wished

try:
    import gymnasium
    from gymnasium.spaces import Box, Discrete
except ImportError as error:
    raise MissingExtraError("an environment of consultations", "environment") from error

CONSULT, DIAGNOSIS = ENVIRONMENTS
LEADERS = 16
QUESTION = 0.01
MOST = 64
"""Wishes of a menu at most, where nothing else is said."""
Floats = NDArray[np.float32]
Menu = Callable[[State], Sequence[Wish]]
"""What can be chosen in a state, best known first; a pure function."""
Features = Callable[[State, Sequence[Wish]], Floats]
"""What an agent observes of a state and its menu: a row of numbers for each wish, rows of one width for every state."""
Reward = Callable[[State, State], float]
"""What a step is worth: a pure function of the state before and after it."""


def leading(state: State, menu: Sequence[Wish]) -> Floats:
    """Return what is observed by default: numbers from 0 to 1, those of the state in each row.

    The shares of the 16 leading diseases, whether shares and ranking are fresh, how many findings are present, absent
    and unknown (of 64), how many of the steps that the limits allow are taken; and of the wish whether it asks the
    patient, looks something up, asks a model, or ends the episode, and the bits that a question is expected to tell.
    """
    values = np.zeros((len(menu), LEADERS + 11), np.float32)
    shares = state.last(Shares)
    if shares is not None:
        told = [each.share for each in shares.shares[:LEADERS]]
        values[:, : len(told)] = told
    present, absent = len(state.case.observed), len(state.case.excluded)
    counts = (present, absent, max(len(state.case.findings) - present - absent, 0))
    values[:, LEADERS : LEADERS + 6] = (
        state.get(Shares) is not None,
        state.get(Ranked) is not None,
        *(min(each, 64) / 64 for each in counts),
        min(state.counts.steps / max(state.limits.steps, 1), 1.0),
    )
    values[range(len(menu)), [_column(type(wish)) for wish in menu]] = 1.0
    values[:, -1] = [wish.gain or 0.0 if isinstance(wish, AskPatient) else 0.0 for wish in menu]
    return np.clip(values, 0.0, 1.0, out=values)


_EFFECTS = {"patient": 0, "graph": 1, "model": 2, "end": 3}


@cache
def _column(kind: type[Wish]) -> int:
    ends = issubclass(kind, Action) and bool(kind.ends)
    return LEADERS + 6 + (3 if ends else _EFFECTS.get(kind.effect, 1))


def certainty(before: State, after: State) -> float:
    """Return the default reward, which knows no truth: what the leading share gained, less 0.01 for each question."""
    return _share(after) - _share(before) - QUESTION * (after.counts.questions - before.counts.questions)


def _share(state: State) -> float:
    found = state.last(Shares)
    return found.shares[0].share if found is not None and found.shares else 0.0


def declares(truth: Mapping[str, Collection[str]], question: float = QUESTION) -> Reward:
    """Return a reward of 1 for a declaration whose first disease is right, less a price for each question.

    ``truth`` has the ids of the right diseases by :attr:`Case.id`; no observation holds them.
    """

    def reward(before: State, after: State) -> float:
        price = question * (after.counts.questions - before.counts.questions)
        if not after.finished or before.finished:
            return -price
        first = next(iter(declared(after)), frozenset())
        return float(not first.isdisjoint(truth.get(after.case.id, ()))) - price

    return reward


def declared(state: State) -> Sequence[frozenset[str]]:
    """Return the diseases that an episode declared, best first, each as its ids; none where it declared nothing."""
    found, ranked = state.get(Declared), state.get(Ranked)
    if found is None:
        return ()
    if found.diseases:
        return [frozenset((each,)) for each in found.diseases]
    return [frozenset((each.id, *each.members)) for each in (ranked.ranking.candidates if ranked is not None else ())]


class ConsultEnv(gymnasium.Env[Floats, np.int64]):
    """Episodes in which an agent chooses each wish from a menu.

    A declaration terminates an episode, a limit truncates it. :meth:`action_masks` and ``info["action_mask"]`` tell
    which places of the menu can be wished now (:meth:`Wish.refused`, and the limits); one that cannot is an error in
    the log, of which ``limits.errors`` allows some. ``info["reason"]`` is why the episode has ended, empty while it
    goes on. An action is a place: ``Discrete(places)``; an observation has a row for each: ``Box`` of shape (places,
    features) and dtype float32, zero where nothing is offered.

    Args:
        world: What episodes act on; everybody whom the menu asks has to be there.
        starts: States in which episodes begin, drawn by the seed of :meth:`reset`; from :func:`kgdx.episode.begin`.
        menu: The wishes that can be chosen, such as ``AskPatient(term=…)``, ``Believe()``, ``Rank()``, ``Diagnose()``;
            or a function that gives those of a state.
        features: What of a state and its menu is observed.
        reward: What a step is worth.
        bounds: Least and greatest value of a feature.
        places: Wishes of a menu at most, where it is a function; what is beyond cannot be chosen.
    """

    def __init__(
        self,
        world: World,
        starts: Sequence[State],
        menu: Sequence[Wish] | Menu,
        features: Features = leading,
        reward: Reward = certainty,
        bounds: tuple[float, float] = (0.0, 1.0),
        places: int = MOST,
    ) -> None:
        if not starts or not menu:
            raise UsageError("an environment needs a start and a menu", hint="give at least one state and one wish")
        self.world, self.starts = world, tuple(starts)
        if callable(menu):
            self.menu: Menu = menu
        else:
            fixed, places = tuple(menu), len(menu)
            self.menu = lambda _: fixed
        for wish in self.menu(self.starts[0]):
            _check(self.world, wish)
        self.features, self.reward = features, reward
        self.places = places
        self._state: State | None = None
        self.action_space = Discrete(places)
        width = features(self.starts[0], self.menu(self.starts[0])).shape[1]
        self.observation_space = Box(*bounds, (places, width), np.float32)
        self._offered: tuple[Wish, ...] = ()

    @property
    def offered(self) -> tuple[Wish, ...]:
        return self._offered

    @property
    def state(self) -> State:
        """The state of the episode, with its log."""
        if self._state is None:
            raise UsageError("no episode has begun", hint="call reset first")
        return self._state

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode; ``options={"start": number}`` says from which state."""
        super().reset(seed=seed)
        self._state = self._start(options or {})
        return self._observed(self._state)

    def step(self, action: np.int64) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Do what stands at a place."""
        before = self.state
        if before.ended:
            raise UsageError("the episode has ended", hint="call reset")
        if not 0 <= int(action) < self.places:
            hint = "choose one that info['action_mask'] allows"
            raise UsageError(f"there is no place {int(action)}: there are {self.places}", hint=hint)
        place = int(action)
        state = wished(self.world, before, self._offered[place] if place < len(self._offered) else None)
        self._state = state
        ended = bool(state.finished)
        observed, info = self._observed(state)
        return observed, float(self.reward(before, state)), ended, bool(state.ended) and not ended, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which places can be chosen now; shape (places,)."""
        mask = np.zeros(self.places, bool)
        if not self.state.ended:
            mask[: len(self._offered)] = [allowed(self.state, wish) for wish in self._offered]
        return mask

    def _start(self, options: Mapping[str, Any]) -> State:
        number = options.get("start")
        if number is None:
            return self.starts[int(self.np_random.integers(len(self.starts)))]
        if not isinstance(number, int) or not 0 <= number < len(self.starts):
            raise UsageError(f"no start {str(number)[:40]!r}", hint=f"give a number below {len(self.starts)}")
        return self.starts[number]

    def _observed(self, state: State) -> tuple[Floats, dict[str, Any]]:
        offered = tuple(self.menu(state)[: self.places])
        self._offered, observed = offered, np.zeros(self.observation_space.shape or (), np.float32)
        if offered:
            observed[: len(offered)] = self.features(state, offered)
        return observed, {"action_mask": self.action_masks().astype(np.int8), "reason": state.ended}


def _check(world: World, wish: Wish) -> None:
    there = {
        "graph": world.graph is not None or (isinstance(wish, Action) and wish.pure),
        "patient": world.patient is not None,
        "model": bool(world.models),
    }.get(wish.effect, False)
    if not there:
        hint = "a menu is of actions, questions and requests" if wish.effect == "note" else f"give it a {wish.effect}"
        raise UsageError(f"the world of the environment cannot do {wish.name}", hint=hint)


register_environments()
