"""Misspelt words: those that neither names nor definitions know, one letter away from a word of a name.

Words are found by their forms with one letter left out (SymSpell's index), so that a text's unknown words cost a few
look-ups each, whatever the size of the vocabulary.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import OSA

from kgdx.text.stems import inflection

LONGEST = 60
"""Letters of the longest word that is corrected; no word of a name is as long."""

SHORTEST = 6
"""Letters of the shortest word that is corrected: shorter ones have too many neighbours."""


def _hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little", signed=True)


def _shortened(word: str) -> set[str]:
    return {word, *(word[:place] + word[place + 1 :] for place in range(len(word)))}


def _with_inflections(words: set[str]) -> set[str]:
    return words | {inflection(word) for word in words}


@dataclass(frozen=True, slots=True)
class Spelling:
    """The words of names, and the words that need no correction.

    Attributes:
        known: int64, sorted hashes of all words of names and definitions.
        forms: int64, sorted hashes of the words of names with at most one letter left out.
        owners: int32, which word each form comes from.
        words: The words of names.
    """

    known: npt.NDArray[np.int64]
    forms: npt.NDArray[np.int64]
    owners: npt.NDArray[np.int32]
    words: tuple[str, ...]

    @classmethod
    def of(cls, names: Iterable[str], known: Iterable[str]) -> Spelling:
        """Index the words of names; ``known`` are further words that are spelt right.

        Example:
            >>> Spelling.of(["microcephaly"], ["patient"]).correct("microcepaly")
            'microcephaly'
        """
        words = sorted({word for word in names if len(word) >= SHORTEST and word.isalpha()})
        hashes = [(_hash(form), owner) for owner, word in enumerate(words) for form in _shortened(word)]
        hashes.sort()
        forms = np.array([value for value, _ in hashes], np.int64)
        owners = np.array([owner for _, owner in hashes], np.int32)
        right = np.unique(np.array([_hash(word) for word in _with_inflections({*known, *words})], np.int64))
        return cls(right, forms, owners, tuple(words))

    def save(self, folder: Path) -> None:
        """Write the index into a folder."""
        for name in ("known", "forms", "owners"):
            np.save(folder / f"spelling-{name}.npy", getattr(self, name))
        (folder / "spelling.txt").write_text("\n".join(self.words), encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> Spelling:
        """Map the index that :meth:`save` wrote."""
        known, forms, owners = (
            np.load(folder / f"spelling-{name}.npy", mmap_mode="r") for name in ("known", "forms", "owners")
        )
        return cls(known, forms, owners, tuple((folder / "spelling.txt").read_text(encoding="utf-8").split("\n")))

    def correct(self, word: str) -> str | None:
        """Return the only word of a name that a folded, unknown word is one slip away from, or ``None``."""
        if not SHORTEST <= len(word) <= LONGEST or not word.isalpha() or not word.isascii():
            return None
        if self._has(self.known, _hash(word)) or self._has(self.known, _hash(inflection(word))):
            return None
        owners: set[int] = set()
        for form in _shortened(word):
            key = _hash(form)
            left, right = np.searchsorted(self.forms, key, "left"), np.searchsorted(self.forms, key, "right")
            owners.update(self.owners[left:right].tolist())
        near = [self.words[owner] for owner in owners if self._close(word, self.words[owner])]
        return near[0] if len(near) == 1 else None

    @staticmethod
    def _close(said: str, word: str) -> bool:
        return said[0] == word[0] and OSA.distance(said, word, score_cutoff=1) <= 1

    @staticmethod
    def _has(values: npt.NDArray[np.int64], key: int) -> bool:
        at = int(np.searchsorted(values, key))
        return at < len(values) and int(values[at]) == key
