"""What was understood of a patient: findings with status and place in the text, and what was doubtful."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kgdx.case.demographics import PersonMention
from kgdx.case.patient import Extraction, Finding, Issue, Status
from kgdx.lazy import lazy_pattern
from kgdx.render.terminal.console import STYLES
from kgdx.results.ranked import CaseSummary
from kgdx.results.words import STATUS_WORDS, clean, count, person, stated_word

GUESSES = ("fuzzy", "encoder", "model")
"""Beginnings of ways of matching that a reader should check."""
READ = 40
"""Findings of a patient that a result shows."""

_ORDER = tuple(Status)
_BREAK = lazy_pattern(r"(?<!\n)\n(?!\n)")
_MARKS = {"error": ("✗", "bold red"), "warning": ("!", "yellow"), "info": ("·", "dim")}


def patient(case: CaseSummary) -> Text:
    """Return who the patient is, and how much is known: one line each."""
    ids = {status: {each.id for each in case.findings if each.status is status} for status in Status}
    known = [count(len(ids[Status.PRESENT]), "finding") + " present"]
    if ids[Status.ABSENT]:
        known.append(f"{len(ids[Status.ABSENT])} absent")
    identity = "" if case.id.startswith("case:") else clean(case.id)
    who = [part for part in (identity, *person(case)) if part]
    line = Text("Patient  ", style="bold")
    line.append(" · ".join(who) + "\n         " if who else "", style="not bold")
    return line.append(", ".join(known), style="not bold")


def patient_read(case: CaseSummary) -> list[RenderableType]:
    """Return who the patient is, and the first findings."""
    parts: list[RenderableType] = [patient(case), Text()]
    if case.findings:
        parts += [Padding(findings(case.findings, limit=READ, places=False), (0, 0, 0, 2)), Text()]
    return parts


def findings(found: Iterable[Finding], *, limit: int | None = None, places: bool = True) -> RenderableType:
    """Return a table of findings, those present first: status, term, id, the words it was read from, and where."""
    ordered = sorted(found, key=lambda finding: _ORDER.index(finding.status))
    shown = ordered[:limit]
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(ratio=3, overflow="fold")
    table.add_column(no_wrap=True, style="dim")
    table.add_column(ratio=2, overflow="fold")
    before = ""
    for finding in shown:
        word = STATUS_WORDS[finding.status]
        status = Text(word if word != before else "", style=STYLES[word])
        table.add_row(status, Text(clean(finding.label or finding.id)), finding.id, _origin(finding, places))
        before = word
    if len(ordered) == len(shown):
        return table
    return Group(table, Text(f"… and {count(len(ordered) - len(shown), 'more finding')}", style="dim"))


def issues(found: Iterable[Issue], *, limit: int = 8) -> RenderableType:
    """Return what was repaired, ignored or doubtful, one line each, the gravest first."""
    order = list(_MARKS)
    each = sorted(dict.fromkeys(found), key=lambda issue: order.index(issue.level))
    lines: list[RenderableType] = []
    for issue in each[:limit]:
        mark, style = _MARKS[issue.level]
        line = Text(f"{mark} ", style=style)
        line.append(clean(issue.message), style="not bold default")
        if issue.remedy:
            line.append(f"; {clean(issue.remedy)}", style="not bold default")
        lines.append(Padding(line, (0, 0, 0, 2)))
    if len(each) > limit:
        lines.append(Text(f"  … and {len(each) - limit} more notes", style="dim"))
    return Group(*lines)


def marked(case_text: str, found: Iterable[Finding], *, brackets: bool) -> Text:
    """Return the text with its findings marked by colour, or by brackets where there is none; paragraphs are refilled.

    Overlapping findings are marked once, by the first of them.
    """
    out = Text()
    at = 0
    case_text = _BREAK.sub(" ", case_text.replace("\r\n", " \n"))
    placed = [(f.span.start, f.span.end, f) for f in found if f.span is not None]
    for start, end, finding in sorted(placed, key=lambda place: (place[0], -place[1])):
        if start < at:
            continue
        word = STATUS_WORDS[finding.status]
        out.append(clean(case_text[at:start]))
        words = clean(case_text[start:end])
        note = "" if finding.status is Status.PRESENT else f": {word}"
        out.append(f"[{words}{note}]" if brackets else words, style=f"{STYLES[word]} underline")
        at = end
    out.append(clean(case_text[at:]))
    return out


def extraction(case_text: str, found: Extraction, person: Sequence[PersonMention], *, brackets: bool) -> Group:
    """Return what a text says: the marked text, the table of findings, who the patient is, then the notes."""
    parts: list[RenderableType] = []
    if len(case_text) <= 4000:
        parts += [marked(case_text, found.findings, brackets=brackets), Text()]
    parts.append(findings(found.findings) if found.findings else Text("No finding was recognised.", style="yellow"))
    if person:
        parts += [Text(), _stated(person)]
    if found.issues:
        parts += [Text(), issues(found.issues)]
    return Group(*parts)


def _stated(person: Iterable[PersonMention]) -> RenderableType:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    for each in person:
        place = f"“{clean(each.text)}” at {each.span.start}–{each.span.end}"
        table.add_row(each.kind, Text(stated_word(each.kind, each.value)), Text(place, style="dim"))
    return table


def _origin(finding: Finding, places: bool) -> Text:
    words = clean(" ".join(finding.text.split()))
    line = Text()
    if words and words.casefold() not in {finding.label.casefold(), finding.id.casefold()}:
        line.append(f"“{words}”")
    for said in (finding.qualified_by, finding.judged_by if finding.range is not None else ""):
        line.append(f"{' ' if line else ''}{clean(said)}" if said else "")
    if places and finding.span is not None:
        line.append(f"{' ' if line else ''}at {finding.span.start}–{finding.span.end}", style="dim")
    if finding.method.startswith(GUESSES) or (places and finding.score < 0.995):
        line.append(f"{' ' if line else ''}{finding.method} {finding.score:.0%}", style="dim")
    return line
