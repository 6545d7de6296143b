"""Cases from free text and given terms, cleaned into ones that scorers can trust; every mend is an issue.

Order: ids brought up to date, corrections put in force, duplicates joined, contradictions settled, redundant ancestors
noted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from kgdx.case.ddxplus_release import PREFIX
from kgdx.case.demographics import PersonMention, described, mentions
from kgdx.case.patient import (
    CORRECTED,
    Case,
    Extraction,
    Finding,
    FindingReader,
    Issue,
    Resolution,
    Span,
    Status,
    Unread,
    ValueJudge,
    constructor,
    valid,
)
from kgdx.case.reading_limits import limited
from kgdx.errors import CaseError
from kgdx.lazy import lazy_pattern

_JOINS = lazy_pattern(r"\b(?:and|with)\b|[+/&,，、和且及伴]")
"""What joins two things that are told together."""


class Ancestry(Protocol):
    """Knows which terms stand above a term."""

    def ancestors(self, id: str) -> frozenset[str]:
        """Ids of all terms above ``id``, without itself; empty for an unknown id."""
        ...


def sanitise(case: Case, reader: FindingReader | None = None, ancestry: Ancestry | None = None) -> Case:
    """Return the case with current ids, no duplicates and no contradictions; each change is an issue."""
    found: list[Issue] = []
    if case.measurements and isinstance(reader, ValueJudge):
        judged = reader.judge(case.measurements, case)
        case = replace(case, findings=_with_values(case.findings, judged.findings), measurements=())
        found += judged.issues
    findings = list(case.findings)
    if reader is not None:
        findings = _resolved(findings, reader, found)
    findings = _distinct(_corrected(findings, found), found)
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
    """Return the remedy that names the nearest terms of a failed look-up."""
    names = [name(finding) for finding in suggestions][:limit]
    return f"did you mean {' or '.join(names)}?" if names else "look the term up with `kgdx extract`"


def unknown(term: str, resolution: Resolution) -> CaseError:
    """Return the error for a term that the graph does not know, with what to give instead."""
    if resolution.issues and not resolution.suggestions:
        issue = resolution.issues[0]
        return CaseError(issue.message, hint=issue.remedy)
    return CaseError(f"unknown term {term[:80]!r}", hint=nearest(resolution.suggestions))


def _with_values(given: tuple[Finding, ...], judged: tuple[Finding, ...]) -> tuple[Finding, ...]:
    values = {(finding.id, finding.status): finding for finding in judged}
    joined = []
    for finding in given:
        own = values.pop((finding.id, finding.status), None)
        joined.append(replace(finding, value=own.value, unit=own.unit, range=own.range) if own else finding)
    return (*joined, *values.values())


def _resolved(findings: Iterable[Finding], reader: FindingReader, found: list[Issue]) -> list[Finding]:
    kept = []
    for finding in findings:
        # what was read from text or asked about is current by construction, and codes of DDXPlus are no terms of HPO
        if finding.span is not None or finding.method == "asked" or finding.id.startswith(PREFIX):
            kept.append(finding)
            continue
        resolution = reader.resolve(finding.id)
        if resolution.finding is None:
            error = unknown(finding.id, resolution if resolution.suggestions else _by_label(finding, reader))
            found.append(Issue("error", finding.text or finding.id, error.message, f"left out; {error.hint}"))
            continue
        found.extend(resolution.issues)
        current = resolution.finding
        same = finding.id == current.id and finding.label == (current.label or finding.label)
        kept.append(finding if same else replace(finding, id=current.id, label=current.label or finding.label))
    return kept


def _by_label(finding: Finding, reader: FindingReader) -> Resolution:
    found = reader.resolve(finding.label) if finding.label else Resolution()
    near = (found.finding,) if found.finding is not None else ()
    return Resolution(None, (), (*near, *found.suggestions))


def _corrected(findings: list[Finding], found: list[Issue]) -> list[Finding]:
    corrections = {finding.id: finding for finding in findings if finding.method == CORRECTED}
    kept = []
    for finding in findings:
        correction = corrections.get(finding.id)
        if correction is None or finding.method == CORRECTED or finding.status in (correction.status, Status.FAMILY):
            kept.append(finding)
            continue
        message = f"{name(finding)} is read as {finding.status}"
        found.append(Issue("info", finding.id, message, f"taken as {correction.status}, as it was corrected"))
        if correction.span is None:
            corrections[finding.id] = replace(correction, span=finding.span, text=finding.text)
    return [corrections[each.id] if each.method == CORRECTED else each for each in kept]


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


MAX_CHARACTERS = 1_000_000
"""Longest text taken as one case; about 400 pages."""

MAX_TERMS = 10_000
"""Most terms taken as one case; above it the input is not one patient."""


@constructor
def case_from_text(
    text: str, reader: FindingReader | None = None, *, id: str = "", source: str = "text", language: str | None = None
) -> Case:
    """Make a case from free text; with a reader, its findings are read at once."""
    if not text.strip():
        raise CaseError("the text is empty", hint="describe the patient in words, or give HPO terms")
    if len(text) > MAX_CHARACTERS:
        hint = f"give at most {MAX_CHARACTERS:,} characters about one patient"
        raise CaseError(f"the text has {len(text):,} characters", hint=hint)
    case = Case(id, text=valid(text), source=source)
    return (case if reader is None else read_text(case, reader, language=language)).identified()


def read_text(
    case: Case,
    reader: FindingReader,
    ancestry: Ancestry | None = None,
    *,
    language: str | None = None,
    words: bool = False,
) -> Case:
    """Add the findings of the case's text to those it has, and who the patient is; clean the result."""
    issues: tuple[Issue, ...] = ()
    if case.text and case.source != CORRECTED:
        with limited():
            said = mentions(case.text)
            case = described(case, said)
            extraction = reader.extract(case.text, language, case)
        case, issues = replace(case, findings=(*case.findings, *_outer(extraction.findings))), extraction.issues
        case = replace(case, unread=(*case.unread, *_unread(said, extraction)))
    clean = sanitise(case.with_issues(issues), reader, ancestry)
    if clean.observed or clean.excluded or (words and (case.text or case.phrases)):
        return clean
    reasons = [issue for issue in clean.issues if issue.level == "error"]
    reasons += [issue for issue in issues if issue.level == "warning"]
    if reasons:
        raise CaseError(reasons[0].message, hint=reasons[0].remedy.removeprefix("left out; "))
    raise CaseError(
        "no finding was recognised",
        hint="name the patient's signs and symptoms in English or Chinese, or give HPO ids such as HP:0001250",
    )


def _unread(mentioned: Iterable[PersonMention], extraction: Extraction) -> tuple[Unread, ...]:
    said = [each.span for each in mentioned]
    return tuple(
        part
        for part in extraction.unread
        if not any(each.start <= part.start and part.end <= each.end for each in said)
    )


@constructor
def case_from_terms(
    terms: Iterable[str],
    reader: FindingReader,
    excluded: Iterable[str] = (),
    *,
    id: str = "",
    ancestry: Ancestry | None = None,
) -> Case:
    """Make a case from HPO ids (also alternative or obsolete ones), labels or phrases."""
    asked = [(term, Status.PRESENT) for term in terms] + [(term, Status.ABSENT) for term in excluded]
    if not asked:
        raise CaseError("no term is given", hint="give HPO ids such as HP:0001250, or labels such as Seizure")
    if len(asked) > MAX_TERMS:
        raise CaseError(f"{len(asked):,} terms are given", hint=f"give at most {MAX_TERMS:,} terms of one patient")
    findings: list[Finding] = []
    issues: list[Issue] = []
    for term, status in asked:
        resolution = reader.resolve(term.strip())
        if resolution.finding is None:
            raise unknown(term.strip(), resolution)
        issues.extend(resolution.issues)
        findings.append(replace(resolution.finding, status=status, text=term.strip(), span=None))
    return sanitise(Case(id, tuple(findings), issues=tuple(issues)), None, ancestry).identified()


def with_terms(
    case: Case,
    reader: FindingReader,
    observed: Iterable[str] = (),
    excluded: Iterable[str] = (),
    withdrawn: Iterable[str] = (),
) -> Case:
    """Return a case with terms that outweigh what its source says of them, or what is read of them in its text."""
    stated = ((Status.UNKNOWN, withdrawn), (Status.ABSENT, excluded), (Status.PRESENT, observed))
    seen: dict[str, Status] = {}
    for status, terms in stated:
        for term in terms:
            given = case_from_terms([term], reader)
            found = given.findings[0]
            if seen.setdefault(found.id, status) is not status:
                message = f"{name(found)} is given both as {status} and as {seen[found.id]}"
                case = case.with_issues([Issue("warning", found.id, message, f"kept as {status}")])
            method = CORRECTED if case.text else found.method
            case = case.with_finding(replace(found, status=status, method=method)).with_issues(given.issues)
    return case


def _outer(findings: tuple[Finding, ...]) -> list[Finding]:
    """Leave out what is only a part of how another finding is told, as the faint of "felt faint".

    Where the other one joins two things, the part is a finding of its own: "tender with guarding in the right iliac
    fossa".
    """
    present = (each for each in findings if each.status is Status.PRESENT and not _JOINS.search(each.text))
    inner = inner_spans(each.span for each in present if each.span)
    return [finding for finding in findings if finding.status is not Status.PRESENT or finding.span not in inner]


def inner_spans(spans: Iterable[Span]) -> set[Span]:
    """Return the spans that lie within a longer one."""
    inner, reach = set(), -1
    for span in sorted(set(spans), key=lambda span: (span.start, -span.end)):
        if span.end <= reach:
            inner.add(span)
        reach = max(reach, span.end)
    return inner
