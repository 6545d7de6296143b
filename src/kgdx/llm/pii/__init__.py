"""Names of persons and other passages that identify one, told from what medicine needs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

Place = tuple[int, int]
"""Start and end of a passage."""

QUOTE = r"(?:\\?[\"'“”])?"
"""Pattern of a quotation mark that may stand before or after a word, escaped where JSON holds JSON."""


@cache
def words(name: str) -> frozenset[str]:
    """Return the words of a list that ships beside this file."""
    text = files("kgdx.llm.pii").joinpath(f"{name}.txt").read_text("utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


@cache
def any_of_words(name: str) -> str:
    """Return the words or patterns of a list as the choices of a pattern, the longest first."""
    return "|".join(sorted(words(name), key=lambda word: (-len(word), word)))


def merged(found: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return passages as they follow each other: those that overlap become one, of the kind of the longest.

    Example:
        >>> merged([(4, 6, "ID"), (0, 5, "NAME"), (8, 9, "DATE")])
        [(0, 6, 'NAME'), (8, 9, 'DATE')]
    """
    out: list[tuple[int, int, str]] = []
    longest = 0
    for start, end, kind in sorted(found, key=lambda each: (each[0], -each[1])):
        if start >= end:
            continue
        if out and start < out[-1][1]:
            if end - start > longest:
                longest, out[-1] = end - start, (out[-1][0], out[-1][1], kind)
            out[-1] = (out[-1][0], max(end, out[-1][1]), out[-1][2])
        else:
            longest = end - start
            out.append((start, end, kind))
    return out


def covered(text: str, pattern: re.Pattern[str]) -> bytearray:
    """Return for each character of a text 1 where a match covers it, otherwise 0."""
    out = bytearray(len(text))
    for match in pattern.finditer(text):
        out[match.start() : match.end()] = b"\x01" * (match.end() - match.start())
    return out
