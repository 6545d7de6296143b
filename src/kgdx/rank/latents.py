"""The scorers of learned vectors: what `kgdx learn embeddings` made of the graph, read without torch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.rank.descriptions import phrases
from kgdx.rank.embeddings import FOLDER, Embeddings
from kgdx.rank.meanings import vectors_of
from kgdx.rank.query import Field, Query
from kgdx.rank.scorers import Scorer
from kgdx.terms.encoder import MINILM, MiniLM, chosen, usual

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel

NAME = "vgae"
"""Of the embeddings that are read."""


def folder_of(snapshot: Snapshot, name: str = NAME) -> Path:
    homes = [home for home in snapshot.path.parents[:3] if (home / FOLDER).is_dir()]
    return (homes or snapshot.path.parents[2:3] or [snapshot.path.parent])[0] / FOLDER / name


class Latent(Scorer):
    """A scorer by the latents of a disease's symptoms and phenotypes, and of those that the patient's words stand for.

    Arrays: ``latents``, those of the nodes, of length 1; ``node``, those of each candidate, which begin at ``first``.
    """

    def __init__(self, model: RankModel, arrays: Mapping[str, Floats], embeddings: Embeddings) -> None:
        super().__init__(model, arrays)
        self.embeddings, self.size = embeddings, len(model.curated)

    @classmethod
    def open(cls, snapshot: Snapshot, model: RankModel, version: str) -> Self:
        embeddings = Embeddings.open(folder_of(snapshot), snapshot, MiniLM.name if chosen() == MINILM else usual().name)
        known = phrases(snapshot, model.candidates)
        annotated = model.columns.annotated
        owner = np.repeat(np.arange(len(annotated.start) - 1), np.diff(annotated.start))
        pairs = {"symptom": (known.candidate, known.symptom), "phenotype": (owner, annotated.index)}
        latents, owners, nodes, offset = [], [], [], 0
        for kind in filter(embeddings.kinds.__contains__, pairs):
            candidate, row = pairs[kind]
            place = placed(embeddings.rows(kind), row)
            owners.append(np.asarray(candidate)[place >= 0])
            nodes.append(place[place >= 0] + offset)
            latents.append(embeddings.nodes(kind))
            offset += len(latents[-1])
        order = np.argsort(np.concatenate(owners), kind="stable")
        count = np.bincount(np.concatenate(owners), minlength=len(model.curated))
        arrays = {
            "latents": unit(np.concatenate(latents)),
            "node": np.concatenate(nodes)[order],
            "first": np.r_[0, np.cumsum(count)],
        }
        return cls(model, arrays, embeddings)

    def field(self, query: Query) -> Field | None:
        told = np.diff(self.arrays["first"]) > 0
        return Field(told, ~told)

    @property
    def heard(self) -> int:
        return len(self._owners) if "symptom" in self.embeddings.kinds else 0

    def knows(self, query: Query) -> bool:
        return len(self.nodes(query)) > 0

    def nodes(self, query: Query) -> Ints:
        """Return the nodes that the case stands for: the symptom nearest to each phrase, and its phenotypes."""
        found, offset = [np.zeros(0, np.int64)], 0
        if "symptom" in self.embeddings.kinds:
            if query.english:
                found.append(self.embeddings.nearest(vectors_of(query.english)))
            offset = len(self.embeddings.rows("symptom"))
        if "phenotype" in self.embeddings.kinds:
            place = placed(self.embeddings.rows("phenotype"), query.observed)
            found.append(place[place >= 0] + offset)
        return np.concatenate(found)

    @cached_property
    def _owners(self) -> Ints:
        return np.flatnonzero(np.diff(self.arrays["first"]))

    def score(self, query: Query) -> Floats:
        asked, score = self.nodes(query), np.zeros(self.size, np.float32)
        if len(asked):
            values = self.values(asked)
            score[:] = values.min(initial=0.0)
            score[self._owners] = values
        return score

    @abstractmethod
    def values(self, asked: Ints) -> Floats:
        """Return the scores of the candidates that have nodes by those of the case; others get the least."""


class LatentMean(Latent):
    """GPT-RagAD's score: the cosine of the mean latent of the patient's symptoms with that of the disease's.

    s(d) = cos(z_P, z_d), each z the mean of μ over its symptoms, those of the patient being the nodes nearest to the
    phrases. On findings given as terms, phenotypes take the place of symptoms.
    """

    name: ClassVar[str] = "vgae_mean"

    def values(self, asked: Ints) -> Floats:
        cosines: Floats = self._centres @ unit(self._raw[asked].mean(axis=0))
        return cosines

    @cached_property
    def _raw(self) -> Floats:
        kinds = [kind for kind in ("symptom", "phenotype") if kind in self.embeddings.kinds]
        return np.concatenate([self.embeddings.nodes(kind) for kind in kinds])

    @cached_property
    def _centres(self) -> Floats:
        return unit(np.add.reduceat(self._raw[self.arrays["node"]], self.arrays["first"][self._owners]))


class LatentBest(Latent):
    """The mean over the patient's symptoms of the best cosine with a symptom of the disease, in the learned space.

    s(d) = 1/|P| Σ_{p∈P} max_{u∈d} cos(μ_p, μ_u).
    """

    name: ClassVar[str] = "vgae_best"

    def values(self, asked: Ints) -> Floats:
        latents = self.arrays["latents"]
        cosines = (latents[asked] @ latents.T)[:, self.arrays["node"]]
        best: Floats = np.maximum.reduceat(cosines, self.arrays["first"][self._owners], axis=1).mean(axis=0)
        return best


def placed(rows: Ints, wanted: Ints) -> Ints:
    """Return where rows stand among ascending ones, -1 for those that do not."""
    place = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
    found: Ints = np.where(rows[place] == wanted, place, -1)
    return found


def unit(vectors: Floats) -> Floats:
    scaled: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)
    return scaled
