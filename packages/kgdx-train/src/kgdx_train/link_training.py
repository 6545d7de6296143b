"""Train an encoder of a heterogeneous graph to tell links from other pairs: seeded, stopped early, resumable."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kgdx.arrays.sparse import Floats, Ints
from kgdx.errors import UsageError
from kgdx.learn.hetero_graph import HeteroGraph, ends_of
from kgdx_train.graph_encoders import GRAPH_ENCODERS, GraphEncoder, LayerSizes, Tensor
from kgdx_train.held_out_links import LinkSplit, auc, figures
from kgdx_train.training_state import TrainingState

CHECKED = 10
"""Epochs from one look at the held-out links to the next; the state is saved as often."""
_MOST = 2**63
Progress = Callable[[int, int, float, float | None], None]
"""Told after each look: epochs done, epochs at most, loss, AUC of the held-out links."""


@dataclass(frozen=True, slots=True)
class Training:
    """How embeddings are trained.

    Attributes:
        encoder: Of :data:`kgdx_train.graph_encoders.GRAPH_ENCODERS`.
        epochs: At most.
        rate: Step size of Adam.
        seed: Of weights, noise, held-out links and pairs that are no links.
        held_out: Share of the stated links that are held out, in [0, 0.5].
        patience: Epochs without a better AUC after which it stops; 0 for never.
        batch: Links of an epoch at most; more are sampled anew in each.
        device: ``auto``, ``cpu``, ``cuda``.
        hidden: Width of the first layer.
        latent: Width of the second.
    """

    encoder: str = "vgae"
    epochs: int = 200
    rate: float = 0.01
    seed: int = 0
    held_out: float = 0.1
    patience: int = 100
    batch: int = 1_000_000
    device: str = "auto"
    hidden: int = 128
    latent: int = 64

    def __post_init__(self) -> None:
        if not 0 <= self.held_out <= 0.5:
            raise UsageError(f"the share of held-out links is {self.held_out:g}", hint="give a number from 0 to 0.5")
        for name, least in (("epochs", 1), ("batch", 1), ("hidden", 1), ("latent", 1), ("patience", 0), ("seed", 0)):
            if not least <= (given := getattr(self, name)) < _MOST:
                raise UsageError(f"{name} is {given}", hint=f"give a number of at least {least} and below 2**63")
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise UsageError(f"the rate is {self.rate:g}", hint="give a number above 0, such as 0.01")


@dataclass(frozen=True, slots=True)
class Trained:
    """What came of a training.

    Attributes:
        latents: Kind → mean latents, all links of the graph taken; shape (nodes, d).
        weights: The network's and, as ``decoder.RELATION``, the decoders'.
        held_out: Relation → logits of the held-out links, and of as many other pairs, by a graph without these links.
        figures: Relation → AUC and AP of the held-out links.
        epochs: Epochs run.
        best: The one whose weights these are.
    """

    latents: Mapping[str, Floats]
    weights: Mapping[str, Floats]
    held_out: Mapping[str, tuple[Floats, Floats]]
    figures: Mapping[str, Mapping[str, float]]
    epochs: int
    best: int


def train(
    graph: HeteroGraph, parts: LinkSplit, how: Training, folder: Path, about: str, progress: Progress | None = None
) -> Trained:
    """Train an encoder, going on where a training of the same was stopped.

    What is drawn in an epoch depends on the seed and its number alone, so a training that was stopped and resumed gives
    what one in a piece gives.
    """
    run = _Run(graph, parts, how)
    run.resume(TrainingState.load(folder, about))
    while run.epoch < how.epochs and not run.stopped:
        loss = run.step()
        if not math.isfinite(loss):
            hint = f"lower the rate (now {how.rate:g}), or choose other relations"
            raise UsageError(f"the training failed: the loss is no number after epoch {run.epoch}", hint=hint)
        if run.epoch % CHECKED == 0 or run.epoch == how.epochs:
            run.look()
            run.state(about).save(folder)
            if progress is not None:
                progress(run.epoch, how.epochs, loss, run.last)
    return run.result()


class _Run:
    """One training: its network, its optimiser, and how far it is."""

    def __init__(self, graph: HeteroGraph, parts: LinkSplit, how: Training) -> None:
        self.graph, self.parts, self.how = graph, parts, how
        device = device_of(how.device)
        make: Callable[..., GraphEncoder] = GRAPH_ENCODERS.get(how.encoder)
        self.network = make(graph, LayerSizes(how.hidden, how.latent), how.seed, device)
        self.adam = torch.optim.Adam(list(self.network.parameters.values()), lr=how.rate)
        self.links = self.network.along(parts.training)
        self.relations = [name for name, edges in parts.training.items() if edges.shape[1]]
        self.edges = np.concatenate([self._numbered(name, parts.training[name]) for name in self.relations], axis=1)
        counts = [parts.training[name].shape[1] for name in self.relations]
        self.of = np.repeat(np.arange(len(counts)), counts)
        self.epoch, self.best, self.auc = 0, 0, -1.0
        self.last: float | None = None
        self.kept = self._copied()

    @property
    def stopped(self) -> bool:
        return bool(self.how.patience and self.parts.stopping and self.epoch - self.best >= self.how.patience)

    def step(self) -> float:
        """Run one epoch; returns its loss."""
        network = self.network
        draws = np.random.default_rng((self.how.seed, self.epoch))
        at = np.arange(self.edges.shape[1])
        if len(at) > self.how.batch:
            at = np.sort(draws.choice(len(at), self.how.batch, replace=False))
        latents, divergence = network.encode(self.links, draws)
        weights = torch.stack([network.decoder(name) for name in self.relations])
        of = self._tensor(self.of[at])
        near = self._scores(latents, weights, self._tensor(self.edges[:, at]), of)
        far = self._scores(latents, weights, self._tensor(self._drawn(self.of[at], draws)), of)
        softplus = torch.nn.functional.softplus
        loss = softplus(-near).mean() + softplus(far).mean() + divergence
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        self.epoch += 1
        return float(loss.detach())

    def look(self) -> None:
        if not self.parts.stopping:
            self.best, self.kept = self.epoch, self._copied()
            return
        latents = self._means(self.links)
        found = [auc(*self._logits(latents, name, *both)) for name, both in self.parts.stopping.items()]
        self.last = float(np.mean(found))
        if self.last > self.auc:
            self.auc, self.best, self.kept = self.last, self.epoch, self._copied()

    def state(self, about: str) -> TrainingState:
        arrays = {f"now.{name}": array for name, array in self._copied().items()}
        arrays |= {f"best.{name}": array for name, array in self.kept.items()}
        for name, parameter in self.network.parameters.items():
            moments = self.adam.state[parameter]
            arrays |= {f"{part}.{name}": moments[part].cpu().numpy().copy() for part in ("exp_avg", "exp_avg_sq")}
        return TrainingState(about, {"epoch": self.epoch, "best": self.best, "auc": self.auc}, arrays)

    def resume(self, state: TrainingState | None) -> None:
        if state is None:
            return
        self.epoch, self.best, self.auc = (state.progress[name] for name in ("epoch", "best", "auc"))
        for name, parameter in self.network.parameters.items():
            with torch.no_grad():
                parameter.copy_(torch.from_numpy(state.arrays[f"now.{name}"].copy()))
            moments = {part: self._tensor(state.arrays[f"{part}.{name}"]) for part in ("exp_avg", "exp_avg_sq")}
            self.adam.state[parameter] = {"step": torch.tensor(float(self.epoch)), **moments}
        self.kept = {name: state.arrays[f"best.{name}"] for name in self.network.parameters}

    def result(self) -> Trained:
        with torch.no_grad():
            for name, parameter in self.network.parameters.items():
                parameter.copy_(torch.from_numpy(self.kept[name].copy()))
        without = self._means(self.links)
        held = {name: self._logits(without, name, *both) for name, both in self.parts.measured.items()}
        latents = self._means(self.network.along(self.graph.edges))
        weights = dict(self.kept) | {f"decoder.{name}": self._decoder(name) for name in self.graph.edges}
        begin = self.network.offset
        return Trained(
            {kind: latents[begin[kind] : begin[kind] + len(rows)] for kind, rows in self.graph.rows.items()},
            weights,
            held,
            {name: figures(*both) for name, both in held.items()},
            self.epoch,
            self.best,
        )

    def _means(self, links: Any) -> Floats:
        with torch.no_grad():
            means: Floats = self.network.encode(links)[0].cpu().numpy()
        return means

    def _decoder(self, relation: str) -> Floats:
        values: Floats = self.network.decoder(relation).detach().cpu().numpy().copy()
        return values

    def _logits(self, latents: Floats, relation: str, links: Ints, others: Ints) -> tuple[Floats, Floats]:
        weight = self._decoder(relation)
        one, other = (latents[self._numbered(relation, pairs)] for pairs in (links, others))
        return (one[0] * weight * one[1]).sum(axis=1), (other[0] * weight * other[1]).sum(axis=1)

    def _scores(self, latents: Tensor, weights: Tensor, pairs: Tensor, of: Tensor) -> Tensor:
        return (latents[pairs[0]] * weights[of] * latents[pairs[1]]).sum(1)

    def _drawn(self, of: Ints, draws: np.random.Generator) -> Ints:
        """As many pairs of each relation's kinds, drawn by chance; a link among them is rare and does little harm."""
        sizes = np.array([[len(self.graph.rows[kind]) for kind in ends_of(name)] for name in self.relations])
        begin = np.array([[self.network.offset[kind] for kind in ends_of(name)] for name in self.relations])
        drawn: Ints = (draws.random((2, len(of))) * sizes[of].T).astype(np.int64) + begin[of].T
        return drawn

    def _numbered(self, relation: str, pairs: Ints) -> Ints:
        begin = [[self.network.offset[kind]] for kind in ends_of(relation)]
        return np.asarray(pairs + np.array(begin))

    def _tensor(self, array: Floats) -> Tensor:
        return torch.from_numpy(np.array(array)).to(self.network.device)

    def _copied(self) -> dict[str, Floats]:
        return {name: value.detach().cpu().numpy().copy() for name, value in self.network.parameters.items()}


def device_of(name: str) -> str:
    """Return the device that ``auto`` or a name stands for.

    Example:
        >>> device_of("cpu")
        'cpu'
    """
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError) as error:
        hint = "use auto, which takes what there is, or cpu"
        raise UsageError(f"this machine has no device {name[:40]!r} to train on", hint=hint) from error
    return name
