"""The network that scores listed choices: two hidden layers over the features of a choice, in NumPy, and its file.

A checkpoint is a file of safetensors: the layers, and what the network was trained on, as its metadata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np

from kgdx.arrays.sparse import Floats
from kgdx.errors import StoreError
from kgdx.files.known import write_whole
from kgdx.rank.choices import ALIKE, FEATURES, KINDS
from kgdx.resources import resource

SCHEMA = "kgdx.choice-network/1"
HIDDEN = (64, 64)
KINDS_AT = slice(FEATURES.index(KINDS[0]), FEATURES.index(KINDS[-1]) + 1)
ALONE = np.log(np.array(ALIKE, np.float32))
SHIPPED = "learned-policy.safetensors"
RETRAIN = "train one with `kgdx learn policy CASES`, or leave the setting out for the one that kgdx ships"
NAMES = ("w1", "b1", "w2", "b2", "w3", "b3")


@dataclass(frozen=True)
class ChoiceNetwork:
    """Scores choices: logit = w3 · tanh(W2 tanh(W1 x + b1) + b2) + b3 − ln n, a number for each row of features.

    n is how many choices of the kind a list has: untrained, each kind is as likely as any other, and a list of many
    single questions does not drown what else could be done.

    Attributes:
        layers: Weights and biases, by the names of :data:`NAMES`.
        card: What it was trained on and how well it did; written and read with it.
    """

    layers: Mapping[str, Floats]
    card: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def fresh(cls, seed: int = 0) -> Self:
        """Return an untrained network: a policy of it is uniform over the kinds, and within each.

        Example:
            >>> ChoiceNetwork.fresh().logits(np.zeros((2, len(FEATURES)), np.float32)).tolist()
            [0.0, 0.0]
        """
        made, sizes = np.random.default_rng(seed), (len(FEATURES), *HIDDEN)
        layers: dict[str, Floats] = {}
        for number, (inner, outer) in enumerate(pairwise(sizes), start=1):
            layers[f"w{number}"] = (made.standard_normal((inner, outer)) / np.sqrt(inner)).astype(np.float32)
            layers[f"b{number}"] = np.zeros(outer, np.float32)
        return cls({**layers, "w3": np.zeros((sizes[-1], 1), np.float32), "b3": np.zeros(1, np.float32)})

    def logits(self, features: Floats) -> Floats:
        """Return the score of each choice.

        Args:
            features: Shape (…, FEATURES).

        Returns:
            Shape (…,).
        """
        return self.hidden(features)[2]

    def hidden(self, features: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the two hidden layers and the logits."""
        own = self.layers
        first = np.tanh(features @ own["w1"] + own["b1"])
        second = np.tanh(first @ own["w2"] + own["b2"])
        return first, second, (second @ own["w3"])[..., 0] + own["b3"] - features[..., KINDS_AT] @ ALONE

    def write(self, path: Path) -> None:
        """Write the checkpoint, whole or not at all.

        Raises:
            StoreError: It cannot be written.
        """
        from safetensors.numpy import save

        about = {"schema": SCHEMA, "features": list(FEATURES), **self.card}
        layers = {name: np.ascontiguousarray(self.layers[name], np.float32) for name in NAMES}
        try:
            write_whole(path, save(layers, {"card": json.dumps(about, sort_keys=True)}))
        except OSError as error:
            raise StoreError(f"the policy {path} cannot be written ({error})", hint="choose another place") from error

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the network of a checkpoint.

        Raises:
            StoreError: It cannot be read, is damaged, or observes other features than this version of kgdx.
        """
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as file:
                layers = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
                card = json.loads((file.metadata() or {}).get("card", "{}"))
        except (OSError, SafetensorError, ValueError) as error:
            raise StoreError(f"the policy {path} cannot be read ({error})", hint=RETRAIN) from error
        if not isinstance(card, dict) or card.get("schema") != SCHEMA:
            raise StoreError(f"{path} is no policy of kgdx", hint=RETRAIN)
        if card.get("features") != list(FEATURES):
            raise StoreError(f"the policy {path} observes other features than this version of kgdx", hint=RETRAIN)
        shapes = {name: layer.shape for name, layer in cls.fresh().layers.items()}
        if {name: layer.shape for name, layer in layers.items()} != shapes:
            raise StoreError(f"the policy {path} has layers of other sizes", hint=RETRAIN)
        if not all(np.isfinite(layer).all() for layer in layers.values()):
            raise StoreError(f"the policy {path} has weights that are no numbers", hint=RETRAIN)
        return cls(layers, card)


@cache
def opened(path: str) -> ChoiceNetwork:
    """Return the network of a checkpoint, read once; that which kgdx ships where no path is given.

    Raises:
        StoreError: It cannot be used.
    """
    return ChoiceNetwork.read(Path(path) if path else resource("ranking", SHIPPED))
