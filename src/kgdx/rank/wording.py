"""Words of symptoms and texts as what is counted, and a word index of the candidates by BM25.

English words are folded and lose their endings; Chinese is counted in pairs of characters, which needs no segmentation
and loses little against it in retrieval (Nie, Gao, Zhang and Zhou, IRAL 2000).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.lazy import lazy_pattern
from kgdx.terms.normalise import CJK, has_chinese, inflection, simplify
from kgdx.terms.tokens import scan, stable_hash

K1 = 1.2
B = 0.6
"""BM25's saturation and length normalisation (Robertson and Zaragoza, FnTIR 2009)."""
_RUN = lazy_pattern(f"[{CJK}]+")


def units(text: str) -> list[str]:
    """Return what is counted of a text, in order."""
    found = [inflection(word) for word in scan(text)[0] if not word.isdigit()]
    if has_chinese(text):
        for run in _RUN.findall(simplify(text)):
            found += [run[at : at + 2] for at in range(max(1, len(run) - 1))]
    return found


@dataclass(frozen=True, slots=True)
class CandidateWords:
    """What each word weighs in each of ``size`` candidates: hashes of words, ascending, and a row of weights each."""

    words: Ints
    start: Ints
    index: Ints
    weight: Floats
    size: int

    @classmethod
    def of(cls, documents: Iterable[tuple[int, Sequence[str]]], size: int) -> CandidateWords:
        """Index documents, each a candidate and its words; a candidate may have one in each language.

        weight = ln(1 + (N − n + ½)/(n + ½)) · tf (k₁ + 1) / (tf + k₁ (1 − b + b |D| / mean |D|)), among the documents
        of the same language.
        """
        spoken: dict[bool, list[tuple[int, Counter[str]]]] = {False: [], True: []}
        for candidate, words in documents:
            for chinese, docs in spoken.items():
                counted = Counter(word for word in words if has_chinese(word) is chinese)
                if counted:
                    docs.append((candidate, counted))
        postings: dict[str, list[tuple[int, float]]] = {}
        for docs in spoken.values():
            _weigh(docs, postings)
        hashes = {stable_hash(word): word for word in postings}
        keys = sorted(hashes)
        rows = [sorted(postings[hashes[key]]) for key in keys]
        start = np.zeros(len(rows) + 1, np.int32)
        np.cumsum([len(row) for row in rows], out=start[1:])
        narrow = np.uint16 if size <= np.iinfo(np.uint16).max else np.int32
        index = np.array([candidate for row in rows for candidate, _ in row], narrow)
        weight = np.array([value for row in rows for _, value in row], np.float16)
        return cls(np.array(keys, np.int64), start, index, weight, size)

    @classmethod
    def read(cls, arrays: Mapping[str, Floats], size: int) -> CandidateWords:
        return cls(arrays["words"], arrays["start"], arrays["index"], arrays["weight"], size)

    def arrays(self) -> dict[str, Floats]:
        return {"words": self.words, "start": self.start, "index": self.index, "weight": self.weight}

    def has(self, word: str) -> bool:
        return self._place(word) >= 0

    def add(self, word: str, total: Floats) -> None:
        at = self._place(word)
        if at >= 0:
            span = slice(self.start[at], self.start[at + 1])
            total[self.index[span].astype(np.intp)] += self.weight[span].astype(np.float32)

    def _place(self, word: str) -> int:
        key = stable_hash(word)
        at = int(np.searchsorted(self.words, key))
        return at if at < len(self.words) and self.words[at] == key else -1


def _weigh(docs: Sequence[tuple[int, Counter[str]]], postings: dict[str, list[tuple[int, float]]]) -> None:
    frequent = Counter(word for _, counted in docs for word in counted)
    mean = sum(counted.total() for _, counted in docs) / max(len(docs), 1)
    rarity = {word: np.log1p((len(docs) - n + 0.5) / (n + 0.5)) for word, n in frequent.items()}
    for candidate, counted in docs:
        long = K1 * (1 - B + B * counted.total() / mean)
        for word, count in counted.items():
            value = rarity[word] * count * (K1 + 1) / (count + long)
            postings.setdefault(word, []).append((candidate, float(value)))
