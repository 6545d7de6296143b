"""Words of texts, and the BM25 weights of a few thousand of them in memory.

BM25 as in equation 20 of Deep-DxSearch: Σ_w IDF(w) · tf (k1 + 1) / (tf + k1 (1 − b + b |d| / avg)), with
IDF(w) = ln((N − n + 0.5) / (n + 0.5) + 1), k1 = 1.5 and b = 0.75.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

import numpy as np

from kgdx.arrays.sparse import Floats, Ints
from kgdx.lazy import lazy_pattern
from kgdx.terms.normalise import word_list

VERSION = 1
"""Changes with what counts as a word or how words are weighed."""
K1, B = 1.5, 0.75

_WORD = lazy_pattern(r"[^\W_\u3400-\u9fff]+|[\u3400-\u9fff]+")
_STOP = word_list("everywhere")


def words_of(text: str) -> list[str]:
    """Return the words of a text, folded; of Chinese each character and each pair of neighbours."""
    words = _WORD.findall(text.casefold())
    if text.isascii():
        return [word for word in words if word not in _STOP]
    found: list[str] = []
    for word in words:
        if word[0] < "\u3400" or word[0] > "\u9fff":
            if word not in _STOP:
                found.append(word)
        else:
            found += word
            found += [word[at : at + 2] for at in range(len(word) - 1)]
    return found


def rarity(df: Floats, documents: int) -> Floats:
    """Return IDF(w) of words that stand in so many of the documents."""
    found: Floats = np.log((documents - df + 0.5) / (df + 0.5) + 1)
    return found


def weights(tf: Floats, df: Floats, length: Floats, mean: float, documents: int) -> Floats:
    """Return the BM25 weights of words in documents."""
    return (rarity(df, documents) * tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / mean))).astype(np.float32)


class WordNumbers(dict[str, int]):
    """Words with their numbers; one that is new has the next."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


def counted(texts: Iterable[Sequence[str]], vocabulary: WordNumbers) -> tuple[Ints, Ints, Ints]:
    """Count the words of texts; words that are new join the vocabulary.

    Returns:
        Word and text of each pair that occurs, sorted, and how often it does.
    """
    number, numbers, lengths = vocabulary.__getitem__, array("q"), array("q")
    for text in texts:
        lengths.append(len(text))
        numbers.extend(map(number, text))
    size = max(len(lengths), 1)
    owner = np.repeat(np.arange(len(lengths)), np.frombuffer(lengths, np.int64))
    pairs, counts = np.unique(np.frombuffer(numbers, np.int64) * size + owner, return_counts=True)
    word, owner = np.divmod(pairs, size)
    return word, owner, counts


class WordIndex:
    """Short texts by BM25, in memory."""

    def __init__(self, texts: Sequence[str]) -> None:
        told = [words_of(text) for text in texts]
        self._size, self._words = len(told), WordNumbers()
        word, self._text, tf = counted(told, self._words)
        self._start = np.searchsorted(word, np.arange(len(self._words) + 1))
        length = np.array([len(each) for each in told], float)
        mean = float(length.mean()) if len(told) else 1.0
        df = np.diff(self._start).astype(float)
        self._weight = weights(tf.astype(float), df[word], length[self._text], max(mean, 1e-9), self._size)

    def scores(self, query: str) -> Floats:
        """Return the score of every text; 0 where no word is shared. Shape (texts,)."""
        found = np.zeros(self._size, np.float32)
        for word in words_of(query):
            number = self._words.get(word)
            if number is not None:
                there = slice(self._start[number], self._start[number + 1])
                found[self._text[there]] += self._weight[there]
        return found
