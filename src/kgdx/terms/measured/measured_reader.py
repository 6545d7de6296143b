"""Laboratory values and measurements of a text as findings, each with its value and the range it was judged by."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from kgdx.case.measured_values import Measurement
from kgdx.case.patient import Case, Finding, Issue, Span, Status
from kgdx.case.person import years_of
from kgdx.lazy import lazy_pattern
from kgdx.terms.context import statuses
from kgdx.terms.measured.amounts import Measure
from kgdx.terms.measured.analytes import AnalyteTerm
from kgdx.terms.measured.judging import Person, Verdict, judged, named
from kgdx.terms.measured.spotting import AnalyteMention, spotted
from kgdx.terms.measured.statements import MeasuredStatement, joined, stated

if TYPE_CHECKING:
    from kgdx.terms.phenotypes import Terms

_OTHERS = (Status.FAMILY, Status.UNKNOWN, Status.HYPOTHETICAL)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was read of a text's values."""

    findings: tuple[Finding, ...] = ()
    issues: tuple[Issue, ...] = ()
    measures: tuple[Measure, ...] = ()


class AnalyteReading(NamedTuple):
    """A name of an analyte with what the text says of it."""

    mention: AnalyteMention
    statement: MeasuredStatement

    @property
    def span(self) -> tuple[int, int]:
        begin = self.statement.start if 0 <= self.statement.start < self.mention.start else self.mention.start
        return begin, max(self.mention.end, self.statement.end)


def read_measured(text: str, person: Person) -> Measured:
    said = values_said(text)
    return judged_values(text, said, statuses(text, [each.span for each in said]), person)


def judged_values(text: str, said: Sequence[AnalyteReading], told: Sequence[Status], person: Person) -> Measured:
    """Return what the values of a text come to."""
    findings: list[Finding] = []
    issues: list[Issue] = []
    measures: list[Measure] = []
    for each, status in zip(said, told, strict=True):
        verdict = _best(each.mention, each.statement, person)
        place = Span(*each.span)
        if verdict.present or verdict.absent:
            findings += _findings(text, place, verdict, _status(status, each.statement))
        elif each.statement.value:
            measures.append(_measure(each.statement, verdict))
        if issue := _issue(place, verdict):
            issues.append(issue)
    return Measured(tuple(findings), tuple(dict.fromkeys(issues)), tuple(measures))


def values_said(text: str) -> list[AnalyteReading]:
    """Return each name of an analyte with what is said of it; what is said of a list holds for all of its names."""
    mentions = spotted(text)
    own: list[MeasuredStatement] = []
    said: list[AnalyteReading] = []
    floor = 0
    for number, mention in enumerate(mentions):
        limit = mentions[number + 1].start if number + 1 < len(mentions) else len(text)
        own.append(stated(text, mention.start, mention.end, floor, limit))
        floor = own[-1].end
    for number, mention in enumerate(mentions):
        statement = own[number] if own[number].says else _shared(text, mentions, own, number)
        if statement.second and _slashed(text, mentions, own, number):
            statement = replace(statement, value=statement.second, second="")
        letter = mention.end - mention.start == 1 and text[mention.start] != "K"
        if statement.value or (statement.direction and not letter):
            said.append(AnalyteReading(mention, statement))
    return said


def _shared(
    text: str, mentions: Sequence[AnalyteMention], own: Sequence[MeasuredStatement], number: int
) -> MeasuredStatement:
    for other in range(number + 1, len(mentions)):
        if not joined(text[mentions[other - 1].end : mentions[other].start]):
            break
        if own[other].says:
            if other == number + 1 and own[other].second and _slashed(text, mentions, own, other):
                return replace(own[other], second="")
            if own[other].start >= 0 or own[other].value or not own[other].direction:
                break
            return MeasuredStatement(mentions[number].end, direction=own[other].direction)
    for other in range(number - 1, -1, -1):
        if not joined(text[mentions[other].end : mentions[other + 1].start]):
            break
        if own[other].says:
            if own[other].start < 0 or own[other].value:
                break
            return MeasuredStatement(mentions[number].end, direction=own[other].direction)
    return MeasuredStatement(mentions[number].end)


def _slashed(text: str, mentions: Sequence[AnalyteMention], own: Sequence[MeasuredStatement], number: int) -> bool:
    before = number - 1
    if before < 0 or own[before].says or mentions[number].analytes[0].pair:
        return False
    return text[mentions[before].end : mentions[number].start].strip() == "/"


def _best(mention: AnalyteMention, statement: MeasuredStatement, person: Person) -> Verdict:
    every = [judged(analyte, statement, person) for analyte in mention.analytes]
    if len(every) == 1:
        return every[0]
    fitting = [verdict for verdict in every if not verdict.problem]
    told = {(verdict.present, verdict.absent) for verdict in fitting}
    if len(told) == 1 or (fitting and not statement.value):
        return fitting[0]
    return Verdict(problem=f"it may be {' or '.join(map(named, mention.analytes))}" if fitting else "")


def _status(told: Status, statement: MeasuredStatement) -> Status | None:
    if told in _OTHERS:
        return told
    return Status.ABSENT if told is Status.ABSENT and not statement.value else None


def _findings(text: str, place: Span, verdict: Verdict, status: Status | None) -> Iterator[Finding]:
    words = text[place.start : place.end]

    def finding(term: AnalyteTerm, said: Status) -> Finding:
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


def _measure(statement: MeasuredStatement, verdict: Verdict) -> Measure:
    try:
        value = None if statement.second else float(statement.value.replace(",", ""))
    except ValueError:
        value = None
    start, end = statement.place
    note = {"note": verdict.problem} if verdict.problem else {}
    return Measure(Span(start, end), value, statement.unit, **note)


def _issue(place: Span, verdict: Verdict) -> Issue | None:
    where = f"characters {place.start}-{place.end}"
    if verdict.problem and verdict.remedy:
        return Issue("warning", where, verdict.problem, verdict.remedy)
    return Issue("info", where, verdict.note, "check that it is meant") if verdict.note else None


_LOINC = lazy_pattern(r"\s*\[[^]]*\].*?(?:\bin (?P<where>[A-Z].*))?$")
_SPECIMENS = (("Cerebral", "CSF"), ("Urine", "urine"), ("Stool", "stool"), ("Sweat", "sweat"))


def judged_measurement(measurement: Measurement, person: Person) -> Measured:
    """Return what a value that a source gives in fields comes to, as it would in a text; findings without a place."""
    match = _LOINC.search(measurement.label)
    name = measurement.label[: match.start()] if match else measurement.label
    where = (match and match["where"]) or ""
    specimen = next((f"{said} " for kind, said in _SPECIMENS if where.startswith(kind)), "")
    value = f"{measurement.value:g}" if isinstance(measurement.value, float) else measurement.value
    text = f"{specimen}{name} {value} {measurement.unit}".rstrip()
    low, high = measurement.low, measurement.high
    if low is not None and high is not None:
        text += f" ({low:g}-{high:g})"
    elif low is not None or high is not None:
        text += f" (<{high:g})" if low is None else f" (>{low:g})"
    read = read_measured(text, person)
    issues = [replace(issue, where=name[:60]) for issue in read.issues]
    if not read.findings and not issues:
        remedy = "it was not used; give the finding as an HPO id"
        issues.append(Issue("info", name[:60], f"the measurement {name[:60]!r} comes to no finding", remedy))
    return Measured(tuple(replace(each, span=None) for each in read.findings), tuple(issues))


def person_of(case: Case) -> Person:
    """Return of whom the values of a case are.

    Example:
        >>> person_of(Case("p", age="P7Y", sex="MALE"))
        Person(age=7.0, sex='MALE')
    """
    return Person(years_of(case.age), case.sex)


def combined(named: Sequence[Finding], measured: Sequence[Finding], terms: Terms) -> tuple[Finding, ...]:
    """Return findings that a text names and those that its values come to, in its order, each place read once."""
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
    if measured.value is not None or measured.span is None:
        return False
    start, end = measured.span.start, measured.span.end
    spans = (each.span for each in named if each.id != measured.id)
    return any(
        span and span.start <= start and end <= span.end and span.end - span.start > end - start for span in spans
    )
