"""What was read from a patient's words, with its places, and what was not."""

from __future__ import annotations

from dataclasses import dataclass

from kgdx.case.measured_values import Range
from kgdx.case.patient import Case, Finding, Status


@dataclass(frozen=True, slots=True)
class ReadFinding:
    """A finding of the patient, with its place in the text.

    Attributes:
        id: HPO CURIE, or the id that was given.
        label: The ontology's name of it.
        status: Present, absent, unknown, in the family, or hypothetical.
        start: Where it begins in the text; nothing where it was given as a term.
        end: Where it ends.
        text: The words that it was read from.
        value: The number that was measured, where the text gives one.
        unit: Its unit, as it is written; where it is left out, the one that it must be in.
        range: The usual values that it was judged by, and where they come from.
    """

    id: str
    label: str
    status: Status
    start: int | None = None
    end: int | None = None
    text: str = ""
    value: float | None = None
    unit: str = ""
    range: Range | None = None

    @classmethod
    def of(cls, finding: Finding) -> ReadFinding:
        start, end = (finding.span.start, finding.span.end) if finding.span else (None, None)
        words = finding.text, finding.value, finding.unit, finding.range
        return cls(finding.id, finding.label, finding.status, start, end, *words)


@dataclass(frozen=True, slots=True)
class UnreadText:
    """A part of the text in which nothing was read, or a measured value that no finding takes up.

    Attributes:
        start: Where it begins in the text.
        end: Where it ends.
        text: Its words, where they are asked for: they are the patient's own.
        note: Why it is named here.
        value: The number that was measured.
        unit: Its unit, as it is written.
    """

    start: int
    end: int
    text: str = ""
    note: str = ""
    value: float | None = None
    unit: str = ""


def unread_texts(case: Case, *, words: bool = False) -> tuple[UnreadText, ...]:
    """Return what was not read of a case's text.

    Example:
        >>> from kgdx.case.patient import Unread
        >>> unread_texts(Case("p", text="odd feeling", unread=(Unread(0, 3),)), words=True)[0].text
        'odd'
    """
    found = []
    for each in case.unread:
        said = case.text[each.start : each.end] if words else ""
        found.append(UnreadText(each.start, each.end, said, each.note, each.value, each.unit))
    return tuple(found)
