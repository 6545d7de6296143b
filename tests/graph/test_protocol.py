"""Values of the engines become plain Python."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from kgdx.graph.protocol import plain


class Neo4jDate:
    """Stands for the driver's temporal types, which know their ISO form."""

    def iso_format(self) -> str:
        return "2026-01-02"


class RecordId:
    """Stands for an engine's own identifier."""

    def __str__(self) -> str:
        return "#1:2"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        ("x", "x"),
        (Decimal("3"), 3),
        (Decimal("0.5"), 0.5),
        (date(2026, 1, 2), "2026-01-02"),
        (datetime(2026, 1, 2, 3, tzinfo=UTC), "2026-01-02T03:00:00+00:00"),
        (Neo4jDate(), "2026-01-02"),
        (RecordId(), "#1:2"),
        ((1, [Decimal("2")]), [1, [2]]),
        ({"b", "a"}, ["a", "b"]),
        ({"x": {"y": Decimal("1.5")}}, {"x": {"y": 1.5}}),
        ({"@rid": "#1:2", "@type": "Disease", "id": "OMIM:1", "name": None}, {"label": "Disease", "id": "OMIM:1"}),
        (
            {"@rid": "#3:4", "@type": "IS_A", "@in": "#1:1", "@out": "#1:2", "source": "hp"},
            {"type": "IS_A", "source": "hp"},
        ),
    ],
)
def test_a_value_becomes_plain(value: Any, expected: Any) -> None:
    got = plain(value)
    assert got == expected
    assert type(got) is type(expected)
