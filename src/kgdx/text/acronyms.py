"""Abbreviations that a text itself introduces: "global developmental delay (GDD)"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from itertools import islice

_INTRODUCED = re.compile(r"\(([A-Z][A-Za-z]{1,6})\)")
_WORDS = re.compile(r"[^\W\d_]+")

_MOST = 50
"""Abbreviations that are followed in one text, so that none takes longer than it is worth."""


def introduced(text: str) -> Iterator[tuple[str, int]]:
    """Yield each abbreviation in brackets, once, and where its bracket first opens.

    Example:
        >>> list(introduced("Intellectual disability (ID) and ID"))
        [('ID', 24)]
    """
    seen: dict[str, int] = {}
    for match in _INTRODUCED.finditer(text):
        seen.setdefault(match.group(1), match.start())
    yield from islice(seen.items(), _MOST)


def abbreviates(short: str, long: str) -> bool:
    """Return whether an abbreviation consists of the first letters of the words of a phrase.

    Example:
        >>> abbreviates("GDD", "global developmental delay"), abbreviates("HL", "deafness")
        (True, False)
    """
    initials = "".join(word[0] for word in _WORDS.findall(long)).lower()
    return len(short) > 1 and short.rstrip("s").lower() == initials


def uses(text: str, short: str, taken: Set[int]) -> Iterator[tuple[int, int]]:
    """Yield where an abbreviation stands as a word of its own, unless a finding starts there already.

    Example:
        >>> list(uses("delay (GDD). GDD is", "GDD", {13}))
        [(7, 10)]
    """
    for match in re.finditer(rf"(?<!\w){re.escape(short)}(?!\w)", text):
        if match.start() not in taken:
            yield match.span()
