"""The scorer of symptoms that are given as nodes of the graph, such as the evidences of DDXPlus."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, Sparse, compressed
from kgdx.rank.descriptions import stated
from kgdx.rank.phrases import Texts
from kgdx.rank.query import Field, Query, Told
from kgdx.rank.scorers import Scorer

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel

LISTED, UNLISTED = 0.5, 0.01
"""How often a patient with a disease has a symptom that is on its list, and one that is not."""
VOCABULARY = "DDXPLUS:"
"""Symptoms with ids that others know; those of other sources have no other name than their words."""


class Evidences(Scorer):
    """How well a disease's list of symptoms explains those that are given by id.

    s(d) = Σ_e ln p(e | d) − ln |d|, with p = LISTED where the list of d has e and UNLISTED where it has not, and |d|
    the length of the list: a short list that explains as much explains it better. Diseases without such a list get 0.
    """

    name: ClassVar[str] = "evidences"

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        """Keep the candidates' lists of symptoms of a vocabulary."""
        ids = snapshot.table("symptom").column("id").to_pylist()
        known = np.array([id.startswith(VOCABULARY) for id in ids], bool)
        disease, symptom = (snapshot.column("has_symptom", end) for end in ("disease", "symptom"))
        owner = model.candidates.of[disease]
        sources = np.array([stated(source) for source in snapshot.column("has_symptom", "source").tolist()], bool)
        use = (owner >= 0) & sources & (known[symptom] if len(ids) else False)
        if not use.any():
            return {}
        keys = np.unique(symptom[use].astype(np.int64) * len(model.curated) + owner[use])
        row, column = np.divmod(keys, len(model.curated))
        listed = compressed(row, column.astype(np.int32), np.ones(len(row), np.int8), len(ids))
        names = [name or id for name, id in zip(snapshot.column("symptom", "name").tolist(), ids, strict=True)]
        texts = Texts.arrays(name if mine else "" for name, mine in zip(names, known.tolist(), strict=True))
        return {"start": listed.start, "index": listed.index} | texts

    @property
    def applies(self) -> bool:
        """Whether the graph has such lists."""
        return "index" in self.arrays

    @cached_property
    def _listed(self) -> Sparse:
        return Sparse(self.arrays["start"], self.arrays["index"], self.arrays["index"])

    @cached_property
    def _length(self) -> Ints:
        return np.bincount(self.arrays["index"], minlength=len(self.model.curated))

    @cached_property
    def _field(self) -> Field:
        return Field(self._length > 0, self._length == 0)

    def field(self, query: Query) -> Field | None:
        """Return the candidates with lists."""
        return self._field

    def knows(self, query: Query) -> bool:
        """Return whether any symptom is given."""
        return bool(query.symptoms)

    def score(self, query: Query) -> Floats:
        """Return the log-likelihood; shape (candidates,)."""
        total = np.zeros(len(self._length), np.float32)
        if not query.symptoms:
            return total
        for symptom in query.symptoms:
            total[self._listed.columns(symptom)] += np.float32(np.log(LISTED / UNLISTED))
        score: Floats = total - np.log(np.maximum(self._length, 1)).astype(np.float32)
        return score

    def told(self, query: Query, candidates: Ints) -> list[list[Told]]:
        """Return what each symptom adds."""
        texts = Texts(self.arrays["text"], self.arrays["offset"])
        found: list[list[Told]] = [[] for _ in candidates]
        compared, gain = max(int(self._field.compared.sum()), 1), float(np.log(LISTED / UNLISTED))
        for symptom in query.symptoms:
            having = self._listed.columns(symptom)
            mean = gain * len(having) / compared
            for place, number in enumerate(candidates.tolist()):
                if self._length[number]:
                    has = bool((having == number).any())
                    words = texts[symptom]
                    found[place].append(Told(words, words if has else "", gain * has - mean))
        return found
