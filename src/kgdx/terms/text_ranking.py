"""The best pieces of several segments for a question, by the BM25 weights of one index that held them all.

Words are taken from the rarest to the most frequent. As soon as the words that are left could not lift a piece without
any of those before among the best, they are looked up in the pieces alone that can still be among them (MaxScore of
Turtle and Flood, term at a time). What is skipped changes nothing.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kgdx.arrays.sparse import Floats, Ints, greatest
from kgdx.terms.text_segment import TextPiece, TextSegment, keys_of
from kgdx.terms.word_index import rarity, words_of

NUMERAL = 0.25
"""A number counts so much of what a word as rare would: it tells two texts apart, and is no subject of its own."""
TELLING, FEW = 300, 50
"""A word tells one text from another that stands in one of so many pieces at most, or in so many in all."""
_COMMON = 64
"""A word is frequent that stands in more than one of so many pieces."""
_POOL = 4
"""So many pieces for each wanted one bound the score of the last."""
_LOOK_UP = 32
"""Looking a piece up costs as much as reading so many entries."""
_SAMPLE = 64
"""One in so many pieces tells about how many can still be among the best."""
_REMEMBERED = 2**25
"""Entries of frequent words whose saturation is remembered: 128 MiB."""
_SURE = 1 - 1e-5
"""Sums of rounded numbers differ by less."""


class Parameters(NamedTuple):
    """Parameters of BM25: how much more a repeated word counts, and how much less a word of a long piece (0 to 1)."""

    k1: float = 1.5
    b: float = 0.75


class _Word(NamedTuple):
    """A word of a question: its number in a segment, its factor, and no piece's weight is greater than ``most``."""

    number: int
    factor: float
    most: float


class SegmentRanking:
    """Segments that answer as one index."""

    def __init__(self, segments: Sequence[tuple[TextSegment, Parameters]]) -> None:
        self.segments = [segment for segment, _ in segments]
        self._size = sum(map(len, self.segments))
        mean = max(sum(segment.total for segment in self.segments) / max(self._size, 1), 1e-9)
        self._k1 = [given.k1 for _, given in segments]
        self._norms = [
            (given.k1 * (1 - given.b + given.b / mean * segment.length)).astype(np.float32)
            for segment, given in segments
        ]
        self._lock, self._remembered = threading.Lock(), dict[tuple[int, int], Floats]()
        self._ceilings: list[dict[int, float]] = [{} for _ in segments]

    def __len__(self) -> int:
        return self._size

    def search(self, query: str, sources: Sequence[str], limit: int) -> list[tuple[TextPiece, float]]:
        """Return the best pieces with their scores, those of equal score in the order of the segments.

        Nothing is found where no piece has any of the words that would tell one text from another, but only such as
        "syndrome", or a number.
        """
        asked, telling = self._asked(query), self._telling(query)
        if telling and not any(telling):
            return []
        found: list[tuple[float, int, int]] = []
        for at in range(len(self.segments)):
            least = found[limit - 1][0] if 0 < limit <= len(found) else 0.0
            rows, scores = self._best(at, asked[at], self.segments[at].of(sources), limit, least)
            found += [(score, at, row) for score, row in zip(scores.tolist(), rows.tolist(), strict=True)]
            found = sorted(found, key=lambda each: (-each[0], each[1:]))[:limit]
        return [(self.segments[at].pieces([row])[0], score) for score, at, row in found]

    def scores(self, query: str) -> Floats:
        """Return the score of every piece, in the order of the segments; 0 for those that share no word."""
        found = [np.zeros(0, np.float32)]
        for at, words in enumerate(self._asked(query)):
            scores = np.zeros(len(self.segments[at]), np.float32)
            for word in words:
                self._add(at, word, scores)
            found.append(scores)
        return np.concatenate(found)

    def unlike(self, query: str, sources: Sequence[str], count: int, choice: np.random.Generator) -> list[TextPiece]:
        """Return pieces that share no word with a query, drawn at random."""
        none = self.scores(query) == 0
        first = np.cumsum([0, *map(len, self.segments)])
        for at, segment in enumerate(self.segments):
            if (wanted := segment.of(sources)) is not None:
                none[first[at] : first[at + 1]] &= wanted
        rows = np.flatnonzero(none)
        drawn = choice.choice(rows, min(count, len(rows)), replace=False)
        owner = np.searchsorted(first, drawn, side="right") - 1
        return [self.segments[at].pieces([row])[0] for at, row in zip(owner, drawn - first[owner], strict=True)]

    def holding(self, words: Sequence[str]) -> list[tuple[int, Ints]]:
        """Return the pieces that hold all of some words: segment, and places in it."""
        keys = keys_of(dict.fromkeys(words))
        found = []
        for at, segment in enumerate(self.segments):
            numbers = segment.find(keys)
            if len(numbers) and (numbers >= 0).all():
                parts = sorted((segment.text[segment.entries(number)] for number in numbers.tolist()), key=len)
                rows = np.asarray(parts[0])
                for part in parts[1:]:
                    rows = rows[_places(part, rows)[1]]
                found.append((at, rows))
        return found

    def _telling(self, query: str) -> list[int]:
        words = [word for word in dict.fromkeys(words_of(query)) if not word.isdecimal()]
        most = max(self._size // TELLING, FEW)
        return [each for each in self._found_in(keys_of(words))[1].tolist() if each <= most]

    def _found_in(self, keys: Ints) -> tuple[list[Ints], Ints]:
        numbers = [segment.find(keys) for segment in self.segments]
        df = np.zeros(len(keys), np.int64)
        for segment, number in zip(self.segments, numbers, strict=True):
            if len(segment.words):
                df += np.where(number >= 0, segment.start[number + 1] - segment.start[number], 0)
        return numbers, df

    def _asked(self, query: str) -> list[list[_Word]]:
        times = Counter(words_of(query))
        keys = keys_of(times)
        numbers, df = self._found_in(keys)
        idf = rarity(df.astype(float), self._size) * np.fromiter(times.values(), float, len(times))
        idf *= [NUMERAL if word.isdecimal() else 1.0 for word in times]
        order = np.lexsort((keys, df))
        found = []
        for at, number in enumerate(numbers):
            here = [(int(number[word]), float(idf[word] * (self._k1[at] + 1))) for word in order if number[word] >= 0]
            found.append([_Word(word, factor, factor * self._ceiling(at, word)) for word, factor in here])
        return found

    def _ceiling(self, at: int, word: int) -> float:
        known = self._ceilings[at]
        if not self._frequent(at, word):
            return 1.0
        if word not in known:
            known[word] = float(self._saturations(at, word).max())
        return known[word]

    def _frequent(self, at: int, word: int) -> bool:
        return self._entries(at, word) > len(self.segments[at]) // _COMMON

    def _saturations(self, at: int, word: int) -> Floats:
        there = self.segments[at].entries(word)
        if not self._frequent(at, word):
            return self._saturation(at, there)
        with self._lock:
            found = self._remembered.pop((at, word), None)
        if found is None:
            found = self._saturation(at, there)
        with self._lock:
            self._remembered[at, word] = found
            held = sum(map(len, self._remembered.values()))
            for oldest in list(self._remembered):
                if held <= _REMEMBERED:
                    break
                held -= len(self._remembered.pop(oldest))
        return found

    def _saturation(self, at: int, there: slice | Ints) -> Floats:
        segment = self.segments[at]
        tf = segment.tf[there].astype(np.float32)
        norm = self._norms[at].take(segment.text[there])
        norm += tf
        tf /= norm
        return tf

    def _add(self, at: int, word: _Word, scores: Floats) -> None:
        rows = self.segments[at].text[self.segments[at].entries(word.number)].astype(np.intp)
        np.add.at(scores, rows, self._saturations(at, word.number) * np.float32(word.factor))

    def _best(
        self, at: int, words: Sequence[_Word], wanted: Ints | None, limit: int, least: float
    ) -> tuple[Ints, Floats]:
        scores = np.zeros(len(self.segments[at]), np.float32)
        if not words or limit < 1 or (wanted is not None and not wanted.any()):
            return np.zeros(0, np.int64), scores[:0]
        sizes = [self._entries(at, word.number) for word in words]
        left = np.cumsum([0.0, *(word.most for word in reversed(words))])[::-1]
        bounded = False
        for number, word in enumerate(words):
            if self._frequent(at, word.number):
                if not bounded:
                    least, bounded = max(least, self._bound(at, words[number:], scores, wanted, limit)), True
                needed = np.float32(least * _SURE - left[number])
                if needed > 0:
                    many = np.count_nonzero(scores[::_SAMPLE] >= needed) * _SAMPLE
                    if many * _LOOK_UP * (len(words) - number) < sum(sizes[number:]):
                        rows = np.flatnonzero((scores >= needed) if wanted is None else (scores >= needed) & wanted)
                        return self._looked_up(at, words[number:], left[number:], rows, scores[rows], limit, least)
            self._add(at, word, scores)
        if wanted is not None:
            scores[~wanted] = 0
        rows = greatest(scores, limit)
        return rows, scores[rows]

    def _entries(self, at: int, word: int) -> int:
        start = self.segments[at].start
        return int(start[word + 1] - start[word])

    def _bound(self, at: int, words: Sequence[_Word], scores: Floats, wanted: Ints | None, limit: int) -> float:
        rows = np.sort(greatest(scores if wanted is None else np.where(wanted, scores, 0), _POOL * limit))
        found = scores[rows]
        for word in words:
            self._look_up(at, word, rows, found)
        return _last(found, limit)

    def _looked_up(
        self, at: int, words: Sequence[_Word], left: Floats, rows: Ints, scores: Floats, limit: int, least: float
    ) -> tuple[Ints, Floats]:
        for number, word in enumerate(words):
            keep = scores >= max(least, _last(scores, limit)) * _SURE - left[number]
            rows, scores = rows[keep], scores[keep]
            self._look_up(at, word, rows, scores)
        best = np.argsort(-scores, kind="stable")[:limit]
        return rows[best], scores[best]

    def _look_up(self, at: int, word: _Word, rows: Ints, scores: Floats) -> None:
        there = self.segments[at].entries(word.number)
        places, hit = _places(self.segments[at].text[there], rows)
        scores[hit] += self._saturation(at, places + there.start) * np.float32(word.factor)


def _last(scores: Floats, limit: int) -> float:
    return float(np.partition(scores, -limit)[-limit]) if 0 < limit <= len(scores) else 0.0


def _places(entries: Ints, rows: Ints) -> tuple[Ints, Ints]:
    at = np.minimum(np.searchsorted(entries, rows.astype(entries.dtype)), len(entries) - 1)
    hit = entries[at] == rows
    return at[hit], hit
