"""How a text qualifies its findings: how bad, on which side, how long and in what course; English and Chinese.

Words of degree and side belong to the finding that they stand beside, a duration to the findings of its clause, or of
its sentence where that has no other; one in a finding's own words (吸烟30年) to that alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from kgdx.case.ages import NUMBER, han_number, number_of
from kgdx.case.patient import Finding, Status
from kgdx.lazy import lazy_pattern
from kgdx.terms.normalise import read_table, simplify

ACUTE, SUBACUTE, CHRONIC = "HP:0011009", "HP:0011011", "HP:0011010"
_CONGENITAL = "HP:0003577"
_FEW = {"a": 1, "an": 1, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3, "several": 4}
_FEW |= {"半": 0, "数": 3, "几": 3}
_N = rf"(?:a couple of|couple of|a few|few|several|an?|{NUMBER})"
_UNIT = r"(?:minutes?|mins?|hours?|hrs?|h|days?|d|weeks?|wks?|months?|mths?|years?|yrs?)"
_ABOUT = r"(?:(?:the|past|last|about|nearly|almost)\s+){0,3}"
_WHEN = "this morning|last night|yesterday|the weekend|today|tonight|last week|last month|last year"
LASTING = lazy_pattern(
    rf"\b(?:(?:for|over|past|last|x|since|these|this|about)\s+{_ABOUT}(?P<n>{_N})[\s-]*(?P<unit>{_UNIT})"
    rf"|(?P<m>{_N})[\s-]*(?P<munit>{_UNIT})['’]?\s*(?:history|hx|of|ago|duration|now|after|earlier)"
    r"|(?P<of>\d{1,2})/(?P<in>7|52|12)(?!\s*\d|/)"
    rf"|(?:since|from)\s+(?P<when>{_WHEN}|birth|childhood|infancy)"
    r"|(?P<alone>this morning|last night|yesterday|overnight))\b"
    r"|(?P<han>\d{1,3}|[一二两三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九半数几])\s*[余多来]?\s*"
    r"(?P<zh>个?小时|分钟|天|日|周|个?星期|个?多?月|年)(?!\s*(?:级|龄|岁|内|一次|[0-9一二两三四]次|前手术))"
    r"|(?P<zhwhen>今晨|今早|今天|昨晚|昨夜|昨天|昨日|前天|自幼|从小|出生)",
    re.IGNORECASE,
)
_ACUTE_DAYS, _CHRONIC_DAYS = 28, 90
_STOP = lazy_pattern(r"[.;!?](?=\s|$)|[。；！？]|\n")
_COMMA = lazy_pattern(r"[,，、]|\b(?:and|but|with|then|after|for|since)\b|伴|但")
_NEAR, _NEAR_ZH = 24, 6
_Time = tuple[int, int, str, str, tuple[int, int] | None]
"""Where a duration stands, what it is and says, and the finding in which it stands."""
_HAN_SIGN = lazy_pattern("[\u4e00-\u9fff]")


def _number(said: str) -> float:
    low = " ".join(said.lower().split())
    return _FEW[low] if low in _FEW else number_of(low) if low.isascii() else han_number(low)


def duration(said: str) -> str:
    """Return how long ago or how long something has been as an ISO 8601 duration, empty where that is not said."""
    found = LASTING.search(said)
    return _duration(found) if found else ""


def _duration(found: re.Match[str]) -> str:
    if when := found["when"] or found["alone"] or found["zhwhen"]:
        return next(iter(_read("since", when)), "")
    if found["of"]:
        return f"P{int(found['of'])}{ {'7': 'D', '52': 'W', '12': 'M'}[found['in']] }"
    count = found["n"] or found["m"] or found["han"]
    (unit,) = _read("unit", found["unit"] or found["munit"] or found["zh"])
    value = _number(count)
    if not value:
        value, unit = {"TH": (30, "TM"), "D": (12, "TH"), "W": (3, "D"), "M": (2, "W"), "Y": (6, "M")}.get(
            unit, (1, unit)
        )
    return f"P{'T' if unit[0] == 'T' else ''}{int(value) or 1}{unit[-1]}"


def days_of(since: str) -> float | None:
    """Return an ISO 8601 duration in days."""
    found = re.fullmatch(r"P(T?)(\d+)([YMWDH])", since)
    if not found:
        return None
    days = {"Y": 365.25, "M": 30.4, "W": 7.0, "D": 1.0, "H": 1 / 24}[found[3]]
    return int(found[2]) * (1 / 1440 if found[1] and found[3] == "M" else days)


def qualified(text: str, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings, those that are present each with severity, modifiers and since when it has been."""
    plain = simplify(text)
    stops = [0, *(match.end() for match in _STOP.finditer(plain)), len(text)]
    spans = sorted(ends(each) for each in findings if each.span)
    starts, times = [start for start, _ in spans], []
    for match in LASTING.finditer(plain):
        at = bisect_right(starts, match.start()) - 1
        owner = spans[at] if at >= 0 and match.end() <= spans[at][1] else None
        times.append((match.start(), match.end(), _duration(match), match.group(), owner))
    begins = [start for start, *_ in times]
    return tuple(_qualified(plain, each, starts, stops, times, begins) for each in findings)


def _qualified(
    text: str,
    finding: Finding,
    starts: Sequence[int],
    stops: Sequence[int],
    times: Sequence[_Time],
    begins: Sequence[int],
) -> Finding:
    if finding.span is None or finding.status is not Status.PRESENT:
        return finding
    at = bisect_left(stops, finding.span.end)
    low, high = stops[max(0, at - 1)], stops[min(at, len(stops) - 1)]
    if low > finding.span.start:
        low = stops[max(0, at - 2)]
    near = _NEAR_ZH if _HAN_SIGN.search(text, *ends(finding)) else _NEAR
    before = _COMMA.split(text[max(low, finding.span.start - near) : finding.span.start])[-1]
    after = _COMMA.split(text[finding.span.end : min(high, finding.span.end + near)])[0]
    said = text[finding.span.start : finding.span.end]
    beside = f"{before}{said}{after}"
    clause = text[max(low, finding.span.start - 80) : min(high, finding.span.end + 80)]
    modifiers = _read("side", beside)[:1]
    course = clause if bisect_left(starts, high) - bisect_left(starts, low) < 2 else beside
    modifiers += _read("course", course)
    said_near = times[bisect_left(begins, low) : bisect_left(begins, high)]
    inside = (time for time in said_near if time[4] in (None, ends(finding)))
    since = min(inside, key=lambda time: _apart(finding, time), default=None)
    severity = next(iter(_read("severity", beside)), "")
    if since is not None and not since[2]:
        born = since[3].lower().endswith("birth") or since[3] == "出生"
        onset = _CONGENITAL if born else finding.onset
        return replace(finding, severity=severity, modifiers=tuple(modifiers), onset=onset)
    lasted = since[2] if since else ""
    days = days_of(lasted)
    if days is not None and CHRONIC not in modifiers and ACUTE not in modifiers:
        modifiers += [ACUTE] if days < _ACUTE_DAYS else [CHRONIC] if days >= _CHRONIC_DAYS else [SUBACUTE]
    return replace(finding, severity=severity, modifiers=tuple(dict.fromkeys(modifiers)), since=lasted)


def ends(finding: Finding) -> tuple[int, int]:
    """Return where a finding starts and ends in its text."""
    return (finding.span.start, finding.span.end) if finding.span else (0, 0)


def _apart(finding: Finding, time: _Time) -> int:
    start, end = ends(finding)
    return max(time[0] - end, start - time[1], 0)


def _read(kind: str, said: str) -> list[str]:
    return [id for id, pattern in _patterns()[kind] if pattern.search(said)]


@cache
def _patterns() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    found: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for kind, id, _, pattern in read_table(Path(__file__).with_name("qualifiers.tsv")):
        found.setdefault(kind, []).append((id, re.compile(pattern, re.IGNORECASE)))
    found["severity"].reverse()
    return found
