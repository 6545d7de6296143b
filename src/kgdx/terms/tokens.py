"""Words of a text with their places in it, and words that are one letter away from those of names.

A word is misspelt that neither names nor definitions know, one letter away from a word of a name.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgdx.arrays.sparse import mapped
from kgdx.lazy import lazy_pattern
from kgdx.terms.normalise import CJK, fold, inflection, word_list

_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f"
_WORD = lazy_pattern(rf"\b[A-Za-z]-\d+\b|\b[A-Za-z]{{2,}}n['’]t\b|\b[Cc]an not\b|(?:[^\W_{CJK}][{_MARKS}]*)+")
_HARD = lazy_pattern(
    rf"[;:?!()\[\]{{}}|•·✓✔√✗✘☐☑□■\u3000-\u303f\uff00-\uffef{CJK}]|\.(?:\s|$)"
    r"|\n\s*[\n*-]|\r\n\s*\r\n|[–—]\s|\s-\s"
)
_SOFT = lazy_pattern(r"[,/&+]")
_TRIPLED = lazy_pattern(r"([a-hj-wyz])\1{2,}")
"""A letter that a word has too often: "bleeed", "soooo"; Roman numerals are none."""
_NEW_LINE = lazy_pattern(r"[\r\n]\s*$")

ATTACHING = word_list("attaching")
FUNCTION_WORDS = word_list("function")
CLAUSES = word_list("clause")
"""Words that part clauses: they count as hard partings."""

NEGATORS = frozenset(("no", "not", "without"))
"""A name may start with one of these, but none runs over it."""

COORDINATORS = frozenset(("and", "or", "nor", "and/or", "plus"))

_LETTERED = frozenset(("type", "hepatitis", "vitamin"))
"""After these a capital A is a letter, not the article."""

LONGEST = 60
"""Letters of the longest word that is corrected; no word of a name is as long."""
SHORTEST = 6
"""Letters of the shortest word that is corrected: shorter ones have too many neighbours."""

NONE, ATTACHED, LINKED, SOFT, HARD = 0, 1, 2, 3, 4
"""Degrees of parting: none; an attaching word such as "of the"; another function word; a comma, slash or conjunction;
the end of a clause, a bracket, a new item."""


@dataclass(frozen=True, slots=True)
class ContentWords:
    """The content words of a text: function words are left out, conjunctions only part their neighbours."""

    text: str
    folded: list[str]
    starts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    parting: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.folded)


def words(text: str) -> ContentWords:
    folded, starts, ends, partings = scan(text)
    return ContentWords(text, folded, np.array(starts, np.int32), np.array(ends, np.int32), np.array(partings, np.int8))


def scan(text: str) -> tuple[list[str], list[int], list[int], list[int]]:
    """Return what :func:`words` puts into arrays: folded words, starts, ends and partings.

    Example:
        >>> scan("loss of hearing")
        (['loss', 'hearing'], [0, 8], [4, 15], [4, 1])
    """
    folded: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    partings: list[int] = []
    parting, last, previous = HARD, 0, ""
    for match in _WORD.finditer(text):
        start, end = match.span()
        word = _TRIPLED.sub(r"\1\1", _uncontracted(fold(match.group()).replace("-", "")))
        parting = max(parting, _parting(text[last:start], match.group()))
        last = end
        if word in COORDINATORS:
            parting = max(parting, SOFT)
        elif word in CLAUSES:
            parting = HARD
        elif word in ATTACHING and not (match.group() == "A" and previous in _LETTERED):
            parting = max(parting, ATTACHED)
        elif word in FUNCTION_WORDS:
            parting = max(parting, LINKED)
        else:
            if word in NEGATORS:
                parting = HARD
            folded.append(word)
            starts.append(start)
            ends.append(end)
            partings.append(parting)
            parting = NONE
        previous = word
    return folded, starts, ends, partings


def _uncontracted(word: str) -> str:
    if word == "can not" or word.endswith(("n't", "n’t")):
        return "cannot" if word.startswith(("ca", "could")) else "not"
    return word


def corrected(found: ContentWords, correct: Callable[[str], str | None]) -> tuple[ContentWords, set[int]]:
    """Return the words with misspelt ones put right, and which these are.

    Example:
        >>> corrected(words("micocephaly"), {"micocephaly": "microcephaly"}.get)[0].folded
        ['microcephaly']
    """
    mended = {word: right for word in set(found.folded) if (right := correct(word))}
    if not mended:
        return found, set()
    places = {place for place, word in enumerate(found.folded) if word in mended}
    return replace(found, folded=[mended.get(word, word) for word in found.folded]), places


def _parting(between: str, word: str) -> int:
    if between in (" ", "-", "'", ""):
        return NONE
    if _HARD.search(between) or (word[0].isupper() and _NEW_LINE.search(between)):
        return HARD
    return SOFT if _SOFT.search(between) else NONE


def stable_hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little", signed=True)


@dataclass(frozen=True, slots=True)
class Spelling:
    """The words of names, and the words that need no correction."""

    known: npt.NDArray[np.int64]
    words: Mapping[tuple[str, int], Sequence[str]]

    @classmethod
    def of(cls, names: Iterable[str], known: Iterable[str]) -> Spelling:
        """Index the words of names; ``known`` are further words that are spelt right.

        Example:
            >>> Spelling.of(["microcephaly"], ["patient"]).correct("microcepaly")
            'microcephaly'
        """
        words = sorted({word for word in names if len(word) >= SHORTEST and word.isalpha()})
        right = {form for word in (*known, *words) for form in (word, inflection(word))}
        return cls(np.unique(np.array([stable_hash(word) for word in right], np.int64)), _grouped(words))

    def save(self, folder: Path) -> None:
        np.save(folder / "spelling-known.npy", self.known)
        words = sorted(word for group in self.words.values() for word in group)
        (folder / "spelling.txt").write_text("\n".join(words), encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> Spelling:
        """Open the index that :meth:`save` wrote."""
        words = (folder / "spelling.txt").read_text(encoding="utf-8").split("\n")
        return cls(mapped(folder / "spelling-known.npy"), _grouped(filter(None, words)))

    def correct(self, word: str) -> str | None:
        """Return the only word of a name that a folded, unknown word is one typo away from, or ``None``."""
        if not SHORTEST <= len(word) <= LONGEST or not word.isalpha() or not word.isascii():
            return None
        if self._knows(word) or self._knows(inflection(word)):
            return None
        near = [other for size in (-1, 0, 1) for other in self.words.get((word[0], len(word) + size), ())]
        from rapidfuzz import distance, process

        found = process.extract(word, near, scorer=distance.OSA.distance, score_cutoff=1, limit=2)
        return found[0][0] if len(found) == 1 else None

    def _knows(self, word: str) -> bool:
        key = stable_hash(word)
        at = int(np.searchsorted(self.known, key))
        return at < len(self.known) and int(self.known[at]) == key


def _grouped(words: Iterable[str]) -> dict[tuple[str, int], list[str]]:
    groups: dict[tuple[str, int], list[str]] = defaultdict(list)
    for word in words:
        groups[word[0], len(word)].append(word)
    return dict(groups)
