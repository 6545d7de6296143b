"""Rooms stay below their ceilings, and ceilings near their rooms: both only fall."""

from __future__ import annotations

from benchmarks import house


def test_no_room_exceeds_its_ceiling() -> None:
    kept = house.ceilings()
    above = {name: (now, kept.get(name, (0, 0))) for name, now in house.sizes().items() if exceeds(now, kept.get(name))}
    assert not above, "make it smaller elsewhere, or say in the file of ceilings why another room gives way"


def exceeds(now: tuple[int, int], ceiling: tuple[int, int] | None) -> bool:
    return ceiling is None or now[0] > ceiling[0] or now[1] > ceiling[1]


def test_no_ceiling_lies_far_above_its_room() -> None:
    found = house.sizes()
    far = [name for name, kept in house.ceilings().items() if kept.lines > house.allowed(found[name].lines)]
    assert far == [], "python -m benchmarks.house --lower"
