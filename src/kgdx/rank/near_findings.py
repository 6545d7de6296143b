"""Which findings are similar to a finding or a phrase: for matching cases by equation 21 of Deep-DxSearch.

By the ontology, similarity is the relevance similarity that ranking uses (Schlicker et al. 2006), so nothing but the
graph is needed; by meaning it is the cosine of the sentence encoder, which takes phrases as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.errors import MissingExtraError
from kgdx.graph.case_index import UNIT, SimilarCases
from kgdx.graph.protocol import Row
from kgdx.lazy import Recent
from kgdx.rank.term_scorers import similarity

if TYPE_CHECKING:
    from kgdx.rank.ranker import Ranker
    from kgdx.terms.phrase_vectors import PhraseVectors

KEPT = 4096
"""Findings and phrases whose lists are remembered, those that were used last."""


class NearFindings:
    """Lists of findings by similarity, made when they are first asked for."""

    def __init__(self, ranker: Ranker, meaning: PhraseVectors | None = None) -> None:
        self._ranker, self._meaning = ranker, meaning
        self._kept: Recent[str, SimilarCases] = Recent(KEPT)

    def by_ontology(self, findings: Sequence[str]) -> list[SimilarCases]:
        return [self._kept.get(id, partial(self._of, id)) for id in findings]

    def by_meaning(self, phrases: Sequence[str]) -> list[SimilarCases]:
        """Return the findings by the cosine of their names with each phrase, negative ones left out."""
        if self._meaning is None:
            raise MissingExtraError("matching phrases by meaning", "encoder")
        keys = [f"~{phrase}" for phrase in phrases]
        new = [place for place, key in enumerate(keys) if self._kept.peek(key) is None]
        made: dict[str, SimilarCases] = {}
        if new:
            cosines = (
                self._meaning.encoder.encode([phrases[each] for each in new]) @ np.asarray(self._meaning.vectors).T
            )
            made = {keys[at]: _near(keys[at], row, self._meaning.terms) for at, row in zip(new, cosines, strict=True)}
        return [self._kept.get(key, partial(made.__getitem__, key)) for key in keys]

    def rows(self, near: Sequence[SimilarCases]) -> list[Row]:
        """Return lists as the template ``similar_cases`` takes them."""
        return [
            {"asked": number, "id": self._ranker.names.term(term), "similarity": similarity}
            for number, each in enumerate(near)
            for term, similarity in zip(each.terms.tolist(), each.similarity.tolist(), strict=True)
        ]

    def name(self, id: str) -> str:
        return self._ranker.names.label(id) if id in self._ranker.names.terms else id

    def _of(self, id: str) -> SimilarCases:
        row = self._ranker.names.terms.get(id, -1)
        if row < 0:
            return SimilarCases(id, np.zeros(0, np.int64), np.zeros(0, np.uint16))
        return _near(id, similarity(self._ranker.model.basis, row), np.arange(len(self._ranker.names.terms)))


def _near(key: str, values: Floats, terms: Ints) -> SimilarCases:
    whole = np.rint(np.clip(values, 0, 1) * UNIT).astype(np.uint16)
    there = np.flatnonzero(whole)
    return SimilarCases.of(key, np.asarray(terms)[there].astype(np.int32), whole[there])
