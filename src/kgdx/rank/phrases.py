"""The scorers of a patient's words: symptoms in words against the diseases' own words, by word, by meaning, by article.

Each compares a phrase of the patient with what the graph says of a disease in the same language, and has nothing to say of
diseases that the graph describes in other languages, or by annotations alone: their part of the score is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.errors import MissingExtraError
from kgdx.rank.described import phrases
from kgdx.rank.scorers import Field, Query, Recent, Scorer, Told
from kgdx.rank.wording import WordIndex, units
from kgdx.terms.encoder import Encoder, MiniLM
from kgdx.terms.normalise import has_chinese

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel

ENGLISH, CHINESE = 1, 2
"""Languages that a candidate is described in, as bits."""
KEPT = 16
"""Queries whose rows are kept, for the explanation that follows the ranking."""


def language(text: str) -> int:
    """Return the bit of a text's language.

    Example:
        >>> language("fever"), language("发热")
        (1, 2)
    """
    return CHINESE if has_chinese(text) else ENGLISH


class Texts:
    """Texts in one array of bytes, so that they are mapped and not read.

    Example:
        >>> kept = Texts(**Texts.arrays(["fever", "咳嗽"]))
        >>> kept[1], len(kept)
        ('咳嗽', 2)
    """

    def __init__(self, text: Ints, offset: Ints) -> None:
        self._text, self._offset = text, offset

    def __len__(self) -> int:
        return len(self._offset) - 1

    def __getitem__(self, at: int) -> str:
        return bytes(self._text[self._offset[at] : self._offset[at + 1]]).decode()

    @staticmethod
    def arrays(texts: Iterable[str]) -> dict[str, Ints]:
        """Return the arrays that hold texts."""
        encoded = [text.encode() for text in texts]
        offset = np.zeros(len(encoded) + 1, np.int32)
        np.cumsum([len(each) for each in encoded], out=offset[1:])
        return {"text": np.frombuffer(b"".join(encoded), np.uint8), "offset": offset}


class Worded(Scorer):
    """A scorer that gives a row of values for each phrase of the patient; the score is their sum or mean.

    Arrays: ``spoken``, the languages of each candidate, and what :meth:`rows` reads.
    """

    def __init__(self, model: RankModel, arrays: Mapping[str, Floats]) -> None:
        super().__init__(model, arrays)
        self.size = len(model.curated)
        self._rows: Recent[tuple[str, ...], Floats] = Recent(KEPT)
        self._fields: dict[int, Field] = {}

    @property
    def hears(self) -> bool:
        """Whether the graph says anything in words."""
        return "spoken" in self.arrays and bool(self.arrays["spoken"].any())

    @property
    def applies(self) -> bool:
        """Whether the graph says anything in words."""
        return self.hears

    def field(self, query: Query) -> Field | None:
        """Return the candidates that are described in a language of the patient's words."""
        if not self.hears:
            return None
        bits = 0
        for phrase in query.phrases:
            bits |= language(phrase)
        if bits not in self._fields:
            told = (self.arrays["spoken"] & bits) > 0
            self._fields[bits] = Field(told, ~told)
        return self._fields[bits]

    def rows(self, phrases: tuple[str, ...]) -> Floats:
        """Compute the values of each phrase; shape (phrases, candidates)."""
        raise NotImplementedError

    def kept(self, query: Query) -> Floats:
        """Return the rows of the query's phrases, computed where they are not among those last used."""
        return self._rows.get(query.phrases, lambda: self.rows(query.phrases))

    def score(self, query: Query) -> Floats:
        """Return the mean over the phrases; shape (candidates,)."""
        if not query.phrases or not self.hears:
            return np.zeros(self.size, np.float32)
        mean: Floats = self.kept(query).mean(axis=0)
        return mean

    def told(self, query: Query, candidates: Ints) -> list[list[Told]]:
        """Return what each phrase adds, with the words of the disease that are nearest to it."""
        found: list[list[Told]] = [[] for _ in candidates]
        field = self.field(query)
        if not query.phrases or field is None:
            return found
        rows = self.kept(query)
        mean = rows[:, field.compared].mean(axis=1) if field.compared.any() else np.zeros(len(rows))
        for place, number in enumerate(candidates.tolist()):
            if field.silent[number]:
                continue
            for at, phrase in enumerate(query.phrases):
                value = float(rows[at, number] - mean[at]) / len(rows)
                found[place].append(Told(phrase, self.nearest(at, query, number), value))
        return found

    def nearest(self, at: int, query: Query, number: int) -> str:
        """Return the words of a candidate that a phrase of the query meets best; empty where none does."""
        return ""


class _Listed(Worded):
    """A worded scorer whose candidates have lists of phrases.

    Further arrays: ``text`` and ``offset`` (:class:`Texts`) and ``first``, where each candidate's phrases begin in them.
    """

    def phrases_of(self, number: int) -> range:
        """Return which texts are a candidate's."""
        return range(int(self.arrays["first"][number]), int(self.arrays["first"][number + 1]))

    @cached_property
    def texts(self) -> Texts:
        """The phrases, in the order of the candidates."""
        return Texts(self.arrays["text"], self.arrays["offset"])


class Words(_Listed):
    """How many telling words of the patient's phrases stand in the disease's symptoms and names: BM25.

    s(d) = 1/|P| Σ_{p∈P} Σ_{w∈p} BM25(w, d), each word of the case once (Robertson and Zaragoza, FnTIR 2009).
    """

    name: ClassVar[str] = "words"

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        """Index the phrases and names of the candidates that have phrases."""
        size = len(model.curated)
        listed = _listed(snapshot, model)
        if not listed:
            return {}
        names = _names(snapshot, model)
        documents = [
            (number, [unit for text in (*names[number], *listed.get(number, ())) for unit in units(text)])
            for number in sorted(listed)
        ]
        first = np.zeros(size + 1, np.int32)
        np.cumsum([len(listed.get(number, ())) for number in range(size)], out=first[1:])
        texts = Texts.arrays(text for number in sorted(listed) for text in listed[number])
        return WordIndex.of(documents, size).arrays() | texts | {"first": first, "spoken": _spoken(listed, size)}

    @cached_property
    def _index(self) -> WordIndex:
        return WordIndex.read(self.arrays, self.size)

    def knows(self, phrases: tuple[str, ...]) -> bool:
        """Return whether a word of the phrases is a word of the graph's symptoms."""
        return self.hears and any(self._index.has(unit) for phrase in phrases for unit in units(phrase))

    def rows(self, phrases: tuple[str, ...]) -> Floats:
        """Return what each phrase's words weigh in each candidate."""
        return _weights(self._index, phrases)

    def nearest(self, at: int, query: Query, number: int) -> str:
        """Return the candidate's phrase with most of the phrase's words."""
        asked = set(units(query.phrases[at]))
        best, most = "", 0.0
        for place in self.phrases_of(number):
            own = set(units(self.texts[place]))
            share = len(asked & own) / max(len(asked | own), 1)
            if share > most:
                best, most = self.texts[place], share
        return best


class Articles(Worded):
    """How many telling words of the patient's phrases stand in texts about the disease: BM25, as for words."""

    name: ClassVar[str] = "articles"

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        """Index definitions, articles and phrases."""
        size = len(model.curated)
        listed = _listed(snapshot, model)
        texts = articles(snapshot, model)
        if not listed:
            return {}
        told = {number: [*texts.get(number, ()), *listed.get(number, ())] for number in {*texts, *listed}}
        documents = [(number, [unit for text in told[number] for unit in units(text)]) for number in sorted(told)]
        return WordIndex.of(documents, size).arrays() | {"spoken": _spoken(told, size)}

    @cached_property
    def _index(self) -> WordIndex:
        return WordIndex.read(self.arrays, self.size)

    def rows(self, phrases: tuple[str, ...]) -> Floats:
        """Return what each phrase's words weigh in each candidate."""
        return _weights(self._index, phrases)


class Meaning(_Listed):
    """How near the patient's phrases come in meaning to the disease's: the mean of the best matches.

    s(d) = 1/|P| Σ_{p∈P} z(max_{u∈d} cos(p, u)), z over the candidates with phrases in English, which the encoder reads.
    """

    name: ClassVar[str] = "meaning"

    @classmethod
    def open(cls, snapshot: Snapshot, model: RankModel, version: str) -> Self:
        """Return the scorer; deaf where the encoder is not installed."""
        return super().open(snapshot, model, version) if _installed() else cls(model, {})

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        """Encode the English phrases, each once."""
        size = len(model.curated)
        listed = {
            number: [text for text in texts if language(text) == ENGLISH]
            for number, texts in _listed(snapshot, model).items()
        }
        listed = {number: texts for number, texts in listed.items() if texts}
        if not listed:
            return {}
        first = np.zeros(size + 1, np.int32)
        np.cumsum([len(listed.get(number, ())) for number in range(size)], out=first[1:])
        texts = [text for number in sorted(listed) for text in listed[number]]
        distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        return Texts.arrays(texts) | {
            "first": first,
            "row": np.array([distinct[text] for text in texts], np.int32),
            "vectors": _encoder().encode(list(distinct)).astype(np.float32),
            "spoken": _spoken(listed, size),
        }

    def rows(self, phrases: tuple[str, ...]) -> Floats:
        """Return the standardised cosine of each phrase with the nearest one of each candidate; Chinese ones are 0."""
        rows = np.zeros((len(phrases), self.size), np.float32)
        read = [at for at, phrase in enumerate(phrases) if language(phrase) == ENGLISH]
        for at, best in zip(read, self._best([phrases[at] for at in read]), strict=True):
            deviation = max(float(best.std()), 1e-6)
            rows[at, self._owners] = (best - best.mean()) / deviation
        return rows

    @cached_property
    def _owners(self) -> Ints:
        return np.flatnonzero(np.diff(self.arrays["first"]) > 0)

    def _best(self, phrases: Sequence[str]) -> Iterator[Floats]:
        if not phrases:
            return
        cosines = _encoder().encode(phrases) @ self.arrays["vectors"].T
        begin = self.arrays["first"][self._owners]
        for row in cosines:
            yield np.maximum.reduceat(row[self.arrays["row"]], begin)

    def nearest(self, at: int, query: Query, number: int) -> str:
        """Return the candidate's phrase that is nearest in meaning."""
        own = self.phrases_of(number)
        if not len(own) or language(query.phrases[at]) != ENGLISH:
            return ""
        vectors = self.arrays["vectors"][self.arrays["row"][own.start : own.stop]]
        asked = self._vectors.get(query.phrases[at], lambda: _encoder().encode([query.phrases[at]])[0])
        return self.texts[own.start + int((vectors @ asked).argmax())]

    @cached_property
    def _vectors(self) -> Recent[str, Floats]:
        return Recent(64)


def _weights(index: WordIndex, phrases: tuple[str, ...]) -> Floats:
    rows = np.zeros((len(phrases), index.size), np.float32)
    seen: set[str] = set()
    for row, phrase in zip(rows, phrases, strict=True):
        for unit in units(phrase):
            if unit not in seen:
                seen.add(unit)
                index.add(unit, row)
    return rows


@cache
def _installed() -> bool:
    try:
        _encoder()
    except MissingExtraError:
        return False
    return True


@cache
def _encoder() -> Encoder:
    return MiniLM()


def _listed(snapshot: Snapshot, model: RankModel) -> dict[int, list[str]]:
    """Candidate → its symptoms in words."""
    known = phrases(snapshot, model.candidates)
    found: dict[int, list[str]] = {}
    for candidate, symptom in zip(known.candidate.tolist(), known.symptom.tolist(), strict=True):
        found.setdefault(candidate, []).append(known.texts[symptom])
    return found


def _names(snapshot: Snapshot, model: RankModel) -> dict[int, list[str]]:
    """Candidate → all its names."""
    name, chinese, synonyms = (
        snapshot.table("disease").column(column).to_pylist() for column in ("name", "name_zh", "synonyms")
    )
    found: dict[int, list[str]] = {}
    for number in range(len(model.curated)):
        own: dict[str, None] = {}
        for row in model.candidates.members.columns(number).tolist():
            own |= dict.fromkeys(filter(None, (name[row], chinese[row], *(synonyms[row] or ()))))
        found[number] = list(own)
    return found


def articles(snapshot: Snapshot, model: RankModel) -> dict[int, list[str]]:
    """Return the texts about each candidate: definitions, and documents that are about one disease alone."""
    found: dict[int, list[str]] = {}
    for row, text in enumerate(snapshot.table("disease").column("definition").to_pylist()):
        if text and model.candidates.of[row] >= 0:
            found.setdefault(int(model.candidates.of[row]), []).append(text)
    document, disease = (snapshot.column("mentions", end) for end in ("document", "disease"))
    about = np.bincount(document, minlength=1) if len(document) else np.zeros(1, int)
    texts = snapshot.table("document").column("text")
    for row, owner in zip(document.tolist(), model.candidates.of[disease].tolist(), strict=True):
        if about[row] == 1 and owner >= 0:
            found.setdefault(owner, []).append(texts[row].as_py() or "")
    return found


def _spoken(texts: Mapping[int, Sequence[str]], size: int) -> Ints:
    spoken = np.zeros(size, np.int8)
    for number, own in texts.items():
        for text in own:
            spoken[number] |= language(text)
    return spoken
