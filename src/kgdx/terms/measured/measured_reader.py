"""Laboratory values and measurements of a text, read as findings, each with its value and the range it was judged by."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgdx.case.patient import Case, Finding, Issue, Span, Status
from kgdx.case.person import years_of
from kgdx.terms.context import statuses
from kgdx.terms.measured.amounts import Measure
from kgdx.terms.measured.analytes import Term
from kgdx.terms.measured.judging import Person, Verdict, judged, named
from kgdx.terms.measured.spotting import Mention, spotted
from kgdx.terms.measured.statements import Statement, joined, stated

if TYPE_CHECKING:
    from kgdx.terms.phenotypes import Terms

_OTHERS = (Status.FAMILY, Status.UNKNOWN, Status.HYPOTHETICAL)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was read of a text's values.

    Attributes:
        findings: Findings in the order of the text.
        issues: What was doubtful.
        measures: Values that came to nothing, each with the reason.
    """

    findings: tuple[Finding, ...] = ()
    issues: tuple[Issue, ...] = ()
    measures: tuple[Measure, ...] = ()


def read_measured(text: str, person: Person) -> Measured:
    """Read the laboratory values and measurements of a text.

    Args:
        text: English, Chinese or both.
        person: Of whom the text is, for ranges by age and sex.

    Example:
        >>> [(each.label, each.value, str(each.status)) for each in read_measured("CK 5000, K 4.1", Person()).findings]
        [('Elevated circulating creatine kinase concentration', 5000.0, 'present'),
         ('Hypokalemia', 4.1, 'absent'), ('Hyperkalemia', 4.1, 'absent')]
    """
    said = list(_statements(text))
    spans = [_span(mention, statement) for mention, statement in said]
    told = statuses(text, spans)
    findings: list[Finding] = []
    issues: list[Issue] = []
    measures: list[Measure] = []
    for (mention, statement), span, status in zip(said, spans, told, strict=True):
        verdict = _best(mention, statement, person)
        place = Span(*span)
        if verdict.present or verdict.absent:
            findings += _findings(text, place, verdict, _status(status, statement))
        elif statement.value:
            measures.append(_measure(statement, verdict))
        if issue := _issue(place, verdict):
            issues.append(issue)
    return Measured(tuple(findings), tuple(dict.fromkeys(issues)), tuple(measures))


def _statements(text: str) -> Iterator[tuple[Mention, Statement]]:
    """Each name with what is said of it; of names in a list, what is said of the first or the last holds for all."""
    mentions = spotted(text)
    own: list[Statement] = []
    floor = 0
    for number, mention in enumerate(mentions):
        limit = mentions[number + 1].start if number + 1 < len(mentions) else len(text)
        own.append(stated(text, mention.start, mention.end, floor, limit))
        floor = own[-1].end
    for number, mention in enumerate(mentions):
        statement = own[number]
        if not statement.says:
            statement = _shared(text, mentions, own, number)
        if statement.says:
            yield mention, statement


def _shared(text: str, mentions: Sequence[Mention], own: Sequence[Statement], number: int) -> Statement:
    """What is said of a name in a list: "AST, ALT and GGT were normal", "elevated AST and ALT"."""
    for other in range(number + 1, len(mentions)):
        if not joined(text[mentions[other - 1].end : mentions[other].start]):
            break
        if own[other].says:
            if own[other].start >= 0 or own[other].value or not own[other].direction:
                break
            return Statement(mentions[number].end, direction=own[other].direction)
    for other in range(number - 1, -1, -1):
        if not joined(text[mentions[other].end : mentions[other + 1].start]):
            break
        if own[other].says:
            if own[other].start < 0 or own[other].value:
                break
            return Statement(mentions[number].end, direction=own[other].direction)
    return Statement(mentions[number].end)


def _span(mention: Mention, statement: Statement) -> tuple[int, int]:
    begin = statement.start if 0 <= statement.start < mention.start else mention.start
    return begin, max(mention.end, statement.end)


def _best(mention: Mention, statement: Statement, person: Person) -> Verdict:
    """What a name means: of several analytes, the one that alone can have such a value."""
    every = [judged(analyte, statement, person) for analyte in mention.analytes]
    if len(every) == 1:
        return every[0]
    fitting = [verdict for verdict in every if not verdict.problem]
    if len(fitting) == 1:
        return fitting[0]
    return Verdict(problem=f"it may be {' or '.join(map(named, mention.analytes))}" if fitting else "")


def _status(told: Status, statement: Statement) -> Status | None:
    """What the text says of whose value it is; ``None`` where it is the patient's and stands as it was judged."""
    if told in _OTHERS:
        return told
    return Status.ABSENT if told is Status.ABSENT and not statement.value else None


def _findings(text: str, place: Span, verdict: Verdict, status: Status | None) -> Iterator[Finding]:
    words = text[place.start : place.end]

    def finding(term: Term, said: Status) -> Finding:
        return Finding(
            term.id,
            said,
            label=term.label,
            span=place,
            text=words,
            matched=term.label,
            method="measured",
            value=verdict.value,
            unit=verdict.unit,
            range=verdict.range,
        )

    if verdict.present:
        yield finding(verdict.present, status or Status.PRESENT)
    elif status in (None, Status.FAMILY):
        for term in verdict.absent if status is None else ():
            yield finding(term, Status.ABSENT)


def _measure(statement: Statement, verdict: Verdict) -> Measure:
    try:
        value = None if statement.second else float(statement.value.replace(",", ""))
    except ValueError:
        value = None
    start, end = statement.place
    note = {"note": verdict.problem} if verdict.problem else {}
    return Measure(Span(start, end), value, statement.unit, **note)


def _issue(place: Span, verdict: Verdict) -> Issue | None:
    where = f"characters {place.start}-{place.end}"
    if verdict.problem:
        return Issue("warning", where, verdict.problem, verdict.remedy or "it was not used")
    return Issue("info", where, verdict.note, "check that it is meant") if verdict.note else None


def person_of(case: Case) -> Person:
    """Return of whom the values of a case are.

    Example:
        >>> person_of(Case("p", age="P7Y", sex="MALE"))
        Person(age=7.0, sex='MALE')
    """
    return Person(years_of(case.age), case.sex)


def combined(named: Sequence[Finding], measured: Sequence[Finding], terms: Terms) -> tuple[Finding, ...]:
    """Return findings that a text names and those that its values come to, in its order, each place read once.

    Args:
        named: Findings that the text names.
        measured: Findings of its values.
        terms: The graph's terms; a finding that it does not know is left out.
    """
    kept = [each for each in measured if terms.row(each.id) is not None and not _inside(each, named)]
    starts = [each.span.start for each in kept if each.span]
    rest = []
    for finding in named:
        at = bisect_right(starts, finding.span.start) if finding.span else 0
        over = kept[at - 1].span if at else None
        if over and finding.span and finding.span.end <= over.end:
            continue
        rest.append(finding)
    return tuple(sorted([*rest, *kept], key=lambda each: (each.span.start, each.span.end) if each.span else (0, 0)))


def _inside(measured: Finding, named: Sequence[Finding]) -> bool:
    """Whether a finding in words has the name within its own: low density lipoprotein receptor deficiency."""
    if measured.value is not None or measured.span is None:
        return False
    start, end = measured.span.start, measured.span.end
    spans = (each.span for each in named if each.id != measured.id)
    return any(
        span and span.start <= start and end <= span.end and span.end - span.start > end - start for span in spans
    )
