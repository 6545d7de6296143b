"""What a drawing of evidence paths is made of: boxes in columns, lines between them, headings, and their sizes.

No font can be asked how wide text is: an estimate is enough to break the lines of a drawing.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from kgdx.errors import MissingExtraError
from kgdx.results.evidence_paths import EvidencePath
from kgdx.results.view import SIDES, StatedFact, edge_words
from kgdx.results.words import clean, count, frequency, signed
from kgdx.schema import relation_words

if TYPE_CHECKING:
    from neo4j_viz import VisualizationGraph

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


Way = EvidencePath | StatedFact
"""What can be drawn."""

MINTED = ("KGDX:", "DOC:")
"""Ids that kgdx made, which tell a reader nothing."""


def draw(paths: Sequence[tuple[int, Way]], weights: Mapping[str, float], geometry: Geometry = WIDE) -> Drawing:
    """Lay paths out.

    Args:
        weights: Finding → what it adds to the score; the weightiest come first.

    Example:
        >>> from kgdx.results.evidence_paths import PathNode, PathRelation
        >>> nodes = (PathNode("p", "PatientCase"), PathNode("HP:1", "", "Fit"), PathNode("OMIM:1", "", "X"))
        >>> relations = (PathRelation("OBSERVED"), PathRelation("HAS_PHENOTYPE", reversed=True))
        >>> path = EvidencePath(nodes, relations, "supports", "HP:1")
        >>> [(box.role, box.name) for box in draw([(0, path)], {}).boxes]
        [('patient', 'Patient'), ('exact', 'Fit'), ('disease', 'X')]
    """
    graph = _Graph(weights)
    for number, path in _ordered(paths, weights):
        graph.add(number, path)
    return placed(graph, geometry)


def sheets(
    paths: Sequence[tuple[int, Way]], weights: Mapping[str, float], height: float, geometry: Geometry = WIDE
) -> list[Drawing]:
    """Lay paths out in several drawings, none higher than a page as far as its findings allow."""
    order: dict[tuple[str, str], list[tuple[int, Way]]] = {}
    for number, path in _ordered(paths, weights):
        order.setdefault((path.kind, path.finding), []).append((number, path))
    groups, drawn = list(order.values()), list[Drawing]()

    def drawn_with(number: int) -> Drawing:
        return draw(list(chain(*groups[:number])), weights, geometry)

    while groups:
        most = min(len(groups), int(height // (LINE + 2 * PAD)))  # no row is lower than one line
        fits = bisect(range(2, most + 1), height, key=lambda n: drawn_with(n).height)
        drawn.append(drawn_with(fits + 1))
        groups = groups[fits + 1 :]
    return drawn


def _ordered(paths: Sequence[tuple[int, Way]], weights: Mapping[str, float]) -> list[tuple[int, Way]]:
    """Sort paths by kind and weight; findings that meet the disease at the same shared ancestor stay together."""

    def weight(path: Way) -> float:
        return abs(weights.get(path.finding, 0.0))

    families: dict[tuple[str, str], str] = {}
    for _, path in paths:
        first, top, last = _shape(path)
        meets = path.nodes[top].id if first < top < last - 1 else path.finding
        families.setdefault((path.kind, path.finding), meets)
    heaviest: dict[tuple[str, str], float] = {}
    for _, path in paths:
        family = (path.kind, families[path.kind, path.finding])
        heaviest[family] = max(heaviest.get(family, 0.0), weight(path))

    def place(item: tuple[int, Way]) -> tuple[tuple[int, str], float, str, float, str, int]:
        number, path = item
        family = families[path.kind, path.finding]
        return place_of(path.kind), -heaviest[path.kind, family], family, -weight(path), path.finding, number

    return sorted(paths, key=place)


def _shape(path: Way) -> tuple[int, int, int]:
    last = len(path.nodes) - 1
    first = 1 if path.nodes[0].label == "PatientCase" and last > 1 else 0
    top = first
    while top < last - 1 and not path.relations[top].reversed:
        top += 1
    return first, top, last


class _Graph:
    """Boxes and lines of some paths, without places."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self.weights = weights
        self.boxes: dict[str, Box] = {}
        self.lines: dict[tuple[str, str, str], Line] = {}

    def add(self, number: int, path: Way) -> None:
        first, rises, last = _shape(path)
        exact = "exact" if first else "fact"
        keys = [(self._finding(path, first, exact if first == last - 1 else "finding"), first)]
        if first < rises < last - 1:
            keys.append((self._box(path, rises, ANCESTOR, "ancestor"), rises))
        if first < last - 1:
            keys.append((self._box(path, last - 1, ANNOTATION, "annotation"), last - 1))
        keys.append((self._box(path, last, DISEASE, "disease"), last))
        if first:
            keys.insert(0, (self._box(path, 0, PATIENT, "patient"), 0))
        if path.frequency:
            noted = self.boxes[keys[-2][0]].notes
            said = frequency(path.frequency)
            if said not in noted:
                noted.append(said)
        for key, _ in keys:
            self.boxes[key].paths.append(number)
        for (start, here), (end, there) in pairwise(keys):
            self._line(start, end, path, here, there).paths.append(number)

    def _finding(self, path: Way, at: int, role: str) -> str:
        if path.kind == "typical_unmentioned" and role != "finding":
            role = "typical"
        key = self._box(path, at, FINDING, role)
        box = self.boxes[key]
        if {role, box.role} == {"exact", "finding"}:
            box.role = "finding"  # it is annotated itself, and there are other ways from it too
        weight = self.weights.get(box.id)
        if not box.notes and weight is not None and box.role != "typical":
            box.notes.append(f"{signed(weight)} to the score")
        return key

    def _box(self, path: Way, at: int, column: int, role: str) -> str:
        node = path.nodes[at]
        apart = role in ("typical", "fact")  # the same term may stand under several headings
        key = f"{column} {path.kind if apart else ''} {node.id}"
        name = "Patient" if role == "patient" else clean(node.name or node.id)
        if key not in self.boxes:
            named = role == "disease" and not node.id.startswith(MINTED)
            notes = [clean(node.id)] if named else []
            self.boxes[key] = Box(key, node.id, role, name, column, path.kind, notes)
        return key

    def _line(self, start: str, end: str, path: Way, here: int, there: int) -> Line:
        first = path.relations[here]
        words = edge_words(first, path)
        if there - here > 1:
            words += f" ({count(there - here, 'step')})"
        return self.lines.setdefault((start, end, path.kind), Line(start, end, path.kind, words))


COLOURS = {"PatientCase": "#17212b", "Phenotype": "#5aa9a2", "Disease": "#1f4e79"}
"""Label → colour of its nodes, as on the page."""

OTHER = "#8e5b86"


def neo4j_graph(paths: Iterable[EvidencePath]) -> VisualizationGraph:
    """Return the graph of some paths, each node and each relation once."""
    try:
        from neo4j_viz import Node, Relationship, VisualizationGraph
    except ImportError as error:
        raise MissingExtraError("to_neo4j_viz()", "viz") from error
    nodes: dict[str, Node] = {}
    relations: dict[tuple[str, str, str], Relationship] = {}
    for path in paths:
        for node in path.nodes:
            nodes.setdefault(
                node.id,
                Node(
                    id=node.id,
                    caption=node.name or node.id,
                    color=COLOURS.get(node.label, OTHER),
                    size=50 if node.label in ("PatientCase", "Disease") else 36,
                    properties={"id": node.id, "label": node.label},
                ),
            )
        for at, edge in enumerate(path.relations):
            ends = [path.nodes[at].id, path.nodes[at + 1].id]
            source, target = reversed(ends) if edge.reversed else ends
            relations.setdefault(
                (source, edge.type, target),
                Relationship(source=source, target=target, caption=edge.type, properties=dict(edge.properties)),
            )
    return VisualizationGraph(nodes=list(nodes.values()), relationships=list(relations.values()))


def placed(graph: _Graph, geometry: Geometry) -> Drawing:
    """Give every box and line of a graph its place, in the graph itself, and return the drawing."""
    boxes = list(graph.boxes.values())
    inner = sorted({box.column for box in boxes if box.column in (ANCESTOR, ANNOTATION)} | {FINDING})
    _columns(boxes, inner, geometry)
    patient = [box for box in boxes if box.column == PATIENT]
    diseases = [box for box in boxes if box.column == DISEASE]
    top = _stack(patient, 0.0) + 6 if geometry.rail and patient else 0.0
    headings, bottom = _rows(graph, top, _left(geometry))
    _ancestors(graph)
    inside = [box for box in boxes if FINDING <= box.column <= ANNOTATION]
    bottom = max([bottom, *(box.y + box.height for box in inside)])
    if geometry.rail:
        bottom = _stack(diseases, bottom + 22)
    else:
        down = max(0.0, (_stack(diseases, 0.0) - bottom) / 2)  # what many diseases share is in the middle
        for box in inside:
            box.y += down
        headings = tuple(replace(heading, y=heading.y + down) for heading in headings)
        bottom += 2 * down
        for side in (patient, diseases):
            _stack(side, (bottom - _stack(side, 0.0)) / 2)
    for line in graph.lines.values():
        line.d = _curve(graph.boxes[line.start], graph.boxes[line.end], geometry)
    ends = {PATIENT: 0, DISEASE: 2}
    boxes.sort(key=lambda box: (ends.get(box.column, 1), round(box.middle / LINE), box.x))
    return Drawing(geometry.width, round(bottom + 2, 1), tuple(boxes), tuple(graph.lines.values()), headings)


def _columns(boxes: Sequence[Box], inner: Sequence[int], geometry: Geometry) -> None:
    side = _left(geometry)
    room = geometry.width - side - (geometry.rail or (geometry.last + geometry.gap))
    width = (room - geometry.gap * (len(inner) - 1)) / len(inner)
    for box in boxes:
        if box.column in (PATIENT, DISEASE):
            box.x = 0.0 if geometry.rail or box.column == PATIENT else geometry.width - geometry.last
            across = geometry.first if box.column == PATIENT else geometry.last
            box.fit(geometry.width - geometry.rail if geometry.rail else across)
        elif box.role in ACROSS:
            box.x = side
            box.fit(room)
        else:
            box.x = side + inner.index(box.column) * (width + geometry.gap)
            box.fit(width)


def _left(geometry: Geometry) -> float:
    return geometry.rail or (geometry.first + geometry.gap if geometry.first else 0.0)


def _rows(graph: _Graph, top: float, left: float) -> tuple[tuple[Heading, ...], float]:
    headings: list[Heading] = []
    placed: set[str] = set()
    y = top
    findings = [box for box in graph.boxes.values() if box.column == FINDING]
    for kind in sorted({box.kind for box in findings}, key=place_of):
        group = [box for box in findings if box.kind == kind]
        words = SIDES.get(kind) or clean(relation_words(kind, against=True))
        y += 18 if not headings else 30
        headings.append(Heading(words, kind, left, y - 6))
        for box in group:
            y = _block(graph, box, placed, y) + 8
    return tuple(headings), y - 8


def _block(graph: _Graph, finding: Box, placed: set[str], y: float) -> float:
    numbers = set(finding.paths)
    beside = [
        box
        for box in graph.boxes.values()
        if box.column == ANNOTATION and box.key not in placed and numbers.intersection(box.paths)
    ]
    bottom = y
    for box in beside:
        placed.add(box.key)
        box.y = bottom
        bottom += box.height + 8
    high = max(finding.height, bottom - 8 - y)
    finding.y = y + (high - finding.height) / 2
    shift = (high - (bottom - 8 - y)) / 2 if beside else 0.0
    for box in beside:
        box.y += shift
    return y + high


def _ancestors(graph: _Graph) -> None:
    beside: dict[str, list[float]] = {}
    for line in graph.lines.values():
        for one, other in ((line.start, line.end), (line.end, line.start)):
            if graph.boxes[one].column == ANCESTOR:
                beside.setdefault(one, []).append(graph.boxes[other].middle)
    free = 0.0
    lowest = min((box.y for box in graph.boxes.values() if box.column == FINDING), default=0.0)
    for key in sorted(beside, key=lambda key: (sum(beside[key]) / len(beside[key]), key)):
        box = graph.boxes[key]
        wanted = sum(beside[key]) / len(beside[key]) - box.height / 2
        box.y = _beside_exact(graph, box, max(wanted, free, lowest))
        free = box.y + box.height + 8


def _beside_exact(graph: _Graph, box: Box, y: float) -> float:
    across = sorted(
        (each for each in graph.boxes.values() if each.role in ("exact", "typical")), key=lambda each: each.y
    )
    for each in across:
        if y < each.y + each.height + 4 and each.y - 4 < y + box.height:
            y = each.y + each.height + 8
    return y


def _stack(boxes: Iterable[Box], y: float) -> float:
    end = y
    for box in boxes:
        box.y, end = y, y + box.height
        y = end + 14
    return end


def _curve(start: Box, end: Box, geometry: Geometry) -> str:
    if geometry.rail and start.column == PATIENT:
        x, y = geometry.rail / 2, end.middle
        return f"M{x:g} {start.y + start.height:g}V{y - 8:.1f}Q{x:g} {y:.1f} {x + 8:g} {y:.1f}H{end.x:g}"
    if geometry.rail and end.column == DISEASE:
        x, y, low = geometry.width - geometry.rail / 2, start.middle, end.middle
        down = f"M{start.right:g} {y:.1f}H{x - 8:g}Q{x:g} {y:.1f} {x:g} {y + 8:.1f}"
        return f"{down}V{low - 8:.1f}Q{x:g} {low:.1f} {x - 8:g} {low:.1f}H{end.right:g}"
    x1, y1, x2, y2 = start.right, start.middle, end.x, end.middle
    bend = (x2 - x1) / 2
    return f"M{x1:g} {y1:.1f}C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2:g} {y2:.1f}"
