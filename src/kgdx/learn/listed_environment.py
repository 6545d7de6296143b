"""Recorded cases whose diagnoses are withheld, as a Gymnasium environment of listed choices.

``gymnasium.make("kgdx/Diagnosis-v0", graph=…, cases=…)`` makes it. It is the game on which ``kgdx learn policy`` trains
and which ``--policy learned`` plays: one list of choices, with the same features, answers and rewards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

import kgdx
from kgdx.actions.answering import Diagnose
from kgdx.actions.considering import Consider, Considerable, Considered
from kgdx.case import Case, Failure, read_cases
from kgdx.episode.segment import Segment
from kgdx.episode.state import Limits, State
from kgdx.episode.wish import Wish
from kgdx.learn.bedside import DECLARED, recorded
from kgdx.learn.environment import Floats, NumberedEnv, Reward
from kgdx.learn.rewards import choice_reward
from kgdx.learn.ward import Ward, wished
from kgdx.policies.listed import ListedPolicy
from kgdx.rank.choices import FEATURES, PLACES

if TYPE_CHECKING:
    from kgdx.api import Graph

BOUND = 1e3
"""No feature of a listed choice is beyond it."""
LIMITS = Limits(steps=512, stagnation=512, errors=8)
"""Of an episode of listed choices, each of which is many wishes."""


class Agent(ListedPolicy):
    """Does the choice at a place of the list, and diagnoses without explaining."""

    name: ClassVar[str] = "environment"
    questions: int = LIMITS.steps
    place: int = 0

    def chosen(self, told: Considered, asked: int = 0) -> Considerable:
        """Return what stands at the place."""
        return next(each for each in told.listed if each.place == self.place)

    def failed(self, since: Sequence[Segment]) -> bool:
        """Tell whether something could not be done; a choice that is none is an error of the agent, who goes on."""
        return super().failed([each for each in since if each.name != self.name])

    def close(self, state: State) -> Wish | None:
        """Return the diagnosis."""
        told = state.last(Considered)
        return None if told is None else Diagnose(diseases=tuple(id for id, _, _ in told.leaders[:DECLARED]))


def by_truth(ward: Ward) -> Reward:
    """Return the reward that policies over listed choices are trained by, step by step; its sum is that of the episode.

    Args:
        ward: Knows what is right.
    """

    def reward(before: State, after: State) -> float:
        truth = ward.truth(after.case.id)
        return choice_reward(after.log, truth) - choice_reward(before.log, truth)

    return reward


class DiagnosisEnv(NumberedEnv):
    """Recorded cases whose diagnoses are withheld: an agent asks, looks up, searches, matches, and diagnoses.

    What can be chosen is listed as for ``kgdx learn policy`` and ``--policy learned`` (:mod:`kgdx.rank.choices`), with
    the same features, answers and rewards; a choice may be many wishes in the log, such as a round of ten questions.
    For wishes of one's own, make a :class:`ConsultEnv` of a ward's world and starts.

    Args:
        graph: The open graph, or its place, which is then opened.
        cases: Recorded cases, a file of them, or a :class:`~kgdx.learn.ward.Ward`; those are met that can be ranked.
        reward: What a step is worth, given the ward; :func:`by_truth` by default.
        known: How many findings are told at first; all of them, and nobody to ask, where ``None``.

    Raises:
        CaseError: No case can be used.
    """

    def __init__(
        self,
        graph: Graph | str | Path,
        cases: Ward | Iterable[Case | Failure] | str | Path,
        reward: Callable[[Ward], Reward] = by_truth,
        known: int | None = 2,
    ) -> None:
        opened = kgdx.open(graph) if isinstance(graph, str | Path) else graph
        given = read_cases(Path(cases)) if isinstance(cases, str | Path) else cases
        ward = given if isinstance(given, Ward) else Ward.of(opened, given, known=known, limits=LIMITS)
        met = {each.id for each in recorded(ward, opened.standings)}
        self.ward = replace(ward, cases={id: case for id, case in ward.cases.items() if id in met})
        self.world, self.reward = self.ward.world, reward(self.ward)
        self._spaces(PLACES, len(FEATURES), (-BOUND, BOUND))
        self._listed: dict[int, Considerable] = {}

    @property
    def offered(self) -> Mapping[int, Considerable]:
        """The choices that can be made now, by their places."""
        return self._listed

    def _start(self, options: Mapping[str, Any]) -> State:
        id = options.get("case")
        seed = int(self.np_random.integers(2**31))
        state = self.ward.start(self.ward.draw(self.np_random) if id is None else id, seed=seed)
        return self._until_listed(state, Agent())

    def _taken(self, before: State, place: int) -> State:
        if place not in self._listed:
            return wished(self.world, before, None)
        return self._until_listed(before, Agent(place=place, patient=self.ward.known is not None))

    def _until_listed(self, state: State, agent: Agent) -> State:
        """Do what an agent chose, until choices are listed anew or the episode has ended."""
        while not state.ended:
            wish = agent.choose(state)
            state = wished(self.world, state, wish)
            if isinstance(wish, Consider) and (told := state.last(Considered)) is not None and told.listed:
                break
        return state

    def _observed(self, state: State) -> tuple[Floats, dict[str, Any]]:
        observed, mask = np.zeros((PLACES, len(FEATURES)), np.float32), np.zeros(PLACES, np.int8)
        told = state.last(Considered)
        able = Agent(patient=self.ward.known is not None).able(told) if told is not None and not state.ended else []
        self._listed = {each.place: each for each in able}
        for place, each in self._listed.items():
            observed[place], mask[place] = each.features, 1
        return observed, {"action_mask": mask, "reason": state.ended}
