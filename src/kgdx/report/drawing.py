"""What a drawing of evidence paths is made of: boxes in columns, lines between them, headings, and their sizes."""

from __future__ import annotations

from dataclasses import dataclass, field

from kgdx.report.metrics import BOLD, SIZE, SMALL, wrap

PATIENT, FINDING, ANCESTOR, ANNOTATION, DISEASE = range(5)

LINE, PAD = 15.0, 6.0
"""Height of a line of text, and the space around the text of a box."""

GROUPS = {
    "supports": "speaks for it",
    "against": "speaks against it",
    "typical_unmentioned": "typical of it, not mentioned",
}
"""Kinds of evidence paths, in the order in which they are drawn, and the words above them; others follow by name."""

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
        """Height of its middle."""
        return self.y + self.height / 2

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.x + self.width

    def fit(self, width: float) -> None:
        """Wrap its text to a width, and take the height that this needs."""
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
    """Where a kind stands among the others."""
    return (list(GROUPS).index(kind), "") if kind in GROUPS else (len(GROUPS), kind)
