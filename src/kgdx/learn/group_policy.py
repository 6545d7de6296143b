"""Group-relative policy optimisation of the network that scores listed choices, in NumPy.

Shao et al., DeepSeekMath (arXiv:2402.03300), as Deep-DxSearch uses it, with what was measured to work here: several
episodes of one patient form a group; an episode's advantage is its reward less the group's mean, over the deviation of
the whole batch, so that groups in which all did alike teach nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.errors import UsageError
from kgdx.learn.bedside import Played, Scores
from kgdx.policies.choice_network import NAMES, ChoiceNetwork

MOMENTS = (0.9, 0.999)
"""Decay of Adam's two moments (Kingma and Ba, ICLR 2015)."""
IMITATING, BATCH = 2e-3, 256
"""Step size and choices of a step of imitation."""
Gradient = dict[str, Floats]


@dataclass(frozen=True)
class Settings:
    """How a policy is trained.

    Attributes:
        updates: How many times episodes are played and learned from.
        episodes: Of an update.
        group: Of them that are of one patient.
        rate: Step size of Adam, which falls to a tenth of it, in equal steps.
        epochs: How often the episodes of an update are learned from.
        clip: Bound of the probability ratio, above and below 1.
        kl: Weight of the divergence from the initial policy.
        entropy: Weight of the entropy.
        imitated: Steps of imitating a fixed plan at first; with 0 the policy begins uniform over the kinds of choices.
        explored: Share of its choices that an imitated plan leaves uniform.
        seed: Of all random choices.

    Raises:
        UsageError: A setting is out of range, or groups do not divide the episodes.
    """

    updates: int = 150
    episodes: int = 512
    group: int = 8
    rate: float = 1e-3
    epochs: int = 2
    clip: float = 0.2
    kl: float = 0.005
    entropy: float = 0.01
    imitated: int = 200
    explored: float = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.updates, self.episodes, self.epochs) < 1 or min(self.seed, self.imitated) < 0:
            raise UsageError("updates, episodes and epochs are at least 1", hint="give greater numbers")
        if self.group < 2 or self.episodes % self.group:
            what = f"{self.episodes} episodes cannot be put in groups of {self.group}"
            raise UsageError(what, hint="give a group size of at least 2 that divides the episodes, such as 8 and 512")
        small = 0 < self.rate < 1 and 0 < self.clip < 1 and 0 <= self.explored <= 1
        if not (small and self.kl >= 0 and self.entropy >= 0):
            raise UsageError("the rate or a weight is out of range", hint="give a rate and a clip between 0 and 1")

    def record(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self)


def advantages(rewards: Floats, group: int) -> Floats:
    """Return what each episode did better than its group, over the deviation of the batch; shape (episodes,).

    Args:
        rewards: Those of a group follow each other.
        group: Episodes of a group.

    Raises:
        UsageError: A reward is no finite number.

    Example:
        >>> advantages(np.array([1.0, 0.0, 1.0, 1.0]), 2).round(2).tolist()
        [1.41, -1.41, 0.0, 0.0]
    """
    if not np.isfinite(rewards).all():
        raise UsageError("a reward is no number", hint="mend the reward, which has to be finite for every episode")
    centred = rewards.reshape(-1, group) - rewards.reshape(-1, group).mean(axis=1, keepdims=True)
    deviation = float(np.sqrt(np.square(centred).mean()))
    found: Floats = (centred / deviation if deviation > 1e-9 else np.zeros_like(centred)).ravel()
    return found


@dataclass
class Learner:
    """Improves a network from played episodes.

    Attributes:
        network: The policy.
        settings: How it is trained.
        initial: What it was at first, from which it may not stray far.
        moments: Of Adam: by layer, the mean gradient and its mean square.
        steps: Of Adam.
    """

    network: ChoiceNetwork
    settings: Settings
    initial: ChoiceNetwork
    moments: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)
    steps: int = 0

    def learn(self, played: Played) -> dict[str, float]:
        """Learn from one batch of episodes; return loss, divergence and entropy of the last epoch.

        Raises:
            UsageError: A reward or a gradient is no finite number.
        """
        own = self.settings
        advantage = advantages(played.rewards, own.group)[played.episode].astype(np.float32)
        first = _logarithms(self.initial.logits(played.features), played.listed)
        told: dict[str, float] = {}
        for _ in range(own.epochs):
            gradient, told = self._gradient(played, advantage, first)
            if not all(np.isfinite(each).all() for each in gradient.values()):
                raise UsageError("a gradient is no number", hint="train with a smaller rate")
            self._step(gradient, own.rate * (1 - 0.9 * min(self.steps / (own.updates * own.epochs), 1)))
        return told

    def imitate(self, played: Played, plan: Scores) -> None:
        """Learn by cross-entropy to choose as a plan does, where something was chosen, and to stay open to the rest.

        What is learned is also what the policy may not stray far from later.
        """
        own, chance = self.settings, np.random.default_rng(self.settings.seed)
        wanted = own.explored * np.exp(_logarithms(self.initial.logits(played.features), played.listed))
        best = np.where(played.listed, plan.logits(played.features), -np.inf).argmax(axis=1)
        wanted[np.arange(len(best)), best] += 1 - own.explored
        for _ in range(own.imitated):
            some = chance.choice(len(best), min(len(best), BATCH), replace=False)
            features, listed = played.features[some], played.listed[some]
            inner = self.network.hidden(features)
            slope = np.exp(_logarithms(inner[2], listed)) - wanted[some]
            self._step(_back(self.network.layers, features, inner, slope / len(some)), IMITATING)
        self.initial, self.moments, self.steps = self.network, {}, 0

    def _gradient(self, played: Played, advantage: Floats, first: Floats) -> tuple[Gradient, dict[str, float]]:
        """Return the gradient of the loss −min(r A, clip(r) A) + kl · KL(π ‖ π₀) − entropy · H(π), averaged."""
        own = self.settings
        inner = self.network.hidden(played.features)
        logarithm = _logarithms(inner[2], played.listed)
        share = np.exp(logarithm)
        rows = np.arange(len(played.chosen))
        ratio = np.exp(logarithm[rows, played.chosen] - played.logarithm)
        clipped = np.clip(ratio, 1 - own.clip, 1 + own.clip)
        free = ratio * advantage <= clipped * advantage
        finite, before = np.where(played.listed, logarithm, 0), np.where(played.listed, first, 0)
        entropy = -(share * finite).sum(axis=1)
        apart = finite - before
        divergence = (share * apart).sum(axis=1)
        chosen = np.zeros_like(share)
        chosen[rows, played.chosen] = 1
        slope = -(advantage * ratio * free)[:, None] * (chosen - share)
        slope += own.kl * share * (apart - divergence[:, None])
        slope += own.entropy * share * (finite + entropy[:, None])
        loss = -np.minimum(ratio * advantage, clipped * advantage) + own.kl * divergence - own.entropy * entropy
        told = {"loss": loss.mean(), "divergence": divergence.mean(), "entropy": entropy.mean()}
        gradient = _back(self.network.layers, played.features, inner, slope / len(rows))
        return gradient, {name: float(value) for name, value in told.items()}

    def _step(self, gradient: Gradient, rate: float) -> None:
        """Take one step of Adam."""
        self.steps += 1
        layers = {}
        for name in NAMES:
            mean, square = self.moments.get(name, (np.zeros_like(gradient[name]), np.zeros_like(gradient[name])))
            mean = MOMENTS[0] * mean + (1 - MOMENTS[0]) * gradient[name]
            square = MOMENTS[1] * square + (1 - MOMENTS[1]) * np.square(gradient[name])
            self.moments[name] = mean, square
            unbiased = mean / (1 - MOMENTS[0] ** self.steps), square / (1 - MOMENTS[1] ** self.steps)
            moved = self.network.layers[name] - rate * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8)
            layers[name] = moved.astype(np.float32)
        self.network = ChoiceNetwork(layers, self.network.card)


def _logarithms(logits: Floats, listed: Ints) -> Floats:
    """Logarithms of the probabilities of listed choices, −∞ for the others; shape (choices made, places)."""
    logits = np.where(listed, logits, -np.inf)
    logits = logits - logits.max(axis=1, keepdims=True)
    found: Floats = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return found


def _back(
    layers: Mapping[str, Floats], features: Floats, inner: tuple[Floats, Floats, Floats], slope: Floats
) -> Gradient:
    """The gradient by layer, of the slope of the loss in the logits; by the chain rule."""
    first, second = (each.reshape(-1, each.shape[-1]) for each in inner[:2])
    outer = slope.reshape(-1, 1).astype(np.float32)
    to_second = (outer @ layers["w3"].T) * (1 - np.square(second))
    to_first = (to_second @ layers["w2"].T) * (1 - np.square(first))
    given = features.reshape(-1, features.shape[-1])
    return {
        **{"w3": second.T @ outer, "b3": outer.sum(axis=0)},
        **{"w2": first.T @ to_second, "b2": to_second.sum(axis=0)},
        **{"w1": given.T @ to_first, "b1": to_first.sum(axis=0)},
    }
