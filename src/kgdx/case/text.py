"""Cases from free text and from given terms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kgdx.case.model import Case, Finding, FindingReader, Issue, Status, constructor, valid
from kgdx.case.sanitise import Ancestry, sanitise, unknown
from kgdx.errors import CaseError

MAX_CHARACTERS = 1_000_000
"""Longest text taken as one case; about 400 pages."""

MAX_TERMS = 10_000
"""Most terms taken as one case; above it the input is not one patient."""


@constructor
def case_from_text(
    text: str, reader: FindingReader | None = None, *, id: str = "", source: str = "text", language: str | None = None
) -> Case:
    """Make a case from free text; with a reader, its findings are read at once.

    Raises:
        CaseError: The text is empty, too long, or (with a reader) no finding is recognised in it.

    Example:
        >>> case_from_text("She has seizures.").findings
        ()
    """
    if not text.strip():
        raise CaseError("the text is empty", hint="describe the patient in words, or give HPO terms")
    if len(text) > MAX_CHARACTERS:
        hint = f"give at most {MAX_CHARACTERS:,} characters about one patient"
        raise CaseError(f"the text has {len(text):,} characters", hint=hint)
    case = Case(id, text=valid(text), source=source)
    return (case if reader is None else read_text(case, reader, language=language)).identified()


def read_text(
    case: Case, reader: FindingReader, ancestry: Ancestry | None = None, *, language: str | None = None
) -> Case:
    """Add the findings of the case's text to those it has, and clean the result.

    Raises:
        CaseError: Neither the text nor the case holds a finding that is present or absent.
    """
    issues: tuple[Issue, ...] = ()
    if case.text:
        extraction = reader.extract(case.text, language)
        case, issues = replace(case, findings=(*case.findings, *_outer(extraction.findings))), extraction.issues
    clean = sanitise(case.with_issues(issues), reader, ancestry)
    if clean.observed or clean.excluded:
        return clean
    reasons = [issue for issue in clean.issues if issue.level == "error"]
    reasons += [issue for issue in issues if issue.level == "warning"]
    if reasons:
        raise CaseError(reasons[0].message, hint=reasons[0].remedy.removeprefix("left out; "))
    raise CaseError(
        "no finding was recognised",
        hint="name the patient's signs and symptoms in English or Chinese, or give HPO ids such as HP:0001250",
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
    """Make a case from HPO ids (also alternative or obsolete ones), labels or phrases.

    Raises:
        CaseError: No term is given, or one is unknown; the message names the nearest ones.
    """
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


def _outer(findings: tuple[Finding, ...]) -> list[Finding]:
    """Leave out present mentions inside longer ones: in "brachydactyly type C" one finding is stated, not two."""
    spans = {finding.span for finding in findings if finding.span and finding.status is Status.PRESENT}
    inner, reach = set(), -1
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if span.end <= reach:
            inner.add(span)
        reach = max(reach, span.end)
    return [finding for finding in findings if finding.status is not Status.PRESENT or finding.span not in inner]
