"""Rows as plain Python, equal from every store, and a digest of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

_PLAIN = (str, int, float, bool, type(None))
_AS_IT_IS = frozenset({str, int, bool, type(None)})


def plain(value: Any) -> Any:
    """Return ``value`` made of ``str``, ``int``, ``float``, ``bool``, ``None``, lists and dicts only.

    Dates become ISO text, decimals numbers, sets sorted lists. A node or relationship becomes its properties without
    the absent ones, with ``label`` or ``type`` in front.

    Example:
        >>> from decimal import Decimal
        >>> plain({"n": Decimal("2"), "tags": {"b", "a"}})
        {'n': 2, 'tags': ['a', 'b']}
        >>> plain({"@rid": "#1:0", "@cat": "v", "@type": "Disease", "id": "OMIM:154700", "name_zh": None})
        {'label': 'Disease', 'id': 'OMIM:154700'}
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(v) for v in value), key=lambda v: (str(type(v)), str(v)))
    if isinstance(value, Mapping):
        return _record(value) if "@type" in value else {str(k): plain(v) for k, v in value.items()}
    return _foreign(value)


def _record(value: Mapping[str, Any]) -> dict[str, Any]:
    """A node or edge of the embedded engine: a mapping whose own entries start with ``@``."""
    edge = value.get("@cat") == "e" or "@out" in value
    head = {"type" if edge else "label": value["@type"]}
    return head | {k: plain(v) for k, v in value.items() if not k.startswith("@") and v is not None}


def _foreign(value: Any) -> Any:
    """A type of a driver, told by what it can do: Neo4j's temporal values, nodes and relationships; record ids."""
    if hasattr(value, "iso_format"):
        return value.iso_format()
    if hasattr(value, "labels") and hasattr(value, "items"):
        return {"label": next(iter(value.labels), "")} | {k: plain(v) for k, v in sorted(value.items())}
    if hasattr(value, "type") and hasattr(value, "items"):
        return {"type": value.type} | {k: plain(v) for k, v in sorted(value.items())}
    return str(value)


_encoded = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode


def digest(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return a short SHA-256 of rows, equal for equal rows in any order, on any store.

    Lists inside a row count as bags: stores collect them in no promised order. Floats count to nine digits.

    Example:
        >>> digest([{"id": "b"}, {"id": "a"}]) == digest([{"id": "a"}, {"id": "b"}])
        True
    """
    texts = sorted(_encoded(_canonical(row)) for row in rows)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def _canonical(value: Any) -> Any:
    if type(value) in _AS_IT_IS:
        return value
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, list | tuple):
        return sorted((_canonical(inner) for inner in value), key=_encoded)
    if isinstance(value, Mapping):  # most of a row is decided here, without a call for each value
        return {key: inner if type(inner) in _AS_IT_IS else _canonical(inner) for key, inner in value.items()}
    return value
