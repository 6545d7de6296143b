"""How wide text is about, where no font can be asked: enough to break the lines of a drawing."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

SIZE, SMALL = 12.0, 11.0
"""Of the fonts of names and notes, in the drawing's units."""

BOLD = 1.1
"""How much wider bold text is."""

LEFT = 4
"""A word that is too long leaves at least so many letters for the next line."""

MOST_LINES = 6
"""A name is cut after so many lines; the table of paths has it whole."""

_NARROW = frozenset("fijlrtI1.,:;'|!()[]/- ")
_BROAD = frozenset("mwMWQO@%—ABCDGHKNRUVXYΩ&")


def width(text: str) -> float:
    """Return about how wide text is.

    Example:
        >>> width("ill") < width("mom") < width("发热症")
        True
    """
    return sum(_share(character) for character in text) * SIZE


def _share(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.02
    if character in _NARROW:
        return 0.36
    if character in _BROAD:
        return 0.82
    return 0.68 if character.isupper() else 0.585


@lru_cache(maxsize=4096)  # the same names are laid out for a screen, a phone and paper
def wrap(text: str, most: float) -> tuple[str, ...]:
    """Break text into lines of at most a width, at blanks and hyphens where there are any, and anywhere in Chinese.

    Example:
        >>> wrap("Bilateral tonic-clonic seizure", 100)
        ('Bilateral tonic-', 'clonic seizure')
        >>> wrap("Trichorhinophalangeal", 90)
        ('Trichorhinoph-', 'alangeal')
        >>> wrap("", 100)
        ('',)
    """
    lines = [""]
    for piece in re.findall(r"[^\s\-/,\u2e80-\uffef]+[\-/,]*\s*|[\u2e80-\uffef]\s*|\s+|[\-/,]+\s*", text):
        if lines[-1] and width((lines[-1] + piece).rstrip()) > most:
            lines.append("")
        while width(piece.rstrip()) > most:
            fits = next(at for at in range(len(piece), 0, -1) if at == 1 or width(piece[:at] + "-") <= most)
            kept = max(1, min(fits, len(piece.rstrip()) - LEFT))
            lines[-1] += piece[:kept] + "-"
            piece = piece[kept:]
            lines.append("")
        lines[-1] += piece
    lines = [line.strip() for line in lines]
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], lines[MOST_LINES - 1][:-1] + "…"]
    return tuple(lines)
