from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case import Status
from kgdx.render.pages.drawing import FACTS, MOST_LINES, NARROW, WIDE, Box, Drawing, Geometry, draw, sheets, width, wrap
from kgdx.render.pages.template_values import plot
from kgdx.results.document import read
from kgdx.results.evidence_paths import EvidencePath
from kgdx.results.ranked import Candidate, Contribution, DiagnosisDocument
from render.pages.documents import large, path

GEOMETRIES = {"wide": WIDE, "narrow": NARROW}


def paths(documents: list[dict[str, Any]]) -> list[tuple[int, EvidencePath]]:
    found = read(DiagnosisDocument, {"case": {"id": "p"}, "evidence": {"OMIM:1": documents}})
    return list(enumerate(found.evidence["OMIM:1"]))


def apart(one: Box, other: Box) -> bool:
    return (
        one.right <= other.x or other.right <= one.x or one.y + one.height <= other.y or other.y + other.height <= one.y
    )


def sound(drawing: Drawing) -> None:
    """Nothing lies over anything else or outside, and no text is wider than its box."""
    for one, other in combinations(drawing.boxes, 2):
        assert apart(one, other), f"{one.name} ({one.role}) lies over {other.name} ({other.role})"
    for box in drawing.boxes:
        assert box.x >= 0 and box.y >= 0 and box.right <= drawing.width and box.y + box.height <= drawing.height
        assert all(width(line) <= box.width for line in box.lines)


@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=GEOMETRIES)
@pytest.mark.parametrize("number", [1, 7, 60, 200])
def test_nothing_lies_over_anything_else(number: int, geometry: Geometry) -> None:
    sound(draw(paths(large(number)["evidence"]["OMIM:100000"]), {}, geometry))


MIXED = st.lists(
    st.tuples(
        st.sampled_from(["supports", "against", "typical_unmentioned"]),
        st.integers(0, 5),
        st.sampled_from(["OMIM:1", "ORPHA:2"]),
        st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=4),
    ),
    min_size=1,
    max_size=20,
)


@given(MIXED, st.sampled_from(list(GEOMETRIES.values())))
def test_any_paths_are_drawn_soundly_and_completely(ways: list[Any], geometry: Geometry) -> None:
    documents = [
        path(kind, at, disease, *sorted(between, key=lambda step: step[1])) for kind, at, disease, between in ways
    ]
    drawing = draw(paths(documents), {}, geometry)
    sound(drawing)
    keys = {box.key for box in drawing.boxes}
    assert all(line.start in keys and line.end in keys for line in drawing.lines)
    for number in range(len(documents)):
        assert sum(number in box.paths for box in drawing.boxes) >= 2
        assert any(number in line.paths for line in drawing.lines)


def test_an_exact_match_is_one_box_and_a_shared_ancestor_stands_between() -> None:
    exact = path("supports", 1, "OMIM:1")
    shared = path("supports", 2, "OMIM:1", ("up", False), ("top", False), ("down", True), ("leaf", True))
    drawing = draw(paths([exact, shared]), {"HP:0000002": 2.5})
    assert [box.role for box in drawing.boxes] == ["patient", "finding", "ancestor", "annotation", "exact", "disease"]
    assert [box.name for box in drawing.boxes][2:4] == ["top", "leaf"]
    assert "+2.5 to the score" in drawing.boxes[1].notes
    assert "a kind of (2 steps)" in {line.words for line in drawing.lines}


def test_what_speaks_for_it_stands_above_what_speaks_against_it() -> None:
    kinds = ("typical_unmentioned", "against", "supports")
    drawing = draw(paths([path(kind, at, "OMIM:1") for at, kind in enumerate(kinds)]), {})
    assert [each.kind for each in drawing.headings] == ["supports", "against", "typical_unmentioned"]
    assert [each.y for each in drawing.headings] == sorted(each.y for each in drawing.headings)


def test_sheets_fit_a_page_and_leave_nothing_out() -> None:
    numbered = paths(large(200)["evidence"]["OMIM:100000"])
    drawn = sheets(numbered, {}, 1180)
    assert len(drawn) > 1
    assert max(each.height for each in drawn) <= 1180
    assert {number for each in drawn for box in each.boxes for number in box.paths} == set(range(200))


@given(st.text(max_size=120), st.floats(60, 400))
def test_wrapped_text_keeps_to_its_width_and_its_letters(text: str, most: float) -> None:
    lines = wrap(text, most)
    assert len(lines) <= MOST_LINES
    assert all(width(line) <= most + 13 for line in lines)
    if len(lines) < MOST_LINES:
        assert "".join("".join(lines).split()).replace("-", "") == "".join(text.split()).replace("-", "")


@given(
    st.lists(st.tuples(st.sampled_from(["HP:1", "HP:2", ""]), st.sampled_from("abc"), st.floats(-9, 9)), max_size=12)
)
def test_bars_of_the_plot_add_up_to_the_score(parts: list[tuple[str, str, float]]) -> None:
    contributions = tuple(Contribution("exact", score, f, Status.PRESENT, {s: score}) for f, s, score in parts)
    total = sum(part.score for part in contributions)
    drawn = plot(Candidate(1, "OMIM:1", "X", (), total, contributions=contributions), {})
    assert sum(row.score for row in drawn.rows) == pytest.approx(total, abs=1e-9)
    for row in drawn.rows:
        assert all(bar.start >= -0.1 and bar.start + bar.width <= 100.1 for bar in row.bars)
        assert sum(score or 0.0 for score in row.by_scorer) == pytest.approx(row.score, abs=1e-9)


def test_facts_of_many_diseases_are_drawn_apart() -> None:
    documents = [path("typical_unmentioned", at % 3, f"OMIM:{at}") for at in range(40)]
    drawing = draw(paths(documents), {}, FACTS)
    sound(drawing)
    assert len([box for box in drawing.boxes if box.role == "disease"]) == 40
