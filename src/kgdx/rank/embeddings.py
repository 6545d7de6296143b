"""Learned vectors of a graph's nodes, read without torch: what `kgdx learn embeddings` wrote.

A folder of embeddings holds ``card.json`` (what they are of and how they were made), ``nodes.safetensors`` (of each
kind of node the mean latents, the input vectors and the rows of the snapshot's table; the links) and
``weights.safetensors`` (the network and the decoder of each relation).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.errors import AbsentError, StaleSnapshotError, StoreError, UsageError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from kgdx.graph.snapshot import Snapshot

SCHEMA = "kgdx.embeddings/1"
FOLDER = "embeddings"
"""Of a graph's folder, the folder of all its embeddings."""
CARD, NODES, WEIGHTS = "card.json", "nodes.safetensors", "weights.safetensors"
_AGAIN = "train again with `kgdx learn embeddings`"


@dataclass(frozen=True)
class Embeddings:
    """Vectors of nodes, the network that made them, and the decoders of relations.

    The ``card`` says what they are of, how they were made, and what was measured; ``arrays`` are ``KIND.row``,
    ``KIND.latent``, ``KIND.input`` and ``links.RELATION``, ``weights`` the network's, and ``decoder.RELATION``.
    """

    card: Mapping[str, Any]
    arrays: Mapping[str, Floats] = field(repr=False)
    weights: Mapping[str, Floats] = field(repr=False)

    @classmethod
    def open(
        cls, folder: str | os.PathLike[str], snapshot: Snapshot | None = None, encoder: str | None = None
    ) -> Embeddings:
        """Read a folder of embeddings, such as ``GRAPH/embeddings/vgae``.

        They must be of the snapshot's graph, and their input vectors made by the encoder, where these are given.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        path = Path(folder)
        try:
            card = json.loads((path / CARD).read_bytes())
            if not isinstance(card, dict) or card.get("schema") != SCHEMA:
                raise ValueError(f"it is not of {SCHEMA}")
            read = cls(card, load_file(path / NODES), load_file(path / WEIGHTS))
            read._check()
        except FileNotFoundError:
            hint = "train them with `kgdx learn embeddings`"
            raise AbsentError(f"no embeddings in {path}", hint=hint) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
            why = f"{error} is missing" if isinstance(error, KeyError) else error
            raise StoreError(f"the embeddings in {path} are damaged ({why})", hint=_AGAIN) from error
        if snapshot is not None and card["graph"] != snapshot.content:
            raise StaleSnapshotError(f"the embeddings in {path} are stale: they are of another graph", hint=_AGAIN)
        if encoder is not None and card["sentence_encoder"] != encoder:
            made = f"their vectors are of the encoder {card['sentence_encoder']}, not {encoder}"
            raise StaleSnapshotError(f"the embeddings in {path} are stale: {made}", hint=_AGAIN)
        return read

    def _check(self) -> None:
        for name in ("name", "graph", "sentence_encoder"):
            self.card[name]
        self.card["training"]["encoder"]
        for name, found in self.weights.items():
            if not np.isfinite(found).all():
                raise ValueError(f"{name} holds what is no number")
        for kind, size in self.card["nodes"].items():
            for part, shape in (
                ("row", (size,)),
                ("latent", (size, self.card["width"])),
                ("input", (size, self.card["input_width"])),
            ):
                found = self.arrays[f"{kind}.{part}"]
                if found.shape != shape:
                    raise ValueError(f"{kind}.{part} has the shape {found.shape}, not {shape}")
                if not np.isfinite(found).all():
                    raise ValueError(f"{kind}.{part} holds what is no number")
        for relation, count in self.card["links"].items():
            links, ends = self.arrays[f"links.{relation}"], self.card["ends"][relation]
            sizes = [[self.card["nodes"][kind]] for kind in ends]
            if links.shape != (2, count) or (links < 0).any() or (links >= sizes).any():
                raise ValueError(f"links.{relation} are not {count} links of its nodes")
            if self.weights[f"decoder.{relation}"].shape != (self.card["width"],):
                raise ValueError(f"decoder.{relation} is not {self.card['width']} wide")

    @property
    def kinds(self) -> Sequence[str]:
        return list(self.card["nodes"])

    @property
    def relations(self) -> Sequence[str]:
        return list(self.card["links"])

    def rows(self, kind: str) -> Ints:
        return self._of(kind, "row")

    def nodes(self, kind: str) -> Floats:
        return self._of(kind, "latent")

    def inputs(self, kind: str) -> Floats:
        return self._of(kind, "input")

    def links(self, relation: str) -> Ints:
        """Return the positions of head and tail of each link among the nodes of their kinds; shape (2, links)."""
        found = self.arrays.get(f"links.{relation}")
        if found is None:
            raise AbsentError(
                f"the embeddings know no relation {str(relation)[:40]!r}", hint=self._have(self.relations)
            )
        return found

    def nearest(self, vectors: Floats, kind: str = "symptom", least: float | None = None) -> Ints:
        """Return the nodes that phrases stand for: the nearest of each, or all with a cosine of at least ``least``.

        The phrases' vectors are by the encoder of the inputs, of length 1, shape (phrases, width); ``least`` is
        GPT-RagAD's β. Nodes are positions among the kind's, each once, ascending.
        """
        cosines = self._compared(vectors) @ self.inputs(kind).T
        if least is None:
            return np.unique(cosines.argmax(axis=1)) if len(cosines) else np.zeros(0, np.int64)
        return np.flatnonzero((cosines >= least).any(axis=0))

    def patient(self, vectors: Floats, least: float | None = None) -> Floats | None:
        found = self.nearest(vectors, least=least)
        return self.nodes("symptom")[found].mean(axis=0) if len(found) else None

    def logits(self, relation: str, head: Floats, tail: Floats) -> Floats:
        """Return how likely links are, before calibration: Σ_k head_k w_k tail_k, w the relation's decoder.

        Heads and tails are latents of shapes (n, d) and (m, d); the result has the shape (n, m).
        """
        self.links(relation)
        logits: Floats = (head * self.weights[f"decoder.{relation}"]) @ tail.T
        return logits

    def held_out(self, relation: str) -> tuple[Floats, Floats]:
        """Return the logits of links that were held out of training, and of as many pairs that are none."""
        try:
            one, other = (self.weights[f"held_out.{relation}.{part}"] for part in ("links", "others"))
        except KeyError:
            held = sorted({name.split(".")[1] for name in self.weights if name.startswith("held_out.")})
            raise AbsentError(f"no links of {relation[:40]!r} were held out", hint=self._have(held)) from None
        return one, other

    def _compared(self, vectors: Floats) -> Floats:
        encoded, width = f"encode with {self.card['sentence_encoder']}", self.card["input_width"]
        given = np.asarray(vectors)
        if given.dtype.kind not in "fiu" or not np.isfinite(given).all():
            raise UsageError("vectors of phrases hold what is no number", hint=encoded)
        if given.ndim != 2 or given.shape[1] != width:
            wide = f"vectors of width {given.shape[-1] if given.ndim else 0} do not fit embeddings of width {width}"
            raise UsageError(wide, hint=f"{encoded}, or {_AGAIN}")
        return given

    def _of(self, kind: str, part: str) -> Floats:
        found = self.arrays.get(f"{kind}.{part}")
        if found is None:
            raise AbsentError(
                f"the embeddings have no nodes of the kind {str(kind)[:40]!r}", hint=self._have(self.kinds)
            )
        return found

    def _have(self, names: Sequence[str]) -> str:
        return f"they have {', '.join(names) or 'none'}; other ones need `kgdx learn embeddings --relations`"


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
        found = self._embeddings.nearest(vectors, least=least)
        if not len(found):
            return None
        mean = vectors.mean(axis=0)
        return self.node(found, mean / max(float(np.linalg.norm(mean)), 1e-9))

    def node(self, symptoms: Ints, own: Floats) -> Floats:
        """Return the mean latent of a new node by its symptoms, as positions among these, and its input vector."""
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
