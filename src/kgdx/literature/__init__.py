"""Publications from PubMed: on request only, by names of the graph alone, at NCBI's pace, and never in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgdx.lazy import names_of

if TYPE_CHECKING:
    from kgdx.literature.publications import BASE_URL, Found, Literature, Publication, PubMedAccess, pubmed_access
    from kgdx.literature.pubmed import PubMed

__all__ = [
    "BASE_URL",
    "Found",
    "Literature",
    "PubMed",
    "PubMedAccess",
    "Publication",
    "pubmed_access",
]

__getattr__ = names_of(
    "kgdx",
    {
        "literature.publications": "BASE_URL Found Literature Publication PubMedAccess pubmed_access",
        "literature.pubmed": "PubMed",
    },
)
