"""Evidence paths: from the case over its findings and the ontology to a disease's annotations, and back.

Each path is built from rows of the evidence templates, so that the same template shows it in any store.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgdx.results.ranked import EvidencePath, Kind, PathNode, PathRelation, frequency_text

__all__ = ["EDGE_PROPERTIES", "EvidencePath", "Kind", "PathNode", "PathRelation", "frequency_text", "references"]

EDGE_PROPERTIES = (
    "frequency",
    "numerator",
    "denominator",
    "percentage",
    "frequency_class",
    "onset",
    "sex",
    "modifiers",
    "evidence",
    "reference",
    "source",
)
"""Properties of an annotation that its path carries, as far as its template returns them."""


def references(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Split an annotation's verbatim reference list.

    Example:
        >>> references({"reference": "PMID:1;OMIM:2"})
        ('PMID:1', 'OMIM:2')
    """
    parts = (part.strip() for part in (row.get("reference") or "").split(";"))
    return tuple(dict.fromkeys(part for part in parts if part))
