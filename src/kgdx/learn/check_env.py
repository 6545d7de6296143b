"""Checks of an environment: what training relies on, each said in a line where it does not hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gymnasium.utils.env_checker import check_env as check_interface

from kgdx.episode.resume import resume
from kgdx.episode.segment import Kind, Segment, dump, load
from kgdx.errors import KgdxError
from kgdx.learn.listed_environment import DiagnosisEnv
from kgdx.learn.rewards import EVEN, greatest, least, reward
from kgdx.learn.ward import Ward

EPISODES = 4
"""Played for each check."""
STEPS = 24
"""Of an episode at most."""


@dataclass(frozen=True, slots=True)
class Check:
    """A check: what holds, or what does not."""

    name: str
    ok: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class Played:
    """An episode of random legal actions: what the agent saw and got, and the log."""

    seen: tuple[Any, ...]
    rewards: tuple[float, ...]
    log: tuple[Segment, ...]


def check_env(env: DiagnosisEnv, seed: int = 0) -> tuple[Check, ...]:
    """Check an environment of recorded cases.

    Gymnasium's own checker passes; equal seeds give equal logs; a reset clears all; the mask agrees with what a step
    does; neither the truth nor the case's own publications change what is observed, or stand in what an agent is shown;
    a reward is bounded, and a function of the log.

    Args:
        env: The environment, without wrappers.
        seed: Of the episodes that are played.

    Returns:
        What was checked; each says in a line what does not hold.
    """
    checks: dict[str, Callable[[DiagnosisEnv, int], Iterator[str]]] = {
        "interface": _interface,
        "seeds": _seeds,
        "reset": _reset,
        "mask": _mask,
        "truth": _truth,
        "publications": _publications,
        "reward": _reward,
    }
    return tuple(_checked(name, check, env, seed) for name, check in checks.items())


def _checked(name: str, check: Callable[[DiagnosisEnv, int], Iterator[str]], env: DiagnosisEnv, seed: int) -> Check:
    try:
        wrong = next(check(env, seed), "")
    except KgdxError as error:
        wrong = str(error)
    return Check(name, not wrong, wrong)


def play(env: DiagnosisEnv, seed: int, case: str | None = None) -> Played:
    """Play an episode of random legal actions, and diagnose at the end."""
    options = None if case is None else {"case": case}
    observed, info = env.reset(seed=seed, options=options)
    chance = np.random.default_rng(seed)
    seen: list[Any] = [observed.tobytes(), info["action_mask"].tolist()]
    rewards: list[float] = []
    for _ in range(STEPS):
        places = np.flatnonzero(info["action_mask"])
        if info["reason"] or not len(places):
            break
        observed, worth, *_, info = env.step(np.int64(chance.choice(places)))
        rewards.append(worth)
        seen += [observed.tobytes(), worth, info["action_mask"].tolist(), info["reason"]]
    return Played(tuple(seen), tuple(rewards), env.state.log)


def _interface(env: DiagnosisEnv, seed: int) -> Iterator[str]:
    spec, env.spec = env.spec, None  # an open graph cannot be copied, as the checker would
    try:
        check_interface(env, skip_render_check=True)
    except Exception as error:  # whatever Gymnasium finds
        yield f"Gymnasium's checker: {' '.join(str(error).split())[:300]}"
    finally:
        env.spec = spec


def _seeds(env: DiagnosisEnv, seed: int) -> Iterator[str]:
    for number in range(seed, seed + EPISODES):
        if play(env, number) != play(env, number):
            yield f"two episodes of the seed {number} differ"


def _reset(env: DiagnosisEnv, seed: int) -> Iterator[str]:
    fresh = env.reset(seed=seed)[0].tobytes(), env.state.log
    play(env, seed + 1)
    again = env.reset(seed=seed)[0].tobytes(), env.state.log
    if fresh != again:
        yield "a reset leaves something of the episode before"
    if [place for place, each in enumerate(env.state.log) if each.kind is Kind.START] != [0]:
        yield "an episode does not begin with its start"


def _mask(env: DiagnosisEnv, seed: int) -> Iterator[str]:
    for place in range(env.places):
        _, info = env.reset(seed=seed)
        before = len(env.state.log)
        env.step(np.int64(place))
        refused = any(
            (each.kind is Kind.ERROR and each.data.get("error") == "UsageError") or each.kind is Kind.LIMIT
            for each in env.state.log[before:]
        )
        if bool(info["action_mask"][place]) == refused:
            yield f"the mask of place {place} is not what a step does"


def _truth(env: DiagnosisEnv, seed: int) -> Iterator[str]:
    """Episodes are the same when another diagnosis and other genes are recorded."""
    ward = env.ward
    other = {id: replace(case, diseases=("OMIM:0",), genes=(), extra={}) for id, case in ward.cases.items()}
    yield from _same(env, replace(ward, cases=other), seed, "the recorded diagnosis changes what is observed")


def _publications(env: DiagnosisEnv, seed: int) -> Iterator[str]:
    """The ids of the own publications and of the case stand in nothing that an episode found or asked."""
    for number in range(seed, seed + EPISODES):
        log = play(env, number).log
        case = env.ward.cases[env.state.case.id]
        told = dump([each for each in log if each.kind is not Kind.START])
        for id in case.publications:
            if f'"{id}"' in told.replace(f'"without": ["{id}"', ""):
                yield f"the own publication {id} stands in the log of an episode"


def _same(env: DiagnosisEnv, other: Ward, seed: int, message: str) -> Iterator[str]:
    own, given = env.ward, env.reward
    for number in range(seed, seed + EPISODES):
        found = []
        for ward in (own, other):
            env.ward, env.world, env.reward = ward, ward.world, lambda before, after: 0.0
            try:
                found.append(play(env, number))
            finally:
                env.ward, env.world, env.reward = own, own.world, given
        if found[0] != found[1]:
            yield message


def _reward(env: DiagnosisEnv, seed: int) -> Iterator[str]:
    for number in range(seed, seed + EPISODES):
        first = play(env, number)
        if not np.isfinite(first.rewards).all():
            yield "a reward is no number"
        truth, again = env.ward.truth(env.state.case.id), load(dump(first.log))
        found = reward(first.log, truth)
        if not least(EVEN) - 1e-9 <= found.value <= greatest(EVEN) + 1e-9 or not 0 <= found.reported <= 1:
            yield f"the reward {found.value} is beyond its bounds"
        ended = env.state
        env.reset(seed=number)
        begun = env.state
        if reward(again, truth) != found or env.reward(begun, resume(env.world, again)) != env.reward(begun, ended):
            yield "the reward is no function of the log"
