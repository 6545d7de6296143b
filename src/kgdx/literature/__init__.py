"""Publications from PubMed: on request only, by names of the graph alone, at NCBI's pace, and never in the way."""

from __future__ import annotations

from kgdx.literature.publications import BASE_URL, Found, Literature, Publication, PubMedAccess, pubmed_access
from kgdx.literature.pubmed import PubMed

__all__ = ["BASE_URL", "Found", "Literature", "PubMed", "PubMedAccess", "Publication", "pubmed_access"]
