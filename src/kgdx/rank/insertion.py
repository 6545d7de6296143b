"""A patient as a new node of the graph that embeddings were learned on: the network's own forward pass, in NumPy.

GPT-RagAD takes the mean over the symptoms that a patient's phrases stand for. Here the patient is inserted as a disease
is: a node whose links are those symptoms, run through the stored layers with the degrees as they then are.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.errors import UsageError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from kgdx.rank.embeddings import Embeddings

_HAS = "has_symptom"
_NETWORK = "vgae"


def adjacency(head: Ints, tail: Ints, size: int) -> csr_array:
    """Return A + I of links that run both ways; shape (size, size).

    Example:
        >>> adjacency(np.array([0]), np.array([1]), 2).toarray().tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    from scipy.sparse import csr_array

    loops = np.arange(size)
    one, other = np.concatenate([head, tail, loops]), np.concatenate([tail, head, loops])
    matrix = csr_array((np.ones(len(one)), (one, other)), shape=(size, size))
    matrix.data[:] = 1
    return matrix


def normalised(matrix: csr_array) -> csr_array:
    """Return Ã = D^(−1/2) (A + I) D^(−1/2) of A + I."""
    root = 1 / np.sqrt(matrix.sum(axis=1))
    matrix = matrix.copy()
    matrix.data *= np.repeat(root, np.diff(matrix.indptr)) * root[matrix.indices]
    return matrix


class Insertion:
    """Inserts patients into the graph of embeddings."""

    def __init__(self, embeddings: Embeddings) -> None:
        network = embeddings.card["training"]["encoder"]
        if network != _NETWORK or _HAS not in embeddings.relations:
            message = f"a patient cannot be inserted into the embeddings {embeddings.card['name']}, of {network}"
            raise UsageError(message, hint=f"take the mean of symptoms, or train {_NETWORK} with {_HAS}")
        self._embeddings = embeddings
        self._offset = dict(zip(embeddings.kinds, np.cumsum([0, *embeddings.card["nodes"].values()]), strict=False))
        self._inputs = np.concatenate([embeddings.inputs(kind) for kind in embeddings.kinds])

    @cached_property
    def _matrices(self) -> dict[str, csr_array]:
        found = {}
        for name in self._embeddings.relations:
            ends = self._embeddings.card["ends"][name]
            both = self._embeddings.links(name)
            head, tail = (part.astype(np.int64) + self._offset[kind] for part, kind in zip(both, ends, strict=True))
            found[name] = adjacency(head, tail, len(self._inputs))
        return found

    def patient(self, vectors: Floats, least: float | None = None) -> Floats | None:
        """Return the mean latent of a patient as a new node.

        Args:
            vectors: Those of the patient's phrases; shape (phrases, width).
            least: As for :meth:`kgdx.rank.embeddings.Embeddings.nearest`.

        Returns:
            Shape (d,), to compare with the latents of diseases; ``None`` where the phrases stand for no symptom.
        """
        found = self._embeddings.nearest(vectors, least=least)
        if not len(found):
            return None
        mean = vectors.mean(axis=0)
        return self.node(found, mean / max(float(np.linalg.norm(mean)), 1e-9))

    def node(self, symptoms: Ints, own: Floats) -> Floats:
        """Return the mean latent of a new node.

        Args:
            symptoms: Its symptoms, each once, as positions among the symptom nodes; shape (k,).
            own: Its input vector; shape (width,).
        """
        weights, rows = self._embeddings.weights, symptoms + self._offset["symptom"]
        loop = 1 / (len(rows) + 1)
        counts = np.diff(self._matrices[_HAS].indptr)[rows]
        across = np.sqrt(loop / (counts + 1))  # Ã between the new node and each of its symptoms
        hidden: Floats = np.zeros((len(rows) + 1, weights[f"first.{_HAS}"].shape[1]))
        for name in self._embeddings.relations:
            mixed = np.vstack([own, self._gathered(name, rows)])
            if name == _HAS:
                mixed[0] = loop * own + across @ self._inputs[rows]
                mixed[1:] += across[:, None] * own
            hidden += mixed @ weights[f"first.{name}"]
        hidden = np.maximum(hidden, 0)
        latent: Floats = np.zeros(self._embeddings.card["width"])
        for name in self._embeddings.relations:
            mixed = loop * hidden[0] + across @ hidden[1:] if name == _HAS else hidden[0]
            latent += mixed @ weights[f"mean.{name}"]
        return latent

    def _gathered(self, name: str, rows: Ints) -> Floats:
        matrix = self._matrices[name]
        part = matrix[rows]
        counts = np.diff(matrix.indptr).astype(np.float64)
        own = counts[rows] + (1 if name == _HAS else 0)
        reached = np.repeat(np.arange(len(rows)), np.diff(part.indptr))
        other = np.where(part.indices == rows[reached], own[reached], counts[part.indices])
        part.data = 1 / np.sqrt(own[reached] * other)
        gathered: Floats = part @ self._inputs
        return gathered
