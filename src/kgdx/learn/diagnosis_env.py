"""Recorded cases whose diagnoses are withheld, as Gymnasium environments: one episode, or many in step.

``gymnasium.make("kgdx/Diagnosis-v0", graph=…, cases=…)`` and ``gymnasium.make_vec`` make them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import kgdx
from kgdx.case import Case, Failure, read_cases
from kgdx.errors import MissingExtraError, UsageError
from kgdx.learn.diagnosis_game import DECLARED, PRICE, DiagnosisGame, RecordedPatient
from kgdx.learn.recorded_cases import RecordedCases
from kgdx.rank.choices import FEATURES, PLACES, EpisodeProgress, Listing

try:
    import gymnasium
    from gymnasium.spaces import Box, Discrete
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise MissingExtraError("an environment of diagnoses", "environment") from error

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

    from kgdx.api import Graph

Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]
BOUND = 1e3
"""No feature of a choice is beyond it."""
MOST_STEPS = 32
"""Steps after which an episode is cut where nothing else is said; one that keeps to the mask is shorter."""


class _OfCases:
    """The specification of an environment, which holds no patient."""

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1, "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012
    cases: RecordedCases
    _spec: EnvSpec | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """How Gymnasium makes the environment again; cases that were given one by one stand there by their number."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        if spec is not None:
            spec.kwargs["cases"] = self.cases
        self._spec = spec


class DiagnosisVectorEnv(_OfCases, VectorEnv[Floats, NDArray[np.int64], Any]):
    """Many episodes of :class:`DiagnosisEnv` in step: ``gymnasium.make_vec`` makes it.

    Observations have shape (num_envs, PLACES, FEATURES), actions (num_envs,). An episode that ended begins anew with
    the next step, whatever is chosen for it.
    """

    def __init__(
        self,
        graph: Graph | str | Path,
        cases: RecordedCases | Iterable[Case | Failure] | str | Path,
        num_envs: int = 16,
        known: int = 2,
        price: float = PRICE,
        max_episode_steps: int | None = MOST_STEPS,
        render_mode: str | None = None,
    ) -> None:
        opened = kgdx.open(graph) if isinstance(graph, str | Path) else graph
        given = read_cases(Path(cases)) if isinstance(cases, str | Path) else cases
        self.cases = given if isinstance(given, RecordedCases) else RecordedCases.of(opened, given, known=known)
        self.game = DiagnosisGame(self.cases, price=price)
        self.single_observation_space = Box(-BOUND, BOUND, (PLACES, len(FEATURES)), np.float32)
        self.single_action_space = Discrete(PLACES)
        self.num_envs, self.render_mode, self._most = num_envs, render_mode, max_episode_steps
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._states: list[EpisodeProgress] = []
        self.ended = np.zeros(num_envs, bool)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin all episodes."""
        super().reset(seed=seed[0] if isinstance(seed, list) else seed)
        return self.begin(self.np_random, options)

    def begin(self, chance: np.random.Generator, options: dict[str, Any] | None) -> tuple[Floats, dict[str, Any]]:
        """Begin all episodes, with patients drawn by a generator or the one of the options."""
        self._steps, self.ended = np.zeros(self.num_envs, np.int64), np.zeros(self.num_envs, bool)
        self._patients = [self._met(chance, (options or {}).get("case")) for _ in range(self.num_envs)]
        self._states = [self.game.begin(each) for each in self._patients]
        return self._observed()

    def step(self, actions: NDArray[np.int64]) -> tuple[Floats, Floats, Masks, Masks, dict[str, Any]]:
        """Do what stands at a place of each episode."""
        self._check_begun()
        worth, ended = np.zeros(self.num_envs, np.float32), np.zeros(self.num_envs, bool)
        for row in np.flatnonzero((actions == 0) & ~self.ended).tolist():
            worth[row], ended[row] = self._done(row, 0), True
        for row in range(self.num_envs):
            if self.ended[row]:
                self._patients[row] = self.game.draw(self.np_random)
                self._states[row], self._steps[row] = self.game.begin(self._patients[row]), -1
            elif not ended[row]:
                worth[row] = self._done(row, int(actions[row]))
        self._steps += 1
        cut = ~ended & (self._steps >= (self._most or np.inf))
        self.ended = ended | cut
        observed, info = self._observed()
        return observed, worth, ended, cut, info

    def action_masks(self) -> Masks:
        """Return which places can be chosen now, of an ended episode the first alone; shape (num_envs, PLACES)."""
        masks: Masks = np.where(self.ended[:, None], np.arange(PLACES) == 0, self.offered.listed)
        return masks

    def render(self) -> tuple[str, ...] | None:
        """Return in words what is known, which diseases lead, and what can be chosen; nothing without ``ansi``."""
        if self.render_mode != "ansi":
            return None
        self._check_begun()
        return tuple(self._shown(at, self.offered, row) for row, at in enumerate(self._states))

    def _check_begun(self) -> None:
        if not self._states:
            raise UsageError("no episode has begun", hint="call reset first")

    def _met(self, chance: np.random.Generator, id: str | None) -> RecordedPatient:
        if id is None:
            return self.game.draw(chance)
        if id not in self.game.patients:
            hint = f"one of the {len(self.game.patients):,} that the graph can rank"
            raise UsageError(f"the environment has no case {str(id)[:40]!r}", hint=hint)
        return self.game.patients[id]

    def _done(self, row: int, place: int) -> float:
        if not 0 <= place < PLACES:
            raise UsageError(f"there is no place {place}: there are {PLACES}", hint="choose what action_masks allows")
        if not self.offered.listed[row, place]:
            return 0.0
        return self.game.do(self._states[row], self.offered.choice(row, place), self._patients[row])

    def _observed(self) -> tuple[Floats, dict[str, Any]]:
        self.offered = self.game.listing(self._states)
        return np.clip(self.offered.features, -BOUND, BOUND), {"action_mask": self.action_masks().astype(np.int8)}

    def _shown(self, at: EpisodeProgress, offered: Listing, row: int) -> str:
        names, terms = self.game.tracker.ranker.names, self.game.tracker.ranker.terms

        def called(rows: Iterable[int]) -> str:
            return ", ".join(names.label(terms[each]) for each in rows)

        query = at.belief.query
        lines = [f"present: {called(query.observed.tolist())}", f"absent: {called(query.excluded.tolist())}"]
        best = zip(at.belief.leaders[:DECLARED].tolist(), at.belief.share.tolist(), strict=False)
        lines += [f"{share:6.1%} {names.candidate(number).name}" for number, share in best]
        for place in np.flatnonzero(offered.listed[row]).tolist():
            choice = offered.choice(row, place)
            about = "" if choice.disease < 0 else f" {names.candidate(choice.disease).name}:"
            lines.append(f"{place:3} {choice.kind}{about} {called(choice.terms)}".rstrip())
        return "\n".join(lines)


class DiagnosisEnv(_OfCases, gymnasium.Env[Floats, np.int64]):
    """A recorded patient whose diagnosis is withheld: an agent asks, looks up what is typical, and diagnoses.

    An action is a place of the list of :mod:`kgdx.rank.choices`: ``Discrete(PLACES)``; place 0 is the diagnosis, of the
    five diseases that lead, with the graph's other patients where it has some. An observation has a row of features for
    each place: ``Box`` of shape (PLACES, FEATURES) and dtype float32, rows of places that cannot be chosen included.
    :meth:`action_masks` and ``info["action_mask"]`` say which can; another does nothing and is worth nothing. A
    question costs ``price``; a diagnosis is worth .5 for the right disease in first place and .5 for it among the five.

    Args:
        graph: The open graph, or its place, which is then opened.
        cases: Recorded cases, a file of them, or :class:`~kgdx.learn.recorded_cases.RecordedCases`.
        known: How many findings are told at first.
        price: Of a question.
        render_mode: ``ansi``, for :meth:`render` to tell in words what is known and what can be chosen.
    """

    def __init__(
        self,
        graph: Graph | str | Path,
        cases: RecordedCases | Iterable[Case | Failure] | str | Path,
        known: int = 2,
        price: float = PRICE,
        render_mode: str | None = None,
    ) -> None:
        self._episodes = DiagnosisVectorEnv(graph, cases, 1, known, price, None, render_mode)
        self.cases, self.game, self.render_mode = self._episodes.cases, self._episodes.game, render_mode
        self.observation_space = self._episodes.single_observation_space
        self.action_space = self._episodes.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode; ``options={"case": id}`` says which one."""
        super().reset(seed=seed)
        observed, info = self._episodes.begin(self.np_random, options)
        return observed[0], self._told(info)

    def step(self, action: np.int64) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Do what stands at a place."""
        if self._episodes.ended.all():
            raise UsageError("the episode has ended", hint="call reset")
        observed, worth, ended, cut, info = self._episodes.step(np.array([action]))
        return observed[0], float(worth[0]), bool(ended[0]), bool(cut[0]), self._told(info)

    def _told(self, info: dict[str, Any]) -> dict[str, Any]:
        reason = "diagnosed" if self._episodes.ended[0] else ""
        return {"action_mask": info["action_mask"][0] * (not reason), "reason": reason}

    @property
    def offered(self) -> Listing:
        return self._episodes.offered

    def action_masks(self) -> Masks:
        """Return which places can be chosen now; shape (PLACES,)."""
        mask: Masks = self._episodes.action_masks()[0] & ~self._episodes.ended[0]
        return mask

    def render(self) -> str | None:
        """Return in words what is known, which diseases lead, and what can be chosen; nothing without ``ansi``."""
        shown = self._episodes.render()
        return None if shown is None else shown[0]
