"""Cleaning a case into one that scorers can trust, every mend recorded as an issue (the habit of LIRICAL's sanitisers).

Order: ids brought up to date, duplicates joined, contradictions settled, redundant ancestors noted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from kgdx.case.model import Case, Finding, FindingReader, Issue, Resolution, Status
from kgdx.errors import CaseError


class Ancestry(Protocol):
    """Knows which terms stand above a term."""

    def ancestors(self, id: str) -> frozenset[str]:
        """Ids of all terms above ``id``, without itself; empty for an unknown id."""
        ...


def sanitise(case: Case, reader: FindingReader | None = None, ancestry: Ancestry | None = None) -> Case:
    """Return the case with current ids, no duplicates and no contradictions; each change is an issue.

    Args:
        case: Any case.
        reader: Resolves ids; without one they are taken as they are.
        ancestry: Knows the is-a hierarchy; without one only equal ids can contradict each other.

    Example:
        >>> doubled = Case("p", (Finding("HP:0001250"), Finding("HP:0001250")))
        >>> [issue.message for issue in sanitise(doubled).issues]
        ['HP:0001250 is given more than once']
    """
    found: list[Issue] = []
    findings = list(case.findings)
    if reader is not None:
        findings = _resolved(findings, reader, found)
    findings = _distinct(findings, found)
    findings = _consistent(findings, found)
    if ancestry is not None:
        findings = _settled(findings, ancestry, found)
    return replace(case, findings=tuple(findings)).with_issues(issue for issue in found if issue not in case.issues)


def name(finding: Finding) -> str:
    """Return how a message calls a finding: its label and id.

    Example:
        >>> name(Finding("HP:0001250", label="Seizure"))
        'Seizure (HP:0001250)'
    """
    return f"{finding.label} ({finding.id})" if finding.label else finding.id


def nearest(suggestions: Iterable[Finding], limit: int = 3) -> str:
    """Return the remedy that names the nearest terms of a failed look-up.

    Example:
        >>> nearest([Finding("HP:0001250", label="Seizure")])
        'did you mean Seizure (HP:0001250)?'
    """
    names = [name(finding) for finding in suggestions][:limit]
    return f"did you mean {' or '.join(names)}?" if names else "look the term up with `kgdx extract`"


def unknown(term: str, resolution: Resolution) -> CaseError:
    """Return the error for a term that the graph does not know, with what to give instead.

    Example:
        >>> str(unknown("HP:9", Resolution()))
        "unknown term 'HP:9': look the term up with `kgdx extract`"
    """
    if resolution.issues and not resolution.suggestions:
        issue = resolution.issues[0]
        return CaseError(issue.message, hint=issue.remedy)
    return CaseError(f"unknown term {term[:80]!r}", hint=nearest(resolution.suggestions))


def _resolved(findings: Iterable[Finding], reader: FindingReader, found: list[Issue]) -> list[Finding]:
    kept = []
    for finding in findings:
        if finding.span is not None:  # read from text by the extractor: current by construction
            kept.append(finding)
            continue
        resolution = reader.resolve(finding.id)
        if resolution.finding is None:
            error = unknown(finding.id, resolution if resolution.suggestions else _by_label(finding, reader))
            found.append(Issue("error", finding.text or finding.id, error.message, f"left out; {error.hint}"))
            continue
        found.extend(resolution.issues)
        current = resolution.finding
        kept.append(replace(finding, id=current.id, label=current.label or finding.label))
    return kept


def _by_label(finding: Finding, reader: FindingReader) -> Resolution:
    """What the label that came with an unknown id would stand for: a suggestion, not a replacement."""
    found = reader.resolve(finding.label) if finding.label else Resolution()
    near = (found.finding,) if found.finding is not None else ()
    return Resolution(None, (), (*near, *found.suggestions))


def _distinct(findings: Iterable[Finding], found: list[Issue]) -> list[Finding]:
    kept: dict[tuple[str, Status], Finding] = {}
    for finding in findings:
        key = (finding.id, finding.status)
        if key not in kept:
            kept[key] = finding
        elif finding.span is None:  # a text may well name a finding twice; a list should not
            issue = Issue("info", finding.id, f"{name(finding)} is given more than once", "counted once")
            if issue not in found:
                found.append(issue)
    return list(kept.values())


def _consistent(findings: list[Finding], found: list[Issue]) -> list[Finding]:
    """Presence outweighs absence and doubt: what was seen once is the patient's, what was not seen may have come later.

    What a relative has contradicts nothing.
    """
    present = {finding.id for finding in findings if finding.status is Status.PRESENT}
    kept = []
    for finding in findings:
        if finding.status not in (Status.PRESENT, Status.FAMILY) and finding.id in present:
            if finding.status is Status.ABSENT:
                message = f"{name(finding)} is given both as present and as absent"
                found.append(Issue("warning", finding.id, message, "kept as present; correct the case if it is absent"))
            continue
        kept.append(finding)
    return kept


def _settled(findings: list[Finding], ancestry: Ancestry, found: list[Issue]) -> list[Finding]:
    present = {finding.id: finding for finding in findings if finding.status is Status.PRESENT}
    below: dict[str, Finding] = {}
    for finding in present.values():
        for ancestor in ancestry.ancestors(finding.id):
            below.setdefault(ancestor, finding)
    kept = []
    for finding in findings:
        specific = below.get(finding.id)
        if specific is not None and finding.status is Status.ABSENT:
            message = f"{name(finding)} is given as absent, but {name(specific)}, a kind of it, as present"
            found.append(Issue("warning", finding.id, message, "the absence was left out"))
            continue
        if specific is not None and finding.status is Status.PRESENT:
            message = f"{name(finding)} is implied by {name(specific)}"
            found.append(Issue("info", finding.id, message, "kept; it adds little evidence of its own"))
        kept.append(finding)
    return kept
