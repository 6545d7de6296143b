"""Recorded cases as an environment: the diagnosis is withheld, and every check that training relies on passes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

import gymnasium

from kgdx.actions import Diagnose
from kgdx.api import Graph
from kgdx.case import Case
from kgdx.episode import Kind, State, dump
from kgdx.errors import CaseError, UsageError
from kgdx.learn.bedside import Bedside
from kgdx.learn.bedside import recorded as listed_patients
from kgdx.learn.check_env import check_env, play
from kgdx.learn.environment import DIAGNOSIS
from kgdx.learn.listed_environment import DiagnosisEnv
from kgdx.learn.rewards import choice_reward
from kgdx.learn.ward import Ward, wished
from kgdx.policies.choice_network import ChoiceNetwork
from kgdx.rank.choices import KINDS, PLACES
from learn.conftest import EPILEPSY, EPILEPSY_NAME


def made(graph: Graph, recorded: list[Case], **more: Any) -> DiagnosisEnv:
    env = gymnasium.make(DIAGNOSIS, graph=graph, cases=recorded, **more).unwrapped
    assert isinstance(env, DiagnosisEnv)
    return env


def test_every_check_passes(graph: Graph, recorded: list[Case]) -> None:
    checks = check_env(made(graph, recorded, known=1))
    assert [(each.name, each.message) for each in checks if not each.ok] == []
    assert [each.name for each in checks] == [
        *("interface", "seeds", "reset", "mask", "truth", "publications", "reward")
    ]


class Leaking(DiagnosisEnv):
    """Says in a feature whether the truth is a certain disease."""

    def _observed(self, state: State) -> Any:
        observed, info = super()._observed(state)
        observed[0, 0] = EPILEPSY in self.ward.truth(state.case.id).ids
        return observed, info


class Remembering(DiagnosisEnv):
    """Says how often it was looked at."""

    times = 0

    def _observed(self, state: State) -> Any:
        self.times += 1
        observed, info = super()._observed(state)
        observed[0, 0] = self.times / 1e6
        return observed, info


def test_a_leak_of_the_truth_is_found(graph: Graph, recorded: list[Case]) -> None:
    env = Leaking(graph, recorded, known=1)
    assert [each.name for each in check_env(env) if not each.ok] == ["truth"]


def test_a_memory_across_episodes_is_found(graph: Graph, recorded: list[Case]) -> None:
    failed = [each.name for each in check_env(Remembering(graph, recorded, known=1)) if not each.ok]
    assert {"seeds", "reset"} <= set(failed)


def test_it_is_the_game_that_is_trained_on(graph: Graph, recorded: list[Case]) -> None:
    """The same lists, features, answers and rewards as by row numbers, whatever is chosen."""
    env, bedside = made(graph, recorded, known=1), Bedside(graph.standings)
    patients = {each.id: each for each in listed_patients(env.ward, graph.standings)}
    kinds = set()
    for seed in range(12):
        for id, patient in patients.items():
            played = bedside.play(ChoiceNetwork.fresh(), [patient], np.random.default_rng(seed))
            observed, info = env.reset(options={"case": id})
            total = 0.0
            for row, place in enumerate(played.chosen.tolist()):
                mask = played.listed[row].astype(bool)
                assert info["action_mask"].astype(bool).tolist() == mask.tolist()
                assert np.allclose(observed[mask], played.features[row][mask], atol=1e-6)
                kinds.add(env.offered[place].kind)
                observed, worth, terminated, truncated, info = env.step(np.int64(place))
                total += worth
            assert terminated and not truncated
            assert total == pytest.approx(played.rewards[0])
            assert total == pytest.approx(choice_reward(env.state.log, env.ward.truth(id)))
    assert kinds == set(KINDS)


def test_the_state_holds_neither_diagnosis_nor_genes_nor_unasked_findings(graph: Graph, recorded: list[Case]) -> None:
    told = [replace(each, genes=("GENE1",), text="words", extra={"diagnosis": "x"}) for each in recorded]
    ward = Ward.of(graph, told, known=1)
    for id in ward.ids:
        case = ward.start(id).case
        assert (case.diseases, case.genes, case.text, case.extra) == ((), (), "", {})
        assert len(case.observed) == 1
    assert ward.truth("one").ids >= {EPILEPSY} and ward.truth("one").names == (EPILEPSY_NAME,)


def test_a_right_diagnosis_is_worth_more_than_a_wrong_one_and_choices_cost(graph: Graph, recorded: list[Case]) -> None:
    env = made(graph, recorded, known=1)
    worths = set()
    for id in env.ward.ids:
        _, info = env.reset(options={"case": id})
        asks = [place for place, each in env.offered.items() if each.kind == "ask"]
        assert env.step(np.int64(asks[0]))[1] == pytest.approx(-0.002)
        _, worth, terminated, truncated, info = env.step(np.int64(0))
        assert (terminated, truncated, info["reason"]) == (True, False, "diagnosed")
        worths.add(worth)
    assert worths <= {0.0, 0.5, 1.0} and max(worths) >= 0.5


def test_it_runs_as_a_vector_of_environments(graph: Graph, recorded: list[Case]) -> None:
    env = gymnasium.vector.SyncVectorEnv([lambda: made(graph, recorded, known=1) for _ in range(3)])
    observed, info = env.reset(seed=4)
    assert observed.shape[0] == 3 and info["action_mask"].shape[0] == 3
    for _ in range(5):
        places = [int(np.flatnonzero(mask)[-1]) for mask in info["action_mask"]]
        observed, reward, _, _, info = env.step(np.array(places))
    assert observed.shape[0] == 3 and reward.shape == (3,)
    env.close()


def test_bad_input_is_one_clear_line(graph: Graph, recorded: list[Case]) -> None:
    env = made(graph, recorded, known=1)
    with pytest.raises(UsageError, match="no case 'nobody': one of the 4"):
        env.reset(options={"case": "nobody"})
    env.reset(seed=0)
    with pytest.raises(UsageError, match=f"there is no place {PLACES}: there are {PLACES}"):
        env.step(np.int64(PLACES))
    play(env, 0)
    while not env.state.ended:
        env.step(np.int64(0))
    with pytest.raises(UsageError, match="the episode has ended: call reset"):
        env.step(np.int64(0))
    with pytest.raises(UsageError, match="the episode has ended"):
        wished(env.world, env.state, Diagnose())
    with pytest.raises(CaseError, match="no case states a diagnosis"):
        made(graph, [replace(each, diseases=()) for each in recorded])
    with pytest.raises(CaseError, match="two cases are called one"):
        made(graph, [recorded[0], recorded[0]])


def test_a_masked_choice_is_an_error_in_the_log_that_the_agent_sees(graph: Graph, recorded: list[Case]) -> None:
    env = made(graph, recorded, known=None)
    _, info = env.reset(seed=0)
    asks = np.flatnonzero(info["action_mask"] == 0)
    _, worth, *_, info = env.step(asks[0])
    assert env.state.log[-1].kind is Kind.ERROR and "nothing is there to choose" in dump(env.state.log)
    assert info["reason"] == "" and worth == 0 and not info["action_mask"][1]
    match = next(place for place, each in env.offered.items() if each.kind == "match")
    *_, info = env.step(np.int64(match))
    assert info["reason"] == "" and info["action_mask"][0] and env.step(np.int64(0))[2]
