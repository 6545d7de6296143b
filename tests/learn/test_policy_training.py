"""Training of the learned policy: it plays what the environment plays, learns, goes on, and refuses what is not its."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgdx.api import Graph
from kgdx.case import Case
from kgdx.case.splits import Split
from kgdx.episode import AskPatient, Kind, Limits, run
from kgdx.errors import CaseError, StoreError, UsageError
from kgdx.learn.bedside import Bedside, Recorded, recorded
from kgdx.learn.fixed_plans import PLANS, TEACHER
from kgdx.learn.group_policy import Settings
from kgdx.learn.policy_training import POLICY, Training, train_policy, unseen
from kgdx.learn.training_state import FILE
from kgdx.learn.ward import Ward
from kgdx.policies.choice_network import ChoiceNetwork
from kgdx.policies.learned import LearnedPolicy
from kgdx.rank.choices import FEATURES
from kgdx.rank.standing import Standings

SMALL = Settings(updates=12, episodes=8, group=4)


@pytest.fixture(scope="module")
def asked(graph: Graph, recorded: list[Case]) -> Ward:
    return Ward.of(graph, recorded, known=1, limits=Limits(steps=400, stagnation=400))


@pytest.fixture(scope="module")
def bedside(graph: Graph) -> Bedside:
    return Bedside(graph.standings)


@pytest.fixture(scope="module")
def patients(asked: Ward, bedside: Bedside) -> list[Recorded]:
    return recorded(asked, bedside.standings)


def choosing(seed: int) -> ChoiceNetwork:
    """A network that prefers something, and often asks."""
    made = ChoiceNetwork.fresh(seed)
    last = np.random.default_rng(seed).standard_normal(made.layers["w3"].shape).astype(np.float32)
    return ChoiceNetwork({**made.layers, "w3": last})


@pytest.mark.parametrize("seed", range(8))
def test_the_policy_plays_on_the_graph_as_in_training(
    seed: int, graph: Graph, asked: Ward, bedside: Bedside, patients: list[Recorded], tmp_path: Path
) -> None:
    network = choosing(seed)
    network.write(tmp_path / POLICY)
    policy = LearnedPolicy(checkpoint=str(tmp_path / POLICY), patient=True, top=5)
    for patient in patients:
        played = bedside.play(network, [patient])
        episode = run(asked.world, asked.start(patient.id, policy=policy), policy)
        assert episode.reason == "diagnosed"
        wishes = [segment for segment in episode.log if segment.kind is Kind.WISH]
        assert sum(each.name == AskPatient.name for each in wishes) == played.questions[0]
        declared = [graph.ranker.number_of(id) for id in wishes[-1].data["diseases"]]
        rank = next((place for place, each in enumerate(declared, 1) if each in patient.right), 0)
        assert rank == played.ranks[0]


def test_nothing_that_is_observed_depends_on_the_diagnosis(bedside: Bedside, patients: list[Recorded]) -> None:
    told = bedside.play(choosing(1), patients)
    blind = bedside.play(choosing(1), [replace(each, right=frozenset()) for each in patients])
    assert np.array_equal(told.features, blind.features) and np.array_equal(told.chosen, blind.chosen)
    assert not blind.ranks.any()


def test_a_patient_is_never_matched_with_its_own_publication(bedside: Bedside, patients: list[Recorded]) -> None:
    bank = bedside.standings.bank
    assert bank is not None
    for patient in patients:
        standing = bedside.begin(patient).standing
        matched = bedside.standings.match(standing, patient.opening.observed.tolist(), patient.leave_out)
        own = [number for number, id in enumerate(bank.ids) if id == patient.id]
        others = bank.candidate[~np.isin(np.arange(bank.size), own)]
        assert set(matched.candidates.tolist()) <= set(others.tolist())


def test_the_reward_rises_from_uniform(bedside: Bedside, patients: list[Recorded], tmp_path: Path) -> None:
    settings = Settings(updates=40, episodes=64, rate=3e-3, imitated=0)
    network = Training(bedside, patients, settings, tmp_path).run()
    curve = network.card["curve"]["reward"]
    assert np.mean(curve[-5:]) > np.mean(curve[:5]) + 0.05
    uniform = bedside.play(ChoiceNetwork.fresh(), patients * 50, np.random.default_rng(0))
    assert bedside.play(network, patients).rewards.mean() > uniform.rewards.mean()


def test_it_begins_as_its_teacher_and_stays_open_to_the_rest(
    bedside: Bedside, patients: list[Recorded], tmp_path: Path
) -> None:
    learner = Training(bedside, patients, Settings(episodes=64), tmp_path)._taught([[each] for each in patients])
    taught = bedside.play(TEACHER, patients)
    own = np.where(taught.listed, learner.network.logits(taught.features), -np.inf)
    assert (own.argmax(axis=1) == taught.chosen).mean() > 0.9
    share = np.exp(own - own.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    assert 0.5 < share.max(axis=1).mean() < 0.95
    assert learner.initial is learner.network and learner.steps == 0


def test_without_patients_to_match_with_and_texts_it_is_trained_all_the_same(
    graph: Graph, patients: list[Recorded], tmp_path: Path
) -> None:
    bedside = Bedside(Standings(graph.ranker))
    network = Training(bedside, patients, replace(SMALL, updates=2), tmp_path).run()
    played = bedside.play(network, patients, np.random.default_rng(0))
    kinds = played.features[np.arange(len(played.chosen)), played.chosen]
    assert not kinds[:, [FEATURES.index("match"), FEATURES.index("search")]].any()


def test_an_interrupted_run_goes_on_to_the_same_policy(
    bedside: Bedside, patients: list[Recorded], tmp_path: Path
) -> None:
    whole = Training(bedside, patients, SMALL, tmp_path / "whole").run()

    def killed() -> None:
        if (tmp_path / "cut" / FILE).exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Training(bedside, patients, SMALL, tmp_path / "cut").run(killed)
    again = Training(bedside, patients, SMALL, tmp_path / "cut").run()
    assert all(np.array_equal(whole.layers[name], again.layers[name]) for name in whole.layers)
    assert again.card == whole.card


def test_a_run_of_other_settings_or_a_damaged_one_is_not_gone_on_with(
    bedside: Bedside, patients: list[Recorded], tmp_path: Path
) -> None:
    Training(bedside, patients, SMALL, tmp_path).run()
    with pytest.raises(UsageError, match="of other patients or settings"):
        Training(bedside, patients, replace(SMALL, seed=1), tmp_path).run()
    (tmp_path / FILE).write_bytes(b"damaged")
    with pytest.raises(UsageError, match="damaged"):
        Training(bedside, patients, SMALL, tmp_path).run()


def test_a_checkpoint_says_what_it_was_trained_on_and_how_it_did(
    graph: Graph, recorded: list[Case], tmp_path: Path
) -> None:
    split = Split.of(recorded, 0.5)
    made = train_policy(graph, recorded, split, SMALL, tmp_path, known=1)
    card = ChoiceNetwork.read(tmp_path / POLICY).card
    assert card["split"] == split.digest and card["graph"] == graph.fingerprint
    assert card["ontology"] == "HP:0000118" and card["settings"]["seed"] == 0
    assert set(card["figures"]) == {"greedy", "sampled", *map(str, PLANS)}
    assert (tmp_path / POLICY).stat().st_size < 60_000 and made.card["held_out"] == card["held_out"]


def test_a_split_of_which_nobody_can_be_met_is_refused(graph: Graph, recorded: list[Case], tmp_path: Path) -> None:
    split = Split(tuple(each.id for each in recorded), ("nobody",), 0.3, 0)
    with pytest.raises(CaseError, match="no case of the side held_out"):
        train_policy(graph, recorded, split, SMALL, tmp_path, known=1)


def test_training_without_a_patient_is_refused(bedside: Bedside, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no patient to train with"):
        Training(bedside, [], SMALL, tmp_path).run()


def test_cases_whose_publication_is_cited_are_left_out(graph: Graph, recorded: list[Case]) -> None:
    tables = graph.snapshot.table("has_phenotype").to_pylist()
    ids = graph.snapshot.column("disease", "id").tolist()
    own = [row["reference"] for row in tables if ids[row["disease"]] == recorded[0].diseases[0] and row["reference"]]
    cited = replace(recorded[0], publications=(own[0].split(";")[0],))
    unnamed = replace(recorded[1], publications=())
    assert [each.id for each in unseen(graph.ranker, graph.snapshot, [cited, unnamed, *recorded[2:]])] == [
        each.id for each in recorded[2:]
    ]


def broken(path: Path) -> None:
    path.write_bytes(b"no safetensors")


def others(path: Path) -> None:
    network = ChoiceNetwork.fresh()
    ChoiceNetwork(network.layers, {"features": ["age"]}).write(path)


def infinite(path: Path) -> None:
    layers = dict(ChoiceNetwork.fresh().layers)
    ChoiceNetwork({**layers, "b1": np.full_like(layers["b1"], np.nan)}).write(path)


def wide(path: Path) -> None:
    layers = dict(ChoiceNetwork.fresh().layers)
    ChoiceNetwork({**layers, "b2": np.zeros(7, np.float32)}).write(path)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (broken, "cannot be read"),
        (others, "observes other features"),
        (infinite, "weights that are no numbers"),
        (wide, "layers of other sizes"),
    ],
)
def test_a_checkpoint_that_cannot_be_used_is_one_line(damage: Callable[[Path], Any], said: str, tmp_path: Path) -> None:
    damage(tmp_path / POLICY)
    with pytest.raises(StoreError, match=said) as caught:
        ChoiceNetwork.read(tmp_path / POLICY)
    assert "kgdx learn policy" in str(caught.value) and "\n" not in str(caught.value)
