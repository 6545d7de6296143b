"""Answers beside findings: "Seizures: no", "fever -ve", "[x] ataxia", "发热(-)、咳嗽(+)".

The answers stand in ``context.tsv`` under the kind ``answer``. An answer holds for the finding right before it and for
those that a slash or conjunction joins with that one; a tick for the finding right behind it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kgdx.case.patient import Status
from kgdx.lazy import lazy_pattern
from kgdx.terms.normalise import CJK, read_table

_ASIDE = r"(?:[ \t]*\([^()\n]{0,30}\))?"
_PARTED = (
    r"(?:[ \t]*(?:[:：=?？|\t]|\[[ \t]*\]|\.{2,}|…|[-–—]+>)[ \t]*|[ \t][-–—]+[ \t]?|[-–—](?=nil|none|no\b|neg|absent))"
)
_BRACKET = r"[ \t]*[(（\[][ \t]*"
_STOPS = r"(?=\s*(?:[.,;，。；、\n\r|/)）\]]|$|but\b|[✓✗☐☑√□]))"
_CAPITAL = rf"(?=\s*(?:[.,;，。；、\n\r|/)）\]]|$|but\b)|\s+(?-i:[A-Z{CJK}]))"
_JOINED = lazy_pattern(r"[ \t]*(?:/|&|\+|[ \t](?:and|or|nor)[ \t]|、|及|和|与|或|均|都)[ \t]*", re.IGNORECASE)
_TICKED = lazy_pattern(r"(?:\[[ \t]*[xX✓✔√][ \t]*\]|\([ \t]*[xX✓✔√][ \t]*\)|[☑☒✓✔√■])[ \t]*$")
_TICK = lazy_pattern(r"\[[ \t]*[xX✓✔√][ \t]*\]|[☑☒✓✔√■]")
_EMPTY = lazy_pattern(r"(?:\[[ \t]*\]|\([ \t]+\)|[☐□])[ \t]*$")
_CROSSED = lazy_pattern(r"[✗✘❌][ \t]*$")
_SIGN = lazy_pattern(r"[ \t]*(?:(?P<tick>[✓✔√☑])|[✗✘❌])")
_SIGN_OR_WORD = lazy_pattern(r"[✓✔√☑✗✘❌☐□]|[^\W_]")
_BEFORE, _BEHIND = 12, 60
"""Characters that are looked at before a finding and behind it."""


@dataclass(frozen=True, slots=True)
class ChecklistAnswer:
    """What is answered of a finding.

    Attributes:
        sure: A sign parts it from the finding, so that nothing before the finding can gainsay it.
    """

    status: Status
    start: int
    end: int
    sure: bool = True


@cache
def _answers() -> dict[str, Status]:
    rows = read_table(Path(__file__).with_name("context.tsv"))
    return {phrase: Status(status) for _, kind, status, phrase in rows if kind == "answer"}


@cache
def _pattern() -> re.Pattern[str]:
    words = "|".join(re.escape(each) for each in sorted(_answers(), key=len, reverse=True))
    return re.compile(
        rf"{_ASIDE}(?:{_BRACKET}(?P<bracket>{words})[ \t]*[)）\]]"
        rf"|{_PARTED}(?P<parted>{words}){_CAPITAL}"
        rf"|{_PARTED}(?P<said>none|nil|negative|absent|den(?:y|ied|ies)|never)\b"
        rf"|[ \t]*(?P<beside>{words}){_STOPS})",
        re.IGNORECASE,
    )


def answers(text: str, spans: Sequence[tuple[int, int]]) -> Mapping[int, ChecklistAnswer]:
    """Return what is answered of findings, by the number of the span; those without an answer are left out.

    An empty box says that a finding is absent where another box is ticked.
    """
    told: dict[int, ChecklistAnswer] = {}
    empty: list[int] = []
    following: tuple[int, ChecklistAnswer | None] = (len(text) + 1, None)
    for number in sorted(range(len(spans)), key=lambda number: spans[number], reverse=True):
        start, end = spans[number]
        if end <= start:
            continue
        answer = _behind(text, end)
        if answer is None and following[1] and _JOINED.fullmatch(text, end, max(end, following[0])):
            answer = following[1]
        if answer is not None:
            told[number] = answer
        following = start, answer
        if behind := _ticked_behind(text, start, end):
            told[number] = behind
            continue
        before = text[max(0, start - _BEFORE) : start]
        if _TICKED.search(before):
            told[number] = ChecklistAnswer(Status.PRESENT, start, start)
        elif _CROSSED.search(before):
            told[number] = ChecklistAnswer(Status.ABSENT, start, start)
        elif _EMPTY.search(before):
            empty.append(number)
    if empty:
        status = Status.ABSENT if _TICK.search(text) else Status.UNKNOWN
        told.update((number, ChecklistAnswer(status, spans[number][0], spans[number][0])) for number in empty)
    return told


def _ticked_behind(text: str, start: int, end: int) -> ChecklistAnswer | None:
    found = _SIGN.match(text, end)
    first = found and _SIGN_OR_WORD.search(text, text.rfind("\n", 0, start) + 1)
    if not found or not first or not first.group().isalnum():
        return None
    return ChecklistAnswer(Status.PRESENT if found["tick"] else Status.ABSENT, found.start(), found.end())


def _behind(text: str, end: int) -> ChecklistAnswer | None:
    found = _pattern().match(text, end, min(len(text), end + _BEHIND))
    if not found:
        return None
    group = found.lastgroup or "said"
    said = found[group].lower()
    ticked = said == "x" and "[" in found.group()
    status = Status.PRESENT if ticked else Status.ABSENT if group == "said" else _answers()[said]
    return ChecklistAnswer(status, found.start(group), found.end(group), group != "beside")
