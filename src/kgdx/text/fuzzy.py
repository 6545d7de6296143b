"""Misspelt words: those that neither names nor definitions know, one letter away from a word of a name."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rapidfuzz import process
from rapidfuzz.distance import OSA

from kgdx.text.stems import inflection

LONGEST = 60
"""Letters of the longest word that is corrected; no word of a name is as long."""

SHORTEST = 6
"""Letters of the shortest word that is corrected: shorter ones have too many neighbours."""


def _hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little", signed=True)


@dataclass(frozen=True, slots=True)
class Spelling:
    """The words of names, and the words that need no correction.

    Attributes:
        known: int64, sorted hashes of all words of names and definitions.
        words: The words of names by their first letter and length.
    """

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
        return cls(np.unique(np.array([_hash(word) for word in right], np.int64)), _grouped(words))

    def save(self, folder: Path) -> None:
        """Write the index into a folder."""
        np.save(folder / "spelling-known.npy", self.known)
        words = sorted(word for group in self.words.values() for word in group)
        (folder / "spelling.txt").write_text("\n".join(words), encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> Spelling:
        """Open the index that :meth:`save` wrote."""
        words = (folder / "spelling.txt").read_text(encoding="utf-8").split("\n")
        return cls(np.load(folder / "spelling-known.npy", mmap_mode="r"), _grouped(filter(None, words)))

    def correct(self, word: str) -> str | None:
        """Return the only word of a name that a folded, unknown word is one typo away from, or ``None``."""
        if not SHORTEST <= len(word) <= LONGEST or not word.isalpha() or not word.isascii():
            return None
        if self._knows(word) or self._knows(inflection(word)):
            return None
        near = [other for size in (-1, 0, 1) for other in self.words.get((word[0], len(word) + size), ())]
        found = process.extract(word, near, scorer=OSA.distance, score_cutoff=1, limit=2)
        return found[0][0] if len(found) == 1 else None

    def _knows(self, word: str) -> bool:
        key = _hash(word)
        at = int(np.searchsorted(self.known, key))
        return at < len(self.known) and int(self.known[at]) == key


def _grouped(words: Iterable[str]) -> dict[tuple[str, int], list[str]]:
    groups: dict[tuple[str, int], list[str]] = defaultdict(list)
    for word in words:
        groups[word[0], len(word)].append(word)
    return dict(groups)
