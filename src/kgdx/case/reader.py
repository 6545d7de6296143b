"""What the case room asks of whoever reads words: the protocol, and the results that it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from kgdx.case.model import Finding, Issue


@dataclass(frozen=True, slots=True)
class Extraction:
    """Findings read from a free text, in the order of the text, with what was doubtful about it.

    Example:
        >>> Extraction().findings
        ()
    """

    findings: tuple[Finding, ...] = ()
    issues: tuple[Issue, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolution:
    """What one given term stands for.

    Attributes:
        finding: The current term, present; ``None`` when nothing fits.
        issues: What had to be mended (an obsolete or alternative id, a misspelling).
        suggestions: The nearest terms, best first, when nothing fits.

    Example:
        >>> Resolution(Finding("HP:0001250", label="Seizure")).finding.label
        'Seizure'
    """

    finding: Finding | None = None
    issues: tuple[Issue, ...] = ()
    suggestions: tuple[Finding, ...] = ()


@runtime_checkable
class FindingReader(Protocol):
    """Turns words into findings; the text room's extractor is one, and so is a graph."""

    def extract(self, text: str, language: str | None = None) -> Extraction:
        """Read all findings of a free text, in any supported language (``None``: find out which)."""
        ...

    def resolve(self, term: str) -> Resolution:
        """Find the current term for an HPO id (also an alternative or obsolete one), a label, or a phrase."""
        ...
