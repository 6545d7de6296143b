"""Recorded cases as environments: the diagnosis is withheld, and what training relies on holds."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

import gymnasium
from gymnasium.utils.env_checker import check_env

from kgdx.api import Graph
from kgdx.case import Case, Finding, Status
from kgdx.episode import run
from kgdx.episode.policy import make_policy
from kgdx.episode.recorded_patient import Noise
from kgdx.errors import CaseError, UsageError
from kgdx.learn.diagnosis_env import DiagnosisEnv, DiagnosisVectorEnv
from kgdx.learn.diagnosis_game import PLANS, PRICE, AtRandom, DiagnosisGame, FixedPlan, Played
from kgdx.learn.environment import DIAGNOSIS
from kgdx.learn.recorded_cases import RecordedCases
from kgdx.policies.inquiry import RoundsPolicy
from kgdx.rank.choices import FEATURES, KINDS, PLACES
from learn.conftest import EPILEPSY, EPILEPSY_NAME

Made = tuple[list[Any], float]


def made(graph: Graph, recorded: list[Case], **more: Any) -> DiagnosisEnv:
    env = gymnasium.make(DIAGNOSIS, graph=graph, cases=recorded, known=1, **more).unwrapped
    assert isinstance(env, DiagnosisEnv)
    return env


def episode(env: DiagnosisEnv, seed: int, id: str | None = None) -> Made:
    """What an agent that chooses at random sees, and what it gets."""
    observed, info = env.reset(seed=seed, options={"case": id} if id else None)
    chance, seen, total = np.random.default_rng(seed), [observed.tolist(), info["action_mask"].tolist()], 0.0
    while not info["reason"]:
        observed, worth, _, _, info = env.step(chance.choice(np.flatnonzero(env.action_masks())))
        seen += [observed.tolist(), worth, info["action_mask"].tolist()]
        total += worth
    return seen, total


def test_gymnasiums_own_checker_passes_and_warns_of_nothing(
    graph: Graph, recorded: list[Case], capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(DIAGNOSIS, graph=graph, cases=iter(recorded), render_mode="ansi").unwrapped)
    assert capsys.readouterr().err == ""


def test_the_specification_holds_no_patient(graph: Graph, recorded: list[Case]) -> None:
    for env in (
        gymnasium.make(DIAGNOSIS, graph=graph, cases=recorded),
        gymnasium.make_vec(DIAGNOSIS, num_envs=2, graph=graph, cases=recorded),
    ):
        spec = copy.deepcopy(env.spec)
        assert spec is not None and "HP:" not in f"{spec} {env}" and "PMID" not in f"{spec} {env}"
        assert spec.kwargs["cases"] is env.unwrapped.cases and spec.kwargs["graph"] is graph


def test_the_spaces_are_as_documented_and_random_agents_stay_in_them(graph: Graph, recorded: list[Case]) -> None:
    env, kinds = made(graph, recorded), set()
    assert env.observation_space.shape == (PLACES, len(FEATURES)) and env.action_space.n == PLACES
    for seed in range(8):
        observed, info = env.reset(seed=seed)
        env.action_space.seed(seed)
        while not info["reason"]:
            assert observed in env.observation_space
            place = int(env.action_space.sample(info["action_mask"]))
            kinds.add(env.offered.choice(0, place).kind)
            observed, _, _, _, info = env.step(np.int64(place))
    assert kinds == set(KINDS)


def test_equal_seeds_give_equal_episodes_and_a_reset_leaves_nothing(graph: Graph, recorded: list[Case]) -> None:
    env = made(graph, recorded)
    first = [episode(env, seed) for seed in range(4)]
    assert [episode(env, seed) for seed in reversed(range(4))] == first[::-1]


def test_neither_the_truth_nor_the_own_publication_changes_what_is_seen(graph: Graph, recorded: list[Case]) -> None:
    others = [replace(each, diseases=("OMIM:100002",), genes=("GENE1",), text="words") for each in recorded]
    for case in recorded:
        seen = [episode(made(graph, given), 3, case.id)[0][:-2] for given in (recorded, others)]
        assert [each for each in seen[0] if isinstance(each, list)] == [
            each for each in seen[1] if isinstance(each, list)
        ]


def test_the_first_state_holds_no_diagnosis_gene_or_unasked_finding(graph: Graph, recorded: list[Case]) -> None:
    told = [replace(each, genes=("GENE1",), text="words", extra={"diagnosis": "x"}) for each in recorded]
    cases = RecordedCases.of(graph, told, known=1)
    for id in cases.ids:
        case = cases.start(id).case
        assert (case.diseases, case.genes, case.text, case.extra) == ((), (), "", {})
        assert len(case.observed) == 1
    assert cases.truth("one").ids >= {EPILEPSY} and cases.truth("one").names == (EPILEPSY_NAME,)


def test_a_question_costs_and_a_right_diagnosis_pays(graph: Graph, recorded: list[Case]) -> None:
    env, worths = made(graph, recorded), set()
    for case in recorded:
        env.reset(options={"case": case.id})
        assert env.step(np.int64(1))[1] == pytest.approx(-PRICE)
        _, worth, terminated, truncated, info = env.step(np.int64(0))
        assert (terminated, truncated, info["reason"]) == (True, False, "diagnosed") and not env.action_masks().any()
        worths.add(worth)
    assert worths <= {0.0, 0.5, 1.0} and max(worths) >= 0.5


def test_a_place_that_is_not_listed_does_nothing_and_the_limit_cuts(graph: Graph, recorded: list[Case]) -> None:
    env = gymnasium.make(DIAGNOSIS, graph=graph, cases=recorded, known=2, max_episode_steps=3)
    observed, info = env.reset(seed=0)
    masked = np.flatnonzero(info["action_mask"] == 0)
    assert len(masked)
    for step in range(3):
        again, worth, ended, cut, _ = env.step(masked[0])
        assert (np.array_equal(again, observed), worth, ended, cut) == (True, 0, False, step == 2)


def test_it_tells_in_words_what_is_known_and_what_can_be_chosen(graph: Graph, recorded: list[Case]) -> None:
    env = made(graph, recorded, render_mode="ansi")
    env.reset(options={"case": "one"})
    lines = (env.render() or "").splitlines()
    assert lines[0].startswith("present: ") and "  0 diagnose" in lines and any("lookup" in line for line in lines)
    env = made(graph, recorded)
    env.reset()
    assert env.render() is None


def test_many_in_step_are_each_as_alone(graph: Graph, recorded: list[Case]) -> None:
    vector = gymnasium.make_vec(DIAGNOSIS, num_envs=3, graph=graph, cases=recorded, known=1)
    assert isinstance(vector, DiagnosisVectorEnv) and vector.observation_space.shape == (3, PLACES, len(FEATURES))
    for id in ("one", "three"):
        alone = made(graph, recorded)
        one, _ = alone.reset(options={"case": id})
        observed, info = vector.reset(seed=1, options={"case": id})
        for place in (1, 9, 10, 0):
            assert observed in vector.observation_space and np.allclose(observed, one[None])
            assert (info["action_mask"] == alone.action_masks()).all()
            one, worth, ended, _, _ = alone.step(np.int64(place))
            observed, worths, ends, cuts, info = vector.step(np.full(3, place))
            assert worths == pytest.approx([worth] * 3) and (ends == ended).all() and not cuts.any()
        assert info["action_mask"].sum(1).tolist() == [1] * 3 and not alone.action_masks().any(), (
            "samplers need a place"
        )
        observed, worths, ends, _, info = vector.step(np.full(3, 5))  # begins anew
        assert not worths.any() and not ends.any() and info["action_mask"][:, 0].all()
    vector = gymnasium.make_vec(DIAGNOSIS, num_envs=2, graph=graph, cases=recorded, max_episode_steps=1)
    vector.reset()
    assert vector.step(np.array([1, 0]))[3].tolist() == [True, False]


def test_other_libraries_vectors_take_it_too(graph: Graph, recorded: list[Case]) -> None:
    env = gymnasium.vector.SyncVectorEnv([lambda: made(graph, recorded) for _ in range(2)])
    observed, info = env.reset(seed=4)
    assert observed.shape[0] == 2 and info["action_mask"].shape == (2, PLACES)
    env.close()


def test_plans_play_in_step_as_one_by_one(graph: Graph, recorded: list[Case]) -> None:
    game = DiagnosisGame(RecordedCases.of(graph, recorded, known=1))
    patients = list(game.patients.values())
    for plan in PLANS:
        together, alone = game.play(plan, patients), [game.play(plan, [each]) for each in patients]
        for name in Played.__dataclass_fields__:
            assert getattr(together, name).tolist() == [getattr(each, name).tolist()[0] for each in alone]
        outcome = 0.5 * (together.ranks == 1) + 0.5 * (together.ranks > 0)
        assert together.rewards == pytest.approx(outcome - PRICE * together.questions)
    assert (game.play(AtRandom(np.random.default_rng(0)), patients * 5).steps <= 13).all()


def test_the_policy_of_rounds_asks_what_the_plan_asks(graph: Graph, recorded: list[Case]) -> None:
    """The game by row numbers is a consultation: as many questions, and the same disease in the same place."""
    lacking = Finding("HP:0004322", Status.ABSENT)
    whole = [replace(each, findings=(*each.findings, lacking)) if each.id == "one" else each for each in recorded]
    cases = RecordedCases.of(graph, whole, known=1)
    game = DiagnosisGame(cases)
    for times in (0, 1, 3):
        for id, patient in game.patients.items():
            policy = RoundsPolicy(patient=True, rounds=times, explain=0)
            state = run(cases.world, cases.start(id, policy=policy), policy).state
            played = game.play(FixedPlan(times), [patient])
            assert state.counts.questions == played.questions[0]
            summary = next(each.data["summary"] for each in state.log if each.name == "rank" and "summary" in each.data)
            ids = summary["ranked"][:5]
            place = next((place for place, each in enumerate(ids, 1) if each in cases.truth(id).ids), 0)
            assert place == played.ranks[0]


def test_a_patient_who_is_never_sure_says_nothing(graph: Graph, recorded: list[Case]) -> None:
    for noise, found in ((Noise(unsure=1.0), False), (Noise(), True)):
        game = DiagnosisGame(RecordedCases.of(graph, recorded, known=1, noise=noise))
        patient = game.patients["three"]
        at = game.begin(patient)
        for _ in range(3):
            offered = game.listing([at])
            if offered.listed[0, 9]:
                game.do(at, offered.choice(0, 9), patient)
        assert (len(at.belief.query.observed) > 1) is found


def test_bad_input_is_one_clear_line(graph: Graph, recorded: list[Case]) -> None:
    env = made(graph, recorded)
    with pytest.raises(UsageError, match="no episode has begun: call reset first"):
        env.step(np.int64(0))
    with pytest.raises(UsageError, match="no episode has begun: call reset first"):
        made(graph, recorded, render_mode="ansi").render()
    with pytest.raises(UsageError, match="no case 'nobody': one of the 4"):
        env.reset(options={"case": "nobody"})
    env.reset(seed=0)
    with pytest.raises(UsageError, match=f"there is no place {PLACES}: there are {PLACES}"):
        env.step(np.int64(PLACES))
    env.step(np.int64(0))
    with pytest.raises(UsageError, match="the episode has ended: call reset"):
        env.step(np.int64(0))
    with pytest.raises(CaseError, match="no case states a diagnosis"):
        made(graph, [replace(each, diseases=()) for each in recorded])
    with pytest.raises(CaseError, match="two cases are called one"):
        made(graph, [recorded[0], recorded[0]])


def test_what_is_gone_says_what_replaces_it() -> None:
    with pytest.raises(UsageError, match="the policy learned is gone: use --policy rounds"):
        make_policy("learned")
