"""Publications from PubMed: on request only, by names of the graph alone, at NCBI's pace, and never in the way."""

from __future__ import annotations

from kgdx.literature.access import BASE_URL, PubMedAccess, pubmed_access
from kgdx.literature.model import Found, Literature, Publication
from kgdx.literature.pubmed import PubMed

__all__ = ["BASE_URL", "Found", "Literature", "PubMed", "PubMedAccess", "Publication", "pubmed_access"]
