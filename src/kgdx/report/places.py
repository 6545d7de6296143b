"""Finds the places of boxes: columns from left to right, kinds of evidence below each other, lines between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from kgdx.report.drawing import (
    ACROSS,
    ANCESTOR,
    ANNOTATION,
    DISEASE,
    FINDING,
    LINE,
    PATIENT,
    Box,
    Drawing,
    Geometry,
    Heading,
    Line,
    place_of,
)
from kgdx.results.view import SIDES
from kgdx.results.words import clean
from kgdx.schema import relation_words


class Graph(Protocol):
    """Boxes and lines of some paths, by key."""

    boxes: dict[str, Box]
    lines: dict[tuple[str, str, str], Line]


def placed(graph: Graph, geometry: Geometry) -> Drawing:
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
        down = max(
            0.0, (_stack(diseases, 0.0) - bottom) / 2
        )  # where diseases are many, what they share is in the middle
        for box in inside:
            box.y += down
        headings = tuple(replace(heading, y=heading.y + down) for heading in headings)
        bottom += 2 * down
        for side in (patient, diseases):
            _stack(side, (bottom - _stack(side, 0.0)) / 2)
    for line in graph.lines.values():
        line.d = _curve(graph.boxes[line.start], graph.boxes[line.end], geometry)
    return Drawing(geometry.width, round(bottom + 2, 1), tuple(_reading(boxes)), tuple(graph.lines.values()), headings)


def _reading(boxes: Iterable[Box]) -> list[Box]:
    """Sort boxes as a keyboard walks through them: row by row, patient first and disease last."""
    ends = {PATIENT: 0, DISEASE: 2}
    return sorted(boxes, key=lambda box: (ends.get(box.column, 1), round(box.middle / LINE), box.x))


def _columns(boxes: Sequence[Box], inner: Sequence[int], geometry: Geometry) -> None:
    """Give each box its column's place and width, and so its height."""
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
    """Return where the inner columns begin."""
    return geometry.rail or (geometry.first + geometry.gap if geometry.first else 0.0)


def _rows(graph: Graph, top: float, left: float) -> tuple[tuple[Heading, ...], float]:
    """Place findings and, in rows beside them, what is annotated; each kind of evidence under its heading."""
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


def _block(graph: Graph, finding: Box, placed: set[str], y: float) -> float:
    """Place a finding and those of its annotations that have no place yet; return where the block ends."""
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


def _ancestors(graph: Graph) -> None:
    """Place shared ancestors between what they connect, none over another."""
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


def _beside_exact(graph: Graph, box: Box, y: float) -> float:
    """Move an ancestor down past the boxes that lie across its column."""
    across = sorted(
        (each for each in graph.boxes.values() if each.role in ("exact", "typical")), key=lambda each: each.y
    )
    for each in across:
        if y < each.y + each.height + 4 and each.y - 4 < y + box.height:
            y = each.y + each.height + 8
    return y


def _stack(boxes: Iterable[Box], y: float) -> float:
    """Place boxes below each other; return where the last one ends."""
    end = y
    for box in boxes:
        box.y, end = y, y + box.height
        y = end + 14
    return end


def _curve(start: Box, end: Box, geometry: Geometry) -> str:
    """Return the line between two boxes as an SVG path."""
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
