"""Group-relative optimisation: its gradient is that of its loss, equal groups teach nothing, bad input is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kgdx.errors import UsageError
from kgdx.learn.bedside import Played
from kgdx.learn.group_policy import Learner, Settings, advantages
from kgdx.policies.choice_network import ChoiceNetwork
from kgdx.rank.choices import FEATURES, PLACES


def network(seed: int = 0) -> ChoiceNetwork:
    """A network that prefers something."""
    made = ChoiceNetwork.fresh(seed)
    last = np.random.default_rng(seed).standard_normal(made.layers["w3"].shape).astype(np.float32)
    return ChoiceNetwork({**made.layers, "w3": last})


def episodes(rewards: list[float], seed: int = 0) -> Played:
    """Episodes of two choices each, drawn without a graph."""
    chance, count = np.random.default_rng(seed), 2 * len(rewards)
    features = chance.standard_normal((count, PLACES, len(FEATURES))).astype(np.float32)
    listed = chance.random((count, PLACES)) < 0.5
    listed[:, 0] = True
    logits = np.where(listed, network().logits(features), -np.inf)
    logarithm = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    chosen = (logarithm + chance.gumbel(size=logarithm.shape)).argmax(axis=1)
    zeros = np.zeros(len(rewards), int)
    return Played(
        *(features, listed, chosen, logarithm[np.arange(count), chosen], np.repeat(np.arange(len(rewards)), 2)),
        *(zeros, np.array(rewards), zeros, zeros),
    )


def settings(**more: float) -> Settings:
    return Settings(**{"episodes": 8, "group": 4, **more})  # type: ignore[arg-type]


REWARDS = [1.0, 0.0, 0.2, 0.9, 0.0, 0.0, 1.0, 0.4]


def test_the_gradient_is_that_of_the_loss() -> None:
    played, learner = episodes(REWARDS), Learner(network(1), settings(kl=0.3, entropy=0.2), network(2))
    advantage = advantages(played.rewards, 4)[played.episode].astype(np.float32)
    first = np.where(played.listed, learner.initial.logits(played.features), -np.inf)
    first = first - np.log(np.exp(first).sum(axis=1, keepdims=True))
    gradient, _ = learner._gradient(played, advantage, first)
    for name, at in (("w1", (3, 5)), ("b1", (7,)), ("w2", (2, 9)), ("w3", (11, 0))):
        layer, by = learner.network.layers[name], 2e-3
        found = []
        for sign in (1, -1):
            moved = layer.astype(np.float64)
            moved[at] += sign * by
            other = replace(learner, network=ChoiceNetwork({**learner.network.layers, name: moved}))
            found.append(other._gradient(played, advantage, first)[1]["loss"])
        assert gradient[name][at] == pytest.approx((found[0] - found[1]) / (2 * by), rel=0.03, abs=2e-5), name


def test_what_was_better_than_its_group_becomes_likelier() -> None:
    played = episodes(REWARDS)
    learner = Learner(network(), settings(kl=0.0, entropy=0.0, rate=0.01), network())
    for _ in range(5):
        learner.learn(played)
    rows = np.arange(len(played.chosen))
    logits = np.where(played.listed, learner.network.logits(played.features), -np.inf)
    now = (logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))[rows, played.chosen] - played.logarithm
    better = advantages(played.rewards, 4)[played.episode] > 0
    assert now[better].mean() > 0 > now[~better].mean()


def test_groups_in_which_all_did_alike_teach_nothing() -> None:
    assert advantages(np.ones(8), 4).tolist() == [0.0] * 8
    learner = Learner(network(), settings(kl=0.0, entropy=0.0), network())
    before = {name: layer.copy() for name, layer in learner.network.layers.items()}
    learner.learn(episodes([0.3] * 8))
    assert all(np.array_equal(before[name], layer) for name, layer in learner.network.layers.items())


def test_a_reward_that_is_no_number_is_refused() -> None:
    learner = Learner(network(), settings(), network())
    with pytest.raises(UsageError, match="a reward is no number"):
        learner.learn(episodes([1.0, float("nan"), *REWARDS[2:]]))


@pytest.mark.parametrize("more", [{"group": 3}, {"group": 1}, {"updates": 0}, {"rate": 2.0}, {"clip": 0.0}])
def test_settings_that_cannot_be_right_are_refused(more: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        settings(**more)


def test_a_group_size_that_does_not_divide_the_batch_says_so() -> None:
    with pytest.raises(UsageError, match="512 episodes cannot be put in groups of 7"):
        Settings(group=7)
