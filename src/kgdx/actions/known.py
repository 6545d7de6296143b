"""What an episode comes to know beside rows: resolved names, descriptions, citations, and the answer with its marks."""

from __future__ import annotations

from kgdx.results.cited import (
    UNSUPPORTED,
    Citation,
    CitedText,
    Description,
    MeshHeading,
    Resolved,
    Sentence,
)

__all__ = ["UNSUPPORTED", "Citation", "CitedText", "Description", "MeshHeading", "Resolved", "Sentence"]
