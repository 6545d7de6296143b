"""What a text says beside its findings: measured values, and the clauses in which nothing was read."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kgdx.case.patient import Finding, Unread
from kgdx.lazy import lazy_pattern
from kgdx.terms.measured.amounts import Measure, measures
from kgdx.terms.normalise import has_chinese, word_list

NOTHING = "no finding was read here"
"""Note of a clause in which nothing was read."""

_CLAUSE = lazy_pattern(r"[.!?](?=\s|$)|[;，、。！？；\n\r]|,(?!\d)")
_LINK_WORDS = "of|to|at|is|was|up|about|around|reaching|measured|max|达到?|为|约|至|最高|高达|[:=(（<>≥≤~]"
_LINK = lazy_pattern(rf"\s*(?:(?:{_LINK_WORDS})\s*){{0,3}}", re.IGNORECASE)
"""What stands between a finding and its value: fever to 39.2 °C, 发热，最高39.5℃."""
_NEAREST = 12
"""Findings before a measured value that are looked at, so that a long text takes no longer."""
_EDGES = " \t\r\n,;.:，、。；：()（）-–"
_PLAIN = word_list("plain")
_PLAIN_ZH = lazy_pattern("|".join(sorted(word_list("plain_zh"), key=len, reverse=True)))
_LATIN = lazy_pattern(r"[A-Za-z]+(?:['’][A-Za-z]+)?")
_SAYS = lazy_pattern(r"\w")


def with_values(text: str, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings, each with the measured value that the text gives right behind it."""
    known = measures(text)
    starts = [each.span.start for each in known]
    return tuple(_with_value(text, finding, known, starts) for finding in findings)


def unread(text: str, findings: Sequence[Finding], unjudged: Sequence[Measure] = ()) -> tuple[Unread, ...]:
    """Return the parts of a text in which nothing was read, in order.

    They are clauses without any finding, and measured values that no finding takes up, each with its value.
    """
    spans = sorted((each.span.start, each.span.end) for each in findings if each.span)
    valued = {(each.span.start, each.value, each.unit) for each in findings if each.span and each.unit}
    begins = [start for start, _ in spans]

    def before(measure: Measure) -> Sequence[tuple[int, int]]:
        at = bisect_left(begins, measure.span.end)
        return spans[max(0, at - _NEAREST) : at]

    kept = [each for each in _measures(text, unjudged) if not _taken(text, each, before(each), valued)]
    places = [each.span.start for each in kept]
    parts: list[Unread] = []
    for begin, end in _clauses(text):
        inside = kept[bisect_left(places, begin) : bisect_left(places, end)]
        read = spans[max(0, bisect_left(begins, begin) - 1) : bisect_left(begins, end)]
        parts += _parts(text, begin, end, inside, [span for span in read if span[1] > begin])
    return tuple(parts)


def _with_value(text: str, finding: Finding, known: Sequence[Measure], starts: Sequence[int]) -> Finding:
    if finding.span is None:
        return finding
    at = bisect_left(starts, finding.span.end)
    if at == len(known) or known[at].value is None or not known[at].unit:
        return finding
    if not _LINK.fullmatch(text[finding.span.end : known[at].span.start]):
        return finding
    return replace(finding, value=known[at].value, unit=known[at].unit)


def _measures(text: str, unjudged: Sequence[Measure]) -> list[Measure]:
    told = sorted(unjudged, key=lambda each: each.span.start)
    starts = [each.span.start for each in told]

    def other(measure: Measure) -> bool:
        at = bisect_left(starts, measure.span.end)
        return at == 0 or told[at - 1].span.end <= measure.span.start

    return sorted([*told, *filter(other, measures(text))], key=lambda each: each.span.start)


def _taken(
    text: str, measure: Measure, spans: Sequence[tuple[int, int]], valued: set[tuple[int, float | None, str]]
) -> bool:
    for start, end in reversed(spans):
        own = (start, measure.value, measure.unit) in valued and end <= measure.span.start
        if start <= measure.span.start < end or (own and _LINK.fullmatch(text[end : measure.span.start])):
            return True
    return False


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for match in _CLAUSE.finditer(text):
        yield begin, match.start()
        begin = match.end()
    yield begin, len(text)


def _parts(
    text: str, begin: int, end: int, inside: Sequence[Measure], read: Sequence[tuple[int, int]]
) -> Iterator[Unread]:
    at = begin
    for measure in inside:
        first = max([at, *(stop for _, stop in read if stop <= measure.span.start)])
        yield from _part(text, first, measure.span.end, measure)
        at = measure.span.end
    if not read:
        yield from _part(text, at, end, None)


def _plain(words: str) -> bool:
    latin = _LATIN.findall(words.lower())
    if any(word not in _PLAIN for word in latin):
        return False
    han = _PLAIN_ZH.sub("", _LATIN.sub("", words)) if has_chinese(words) else ""
    return not has_chinese(han)


def _part(text: str, begin: int, end: int, measure: Measure | None) -> Iterator[Unread]:
    words = text[begin:end]
    start, stop = begin + len(words) - len(words.lstrip(_EDGES)), begin + len(words.rstrip(_EDGES))
    if measure is not None:
        yield Unread(start, end, measure.note, measure.value, measure.unit)
    elif start < stop and _SAYS.search(text, start, stop) and not _plain(text[start:stop]):
        yield Unread(start, stop, NOTHING)
