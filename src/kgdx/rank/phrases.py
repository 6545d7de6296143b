"""The scorers of a patient's words: symptoms in words against the diseases' own words, by word, by meaning, by article.

Each compares a phrase of the patient with what the graph says of a disease in the same language, and has nothing to
say of diseases that the graph describes in other languages, or by annotations alone: their part of the score is 0.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.lazy import Recent
from kgdx.rank.descriptions import phrases
from kgdx.rank.query import Field, Query, Told
from kgdx.rank.scorers import Scorer
from kgdx.rank.wording import CandidateWords, units
from kgdx.terms.normalise import has_chinese

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot
    from kgdx.rank.ranking_model import RankModel

ENGLISH, CHINESE = 1, 2
"""Languages that a candidate is described in, as bits."""
CLOSED = 0.1
"""How much words count for a patient with telling findings, as a share of what they count for everyday ones."""
LAY = 2
"""Lay names of a phenotype that an everyday condition is described with."""
KEPT = 16
"""Queries whose rows are kept, for the explanation that follows the ranking."""


def heeded(gate: float) -> float:
    """Return how much words count beside findings that open the gate of commonness so far: CLOSED + (1 − CLOSED) · g.

    Rare diseases are described by terms alone: beside telling findings, words would lift whatever is told in words.
    """
    return CLOSED + (1 - CLOSED) * gate


def language(text: str) -> int:
    """Return the bit of a text's language."""
    return CHINESE if has_chinese(text) else ENGLISH


class MappedTexts:
    """Texts in one array of bytes, so that they are mapped and not read."""

    def __init__(self, text: Ints, offset: Ints) -> None:
        self._text, self._offset = text, offset

    def __len__(self) -> int:
        return len(self._offset) - 1

    def __getitem__(self, at: int) -> str:
        return bytes(self._text[self._offset[at] : self._offset[at + 1]]).decode()

    @staticmethod
    def arrays(texts: Iterable[str]) -> dict[str, Ints]:
        encoded = [text.encode() for text in texts]
        offset = np.zeros(len(encoded) + 1, np.int32)
        np.cumsum([len(each) for each in encoded], out=offset[1:])
        return {"text": np.frombuffer(b"".join(encoded), np.uint8), "offset": offset}


class WordedScorer(Scorer):
    """A scorer that gives a row of values for each phrase of the patient; the score is their sum or mean.

    Arrays: ``spoken``, the languages of each candidate, and what :meth:`rows` reads.
    """

    reads_terms: ClassVar[bool] = False

    def __init__(self, model: RankModel, arrays: Mapping[str, Floats]) -> None:
        super().__init__(model, arrays)
        self.size = len(model.curated)
        self._rows: Recent[tuple[str, ...], Floats] = Recent(KEPT)
        self._fields: dict[int, Field] = {}

    @cached_property
    def heard(self) -> int:
        return int(np.count_nonzero(self.arrays["spoken"])) if "spoken" in self.arrays else 0

    @property
    def applies(self) -> bool:
        return self.hears

    def field(self, query: Query) -> Field | None:
        if not self.hears:
            return None
        bits = 0
        for phrase in query.phrases:
            bits |= language(phrase)
        if bits not in self._fields:
            told = (self.arrays["spoken"] & bits) > 0
            self._fields[bits] = Field(told, ~told)
        return self._fields[bits]

    def heeded(self, gate: float) -> float:
        return heeded(gate)

    @abstractmethod
    def rows(self, phrases: tuple[str, ...]) -> Floats:
        """Compute the values of each phrase; shape (phrases, candidates)."""

    def kept(self, query: Query) -> Floats:
        return self._rows.get(query.phrases, lambda: self.rows(query.phrases))

    def tells(self, query: Query) -> bool:
        return bool(query.phrases) and self.hears

    def score(self, query: Query) -> Floats:
        if not self.tells(query):
            return np.zeros(self.size, np.float32)
        return self.joined(self.kept(query))

    def joined(self, rows: Floats) -> Floats:
        mean: Floats = rows.mean(axis=0)
        return mean

    def shares(self, rows: Floats, compared: Ints) -> Floats:
        """Return what each phrase adds to the scores of some candidates beyond what it adds to all compared."""
        share: Floats = (rows - compared.mean(axis=1, keepdims=True)) / len(rows)
        return share

    def told(self, query: Query, candidates: Ints) -> list[list[Told]]:
        """Return what each phrase adds, with the words of the disease that are nearest to it."""
        found: list[list[Told]] = [[] for _ in candidates]
        field = self.field(query)
        if not query.phrases or field is None or not field.compared.any():
            return found
        rows = self.kept(query)
        shares = self.shares(rows[:, candidates], rows[:, field.compared])
        for place, number in enumerate(candidates.tolist()):
            for at in np.flatnonzero(shares[:, place]).tolist() if not field.silent[number] else ():
                told = Told(query.phrases[at], self.nearest(at, query, number), float(shares[at, place]))
                found[place].append(told)
        return found

    def nearest(self, at: int, query: Query, number: int) -> str:
        return ""


class ListScorer(WordedScorer):
    """A worded scorer whose candidates have lists of phrases.

    Further arrays: ``text`` and ``offset`` (:class:`MappedTexts`), and ``first``: where each candidate's phrases
    begin.
    """

    def phrases_of(self, number: int) -> range:
        return range(int(self.arrays["first"][number]), int(self.arrays["first"][number + 1]))

    @cached_property
    def texts(self) -> MappedTexts:
        return MappedTexts(self.arrays["text"], self.arrays["offset"])


class ByWord(WordedScorer):
    """How many telling words of the patient's phrases stand in some texts of the disease: BM25.

    s(d) = 1/|P| Σ_{p∈P} Σ_{w∈p} BM25(w, d), each word of the case once (Robertson and Zaragoza, FnTIR 2009).
    """

    @cached_property
    def _index(self) -> CandidateWords:
        return CandidateWords.read(self.arrays, self.size)

    def rows(self, phrases: tuple[str, ...]) -> Floats:
        rows = np.zeros((len(phrases), self.size), np.float32)
        seen: set[str] = set()
        for row, phrase in zip(rows, phrases, strict=True):
            for unit in units(phrase):
                if unit not in seen:
                    seen.add(unit)
                    self._index.add(unit, row)
        return rows


class WordsScorer(ByWord, ListScorer):
    """The disease's symptoms in words and names, by word."""

    name: ClassVar[str] = "words"

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        size = len(model.curated)
        listed = symptoms_of(snapshot, model)
        if not listed:
            return {}
        names = names_of(snapshot, model)
        documents = [
            (number, [unit for text in (*names[number], *listed.get(number, ())) for unit in units(text)])
            for number in sorted(listed)
        ]
        texts = MappedTexts.arrays(text for number in sorted(listed) for text in listed[number])
        places = {"first": first_of(listed, size), "spoken": spoken(listed, size)}
        return CandidateWords.of(documents, size).arrays() | texts | places

    def knows(self, query: Query) -> bool:
        return self.hears and any(self._index.has(unit) for phrase in query.phrases for unit in units(phrase))

    def nearest(self, at: int, query: Query, number: int) -> str:
        asked = set(units(query.phrases[at]))
        best, most = "", 0.0
        for place in self.phrases_of(number):
            own = set(units(self.texts[place]))
            share = len(asked & own) / max(len(asked | own), 1)
            if share > most:
                best, most = self.texts[place], share
        return best


class Articles(ByWord):
    """Texts about the disease (definitions, articles) and its symptoms in words, by word."""

    name: ClassVar[str] = "articles"

    @classmethod
    def compile(cls, snapshot: Snapshot, model: RankModel) -> Mapping[str, Floats]:
        listed = symptoms_of(snapshot, model)
        texts = articles(snapshot, model)
        if not listed:
            return {}
        told = {number: [*texts.get(number, ()), *listed.get(number, ())] for number in {*texts, *listed}}
        documents = [(number, [unit for text in told[number] for unit in units(text)]) for number in sorted(told)]
        size = len(model.curated)
        return CandidateWords.of(documents, size).arrays() | {"spoken": spoken(told, size)}


def symptoms_of(snapshot: Snapshot, model: RankModel) -> dict[int, list[str]]:
    """Return candidate → its symptoms in words; those of everyday conditions are also what their phenotypes are called.

    Else what the table of common conditions describes by terms would hear nothing of what rivals hear. Risks are left
    out: they are told of the healthy, too, and "travel in four weeks" is near to all that names a time.
    """
    known = phrases(snapshot, model.candidates, risks=False)
    found: dict[int, list[str]] = {}
    for candidate, symptom in zip(known.candidate.tolist(), known.symptom.tolist(), strict=True):
        found.setdefault(candidate, []).extend(known.texts[symptom])
    everyday = np.array([band is not None for band in snapshot.column("disease", "general").tolist()], bool)
    disease, term = (snapshot.column("has_phenotype", end) for end in ("disease", "phenotype"))
    use = everyday[disease] & (model.candidates.of[disease] >= 0) if len(disease) else np.zeros(0, bool)
    name, chinese, lay = (snapshot.values("phenotype", column) for column in ("name", "name_zh", "lay_synonyms"))
    for candidate, row in zip(model.candidates.of[disease[use]].tolist(), term[use].tolist(), strict=True):
        called = (name[row], chinese[row], *(lay[row] or ())[:LAY])
        found.setdefault(candidate, []).extend(filter(None, called))
    return {number: list(dict.fromkeys(own)) for number, own in found.items() if own}


def names_of(snapshot: Snapshot, model: RankModel) -> dict[int, list[str]]:
    """Return candidate → all its names."""
    name = snapshot.stated_names()
    chinese, synonyms = (snapshot.values("disease", column).values() for column in ("name_zh", "synonyms"))
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
    for row, text in enumerate(snapshot.values("disease", "definition").values()):
        if text and model.candidates.of[row] >= 0:
            found.setdefault(int(model.candidates.of[row]), []).append(text)
    document, disease = (snapshot.column("mentions", end) for end in ("document", "disease"))
    about = np.bincount(document, minlength=1) if len(document) else np.zeros(1, int)
    texts = snapshot.table("document").column("text")
    for row, owner in zip(document.tolist(), model.candidates.of[disease].tolist(), strict=True):
        if about[row] == 1 and owner >= 0:
            found.setdefault(owner, []).append(texts[row].as_py() or "")
    return found


def first_of(texts: Mapping[int, Sequence[str]], size: int) -> Ints:
    """Return where the texts of each candidate begin, in the order of the candidates."""
    first = np.zeros(size + 1, np.int32)
    np.cumsum([len(texts.get(number, ())) for number in range(size)], out=first[1:])
    return first


def spoken(texts: Mapping[int, Sequence[str]], size: int) -> Ints:
    """Return the languages of the texts of each candidate, as bits."""
    bits = np.zeros(size, np.int8)
    for number, own in texts.items():
        for text in own:
            bits[number] |= language(text)
    return bits
