"""Abbreviations that a text itself introduces: "global developmental delay (GDD)"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_INTRODUCED = re.compile(r"\(([A-Z][A-Za-z]{1,6})\)")
_WORDS = re.compile(r"[^\W\d_]+")


def introduced(text: str) -> Iterator[tuple[str, int]]:
    """Yield each abbreviation in brackets and where its bracket opens.

    Example:
        >>> list(introduced("Intellectual disability (ID) and ID"))
        [('ID', 24)]
    """
    for match in _INTRODUCED.finditer(text):
        yield match.group(1), match.start()


def abbreviates(short: str, long: str) -> bool:
    """Return whether an abbreviation consists of the first letters of the words of a phrase.

    Example:
        >>> abbreviates("GDD", "global developmental delay"), abbreviates("HL", "deafness")
        (True, False)
    """
    initials = "".join(word[0] for word in _WORDS.findall(long)).lower()
    return len(short) > 1 and short.rstrip("s").lower() == initials


def uses(text: str, short: str, taken: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield where an abbreviation stands as a word of its own outside the spans that are taken.

    Example:
        >>> list(uses("delay (GDD). GDD is", "GDD", [(0, 5)]))
        [(7, 10), (13, 16)]
    """
    for match in re.finditer(rf"(?<!\w){re.escape(short)}(?!\w)", text):
        if not any(start < match.end() and match.start() < end for start, end in taken):
            yield match.span()
