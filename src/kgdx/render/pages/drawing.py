"""What a drawing of evidence paths is made of: boxes in columns, lines between them, headings, and their sizes.

No font can be asked how wide text is: an estimate is enough to break the lines of a drawing.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache

from kgdx.results.view import SIDES

PATIENT, FINDING, ANCESTOR, ANNOTATION, DISEASE = range(5)

LINE, PAD = 15.0, 6.0
"""Height of a line of text, and the space around the text of a box."""

ACROSS = ("exact", "typical", "fact")
"""Roles of boxes that reach from the first inner column to the last."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """Sizes of a drawing; with a ``rail``, patient and disease stand above and below, reached along the edges."""

    width: float
    gap: float
    first: float = 0.0
    last: float = 0.0
    rail: float = 0.0


SIZE, SMALL = 12.0, 11.0
"""Of the fonts of names and notes, in the drawing's units."""

_NARROW = frozenset("fijlrtI1.,:;'|!()[]/- ")
_BROAD = frozenset("mwMWQO@%—ABCDGHKNRUVXYΩ&")


def width(text: str) -> float:
    return sum(_share(character) for character in text) * SIZE


def _share(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.02
    if character in _NARROW:
        return 0.36
    if character in _BROAD:
        return 0.82
    return 0.68 if character.isupper() else 0.585


WIDE = Geometry(width=860, gap=34, first=84, last=158)
FACTS = Geometry(width=860, gap=120, last=340)
NARROW = Geometry(width=360, gap=16, rail=18)


@dataclass(slots=True)
class Box:
    """A node as it is drawn: where, its lines of text, and the numbers of the paths that go through it."""

    key: str
    id: str
    role: str
    name: str
    column: int
    kind: str = ""
    notes: list[str] = field(default_factory=list)
    paths: list[int] = field(default_factory=list)
    lines: tuple[str, ...] = ()
    small: tuple[str, ...] = ()
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0

    @property
    def middle(self) -> float:
        return self.y + self.height / 2

    @property
    def right(self) -> float:
        return self.x + self.width

    def fit(self, width: float) -> None:
        self.width = width
        room = width - 2 * PAD - 4
        self.lines = wrap(self.name, room / (BOLD if self.column in (PATIENT, DISEASE) else 1))
        self.small = wrap(" · ".join(self.notes), room * SIZE / SMALL) if self.notes else ()
        self.height = LINE * (len(self.lines) + len(self.small)) + 2 * PAD


@dataclass(slots=True)
class Line:
    """A relation (or a chain of them) as it is drawn."""

    start: str
    end: str
    kind: str
    words: str
    paths: list[int] = field(default_factory=list)
    d: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """Words above a group of rows."""

    text: str
    kind: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """A graph with a place for everything."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    headings: tuple[Heading, ...]


def place_of(kind: str) -> tuple[int, str]:
    """Return where a kind of path stands: those of :data:`~kgdx.results.view.SIDES` first, others by name."""
    return (list(SIDES).index(kind), "") if kind in SIDES else (len(SIDES), kind)


BOLD = 1.1
"""How much wider bold text is."""

LEFT = 4
"""A word that is too long leaves at least so many letters for the next line."""

MOST_LINES = 6
"""A name is cut after so many lines; the table of paths has it whole."""


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
