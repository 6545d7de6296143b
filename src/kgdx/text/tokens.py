"""Words of a text with their places in it, and how firmly each is parted from the word before."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kgdx.text.stems import CJK, fold, word_list

_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f"
_WORD = re.compile(rf"(?:\b[A-Za-z]-\d+\b)|(?:[^\W_{CJK}][{_MARKS}]*)+")
_HARD = re.compile(
    rf"[;:?!()\[\]{{}}|•·\u3000-\u303f\uff00-\uffef{CJK}]|\.(?:\s|$)"
    r"|\n\s*[\n*-]|\r\n\s*\r\n|[–—]\s|\s-\s"
)
_SOFT = re.compile(r"[,/&+]")
_NEW_LINE = re.compile(r"[\r\n]\s*$")

ATTACHING = word_list("attaching")
FUNCTION_WORDS = word_list("function")
CLAUSES = word_list("clause")
"""Words that part clauses: they count as hard partings."""

NEGATORS = frozenset(("no", "not", "without"))
"""A name may start with one of these, but none runs over it."""

COORDINATORS = frozenset(("and", "or", "nor", "and/or", "plus"))

_LETTERED = frozenset(("type", "hepatitis", "vitamin"))
"""After these a capital A is a letter, not the article."""

NONE, ATTACHED, LINKED, SOFT, HARD = 0, 1, 2, 3, 4
"""Degrees of parting: none; an attaching word such as "of the"; another function word; a comma, slash or conjunction;
the end of a clause, a bracket, a new item."""


@dataclass(frozen=True, slots=True)
class Words:
    """The content words of a text: function words are left out, conjunctions only part their neighbours.

    Attributes:
        text: As it was given; places index it.
        folded: Lower case without diacritics, one per word.
        starts: int32, first character of each word.
        ends: int32, one past its last character.
        parting: int8, how the word is parted from the one before (NONE to HARD); the first word's is HARD.
    """

    text: str
    folded: list[str]
    starts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    parting: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.folded)


def words(text: str) -> Words:
    """Split a text into its content words.

    Example:
        >>> found = words("Seizures, and loss of the hearing")
        >>> found.folded, found.parting.tolist()
        (['seizures', 'loss', 'hearing'], [4, 3, 1])
    """
    folded, starts, ends, partings = scan(text)
    return Words(text, folded, np.array(starts, np.int32), np.array(ends, np.int32), np.array(partings, np.int8))


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
        word = fold(match.group()).replace("-", "")
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


def corrected(found: Words, correct: Callable[[str], str | None]) -> tuple[Words, set[int]]:
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
