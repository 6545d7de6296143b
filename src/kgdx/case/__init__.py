"""Cases: what is known of a patient, and how it is read, cleaned and written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgdx.lazy import names_of

if TYPE_CHECKING:
    from kgdx.case.about import About, GeneNames, with_person
    from kgdx.case.case_files import Failure, case_from_document, names_file, one_case, parse_cases, read_cases
    from kgdx.case.case_json import case_from_json, case_from_osce, case_to_json
    from kgdx.case.cleaning import Ancestry, case_from_terms, case_from_text, read_text, sanitise, with_terms
    from kgdx.case.gene_files import read_genes
    from kgdx.case.measured_values import Measurement, Range
    from kgdx.case.patient import Case, Extraction, Finding, FindingReader, Issue, Resolution, Span, Status, Unread
    from kgdx.case.person import CandidateGene, Family, GeneEvidence
    from kgdx.case.phenopacket import case_from_phenopacket, case_to_phenopacket

__all__ = ["About", "Ancestry", "CandidateGene", "Case", "Extraction", "Failure", "Family", "Finding", "FindingReader"]
__all__ += ["GeneEvidence", "GeneNames", "Issue", "Measurement", "Range", "Resolution", "Span", "Status", "Unread"]
__all__ += ["case_from_document", "case_from_json", "case_from_osce", "case_from_phenopacket", "case_from_terms"]
__all__ += ["case_from_text", "case_to_json", "case_to_phenopacket", "names_file", "one_case", "parse_cases"]
__all__ += ["read_cases", "read_genes", "read_text", "sanitise", "with_person", "with_terms"]

__getattr__ = names_of(
    "kgdx",
    {
        "case.about": "About GeneNames with_person",
        "case.case_files": "Failure case_from_document names_file one_case parse_cases read_cases",
        "case.case_json": "case_from_json case_from_osce case_to_json",
        "case.cleaning": "Ancestry case_from_terms case_from_text read_text sanitise with_terms",
        "case.gene_files": "read_genes",
        "case.measured_values": "Measurement Range",
        "case.patient": "Case Extraction Finding FindingReader Issue Resolution Span Status Unread",
        "case.person": "CandidateGene Family GeneEvidence",
        "case.phenopacket": "case_from_phenopacket case_to_phenopacket",
    },
)
