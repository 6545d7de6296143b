"""Encoders of a heterogeneous graph: the relation-aware variational auto-encoder of GPT-RagAD, and R-GCN with DistMult.

All nodes stand in one order, kind after kind. An encoder turns their vectors and the links of each relation into a
latent of each node; a decoder says how likely a link (u, r, v) is: σ(Σ_k u_k w_rk v_k).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from kgdx.arrays.sparse import Ints
from kgdx.learn.hetero_graph import HeteroGraph, ends_of, geometric
from kgdx.rank.embeddings import adjacency, normalised
from kgdx.registry import Registry

Tensor = Any
"""A tensor of torch."""
_STEEPEST = 10.0
"""Greatest log σ, as in PyTorch Geometric's VGAE."""
_DROPPED = 0.4
"""Share of the values before each layer of R-GCN that are dropped while training."""


@dataclass(frozen=True, slots=True)
class LayerSizes:
    """Widths of the layers."""

    hidden: int = 128
    latent: int = 64


class GraphEncoder(ABC):
    """A network over one graph."""

    name: ClassVar[str]
    parameters: dict[str, Tensor]
    """What is learned, by name."""

    def __init__(self, graph: HeteroGraph, sizes: LayerSizes, seed: int, device: str) -> None:
        self.relations = list(graph.edges)
        self.sizes, self.device = sizes, device
        self.offset = offsets(graph)
        self.size = sum(len(rows) for rows in graph.rows.values())
        inputs = np.concatenate([graph.inputs[kind] for kind in graph.rows])
        self.inputs = torch.from_numpy(inputs).to(device)
        self._draws = torch.Generator().manual_seed(seed)
        self.parameters = {}

    def add(self, name: str, *shape: int) -> None:
        """Add a matrix that is learned, drawn by Glorot and Bengio's rule (AISTATS 2010)."""
        reach = (6.0 / (shape[0] + shape[-1])) ** 0.5
        drawn = (torch.rand(*shape, generator=self._draws) * 2 - 1) * reach
        self.parameters[name] = drawn.to(self.device).requires_grad_()

    @abstractmethod
    def along(self, edges: Mapping[str, Ints]) -> Any:
        """Prepare the links that messages run along, for :meth:`encode`."""

    @abstractmethod
    def encode(self, links: Any, draws: np.random.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Return the latents and what their distribution adds to the loss."""

    @abstractmethod
    def decoder(self, relation: str) -> Tensor:
        """Return w of a relation; shape (d,)."""


class Vgae(GraphEncoder):
    """GPT-RagAD's relation-aware variational graph auto-encoder (after Kipf and Welling, 2016).

    H^(l) = γ(Σ_r Ã^(r) H^(l−1) W_r^(l)) with Ã = D^(−1/2) (A + I) D^(−1/2), γ = ReLU after the first of two layers;
    the second gives μ and log σ. The loss is the binary cross-entropy of links and the Kullback-Leibler divergence from
    N(0, I), divided by the number of nodes; links are decoded by the inner product.
    """

    name: ClassVar[str] = "vgae"

    def __init__(self, graph: HeteroGraph, sizes: LayerSizes, seed: int, device: str) -> None:
        super().__init__(graph, sizes, seed, device)
        for relation in self.relations:
            self.add(f"first.{relation}", graph.width, sizes.hidden)
            self.add(f"mean.{relation}", sizes.hidden, sizes.latent)
            self.add(f"spread.{relation}", sizes.hidden, sizes.latent)

    def along(self, edges: Mapping[str, Ints]) -> Any:
        """Return Ã of each relation, and Ã X side by side, which no step changes."""
        matrices = [self._normalised(edges.get(name, np.zeros((2, 0), np.int64)), name) for name in self.relations]
        return matrices, torch.cat([matrix @ self.inputs for matrix in matrices], 1)

    def encode(self, links: Any, draws: np.random.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Return μ, or a sample, and the divergence."""
        matrices, gathered = links
        learned = self.parameters
        hidden = (gathered @ torch.cat([learned[f"first.{name}"] for name in self.relations])).relu()
        both = sum(
            _propagated(matrix, hidden @ torch.cat([learned[f"mean.{name}"], learned[f"spread.{name}"]], 1))
            for name, matrix in zip(self.relations, matrices, strict=True)
        )
        mean, spread = both[:, : self.sizes.latent], both[:, self.sizes.latent :].clamp(max=_STEEPEST)
        divergence = -0.5 * (1 + 2 * spread - mean**2 - (2 * spread).exp()).sum(1).mean() / self.size
        if draws is None:
            return mean, divergence
        noise = torch.from_numpy(draws.standard_normal(tuple(mean.shape), np.float32)).to(self.device)
        return mean + noise * spread.exp(), divergence

    def decoder(self, relation: str) -> Tensor:
        return torch.ones(self.sizes.latent, device=self.device)

    def _normalised(self, links: Ints, name: str) -> Tensor:
        """Ã of a relation, as a sparse tensor."""
        head, tail = (part + self.offset[kind] for part, kind in zip(links, ends_of(name), strict=True))
        matrix = normalised(adjacency(head, tail, self.size))
        arrays = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data.astype(np.float32)
        rows, columns, values = map(torch.from_numpy, arrays)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta", UserWarning)
            made = torch.sparse_csr_tensor(rows, columns, values, matrix.shape, check_invariants=False)
        return made.to(self.device)


def _propagated(matrix: Tensor, values: Tensor) -> Tensor:
    """Ã X with the gradient Ã G: Ã is symmetric, so that nothing has to be transposed for it."""
    passed = values * 1
    if passed.requires_grad:
        passed.register_hook(lambda gradient: matrix @ gradient)
    return matrix @ values.detach() + (passed - passed.detach())


class Rgcn(GraphEncoder):
    """R-GCN (Schlichtkrull et al., ESWC 2018) of PyTorch Geometric, with DistMult as decoder (Yang et al., ICLR 2015).

    Each relation runs both ways, as two relations; nothing is sampled, and the latents have no distribution.
    """

    name: ClassVar[str] = "rgcn"

    def __init__(self, graph: HeteroGraph, sizes: LayerSizes, seed: int, device: str) -> None:
        super().__init__(graph, sizes, seed, device)
        geometric("training embeddings")
        from torch_geometric.nn import RGCNConv

        with torch.random.fork_rng():
            torch.manual_seed(seed)
            count = 2 * len(self.relations)
            self._layers = [RGCNConv(graph.width, sizes.hidden, count), RGCNConv(sizes.hidden, sizes.latent, count)]
        for number, each in enumerate(self._layers):
            each.to(device)
            self.parameters |= {f"layer{number}.{name}": value for name, value in each.named_parameters()}
        for relation in self.relations:
            self.parameters[f"decoder.{relation}"] = torch.ones(sizes.latent, device=device).requires_grad_()

    def along(self, edges: Mapping[str, Ints]) -> Any:
        """Return the links both ways, and which relation each is of."""
        parts, kinds = [], []
        for number, name in enumerate(self.relations):
            if name in edges:
                head, tail = (part + self.offset[kind] for part, kind in zip(edges[name], ends_of(name), strict=True))
                parts += [np.stack([head, tail]), np.stack([tail, head])]
                kinds += [np.full(len(head), 2 * number), np.full(len(head), 2 * number + 1)]
        both = torch.from_numpy(np.concatenate(parts, axis=1))
        return both.to(self.device), torch.from_numpy(np.concatenate(kinds)).to(self.device)

    def encode(self, links: Any, draws: np.random.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Return the latents, and 0."""
        first, second = self._layers
        hidden = first(self._dropped(self.inputs, draws), *links).relu()
        return second(self._dropped(hidden, draws), *links), torch.zeros((), device=self.device)

    def _dropped(self, values: Tensor, draws: np.random.Generator | None) -> Tensor:
        if draws is None:
            return values
        kept = torch.from_numpy(draws.random(tuple(values.shape), np.float32) >= _DROPPED).to(self.device)
        return values * kept / (1 - _DROPPED)

    def decoder(self, relation: str) -> Tensor:
        return self.parameters[f"decoder.{relation}"]


GRAPH_ENCODERS: Registry[GraphEncoder] = Registry(
    "graph encoder",
    "kgdx.graph_encoders",
    {"vgae": "kgdx_train.graph_encoders:Vgae", "rgcn": "kgdx_train.graph_encoders:Rgcn"},
)
"""Name → class, made as :class:`GraphEncoder` says."""


def offsets(graph: HeteroGraph) -> dict[str, int]:
    """Return where each kind begins in the one order of all nodes.

    Example:
        >>> offsets(HeteroGraph({"disease": np.arange(2), "symptom": np.arange(3)}, {}, {}, {}))
        {'disease': 0, 'symptom': 2}
    """
    found, begin = {}, 0
    for kind, rows in graph.rows.items():
        found[kind] = begin
        begin += len(rows)
    return found
