"""What a case says in words: the symptoms that were given as phrases, or the clauses of its text.

Clauses about being well, plans, who the patient is and how they live (``telling_words.tsv``) are compared with nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

from kgdx.case.patient import CORRECTED, Case, Issue, Span, Status
from kgdx.lazy import lazy_pattern
from kgdx.rank.wording import units
from kgdx.terms.context import sentences, statuses
from kgdx.terms.measured.amounts import MEASURED
from kgdx.terms.normalise import CJK, has_chinese, read_table
from kgdx.terms.tokens import NEGATORS, SOFT, words

NO_COMPLAINT = ("wellness", "plan", "demography", "social", "relative")
MOST = 60
"""Clauses of one text that count; a longer text is a history, whose later clauses say little new."""
LONGEST = 160
"""Characters of the longest clause."""
NAMED = 5
"""Measured values that are named of which nothing was read."""
_UNREMARKABLE = frozenset(("normal", "normally", "unremarkable", "negative", "normothermic", "afebrile"))
_PARTING_ZH = lazy_pattern(f"[^{CJK}0-9A-Za-z.%℃+/-]+|(?:伴有|伴随|并且|以及|同时|伴|及)")
_NEGATED_ZH = lazy_pattern("^(?:[^无没未否不]{0,3}?)(?:无|没有|没|未见|未|否认|不伴|不发|不咳|正常)|正常$")
_ASKED_ZH = lazy_pattern("吗$|[请谢]|怎么|什么|你好|您好|医生")


def said(case: Case, *, own_words: bool = False) -> tuple[str, ...]:
    """Return the patient's symptoms in words, each once.

    They are :attr:`Case.phrases` where there are any, else the clauses of the text that are heard.
    """
    whole = case.source != CORRECTED and (own_words or not case.phrases)
    given = (*case.phrases, *(heard(case) if whole else ()))
    seen: dict[tuple[str, ...], str] = {}
    for phrase in given:
        counted = tuple(units(phrase))
        if counted:
            seen.setdefault(counted, phrase.strip())
    return tuple(seen.values())[:MOST]


def with_phrases(case: Case, begin: int = 0) -> Case:
    """Return the case with the clauses of its text as phrases, which is all that a ranking reads of the words."""
    if (case.phrases or case.source == CORRECTED) and begin == 0:
        return case
    return replace(case, phrases=(*case.phrases, *heard(case, begin)))


def heard(case: Case, begin: int = 0) -> Iterator[str]:
    """Yield the clauses of a case's text that say something beside what was read of them otherwise.

    A clause in which nothing that is present was read, but something that is absent, a relative's or in doubt, is none:
    a normal value comes near to the words of a raised one. Nor is one with words that were corrected.
    """
    corrected = (each for each in case.findings if each.method == CORRECTED and each.status is not Status.PRESENT)
    withdrawn = [word.lower() for each in corrected for word in (each.text, each.label) if word]
    for clause, read in _clauses(case, begin):
        if (not read or Status.PRESENT in read) and not any(word in clause.lower() for word in withdrawn):
            yield clause


def unread_clauses(case: Case) -> Iterator[str]:
    """Yield the clauses of a case's text that hold no finding, of whatever status."""
    return (clause for clause, read in _clauses(case) if not read)


def _clauses(case: Case, begin: int = 0) -> Iterator[tuple[str, set[Status]]]:
    """Yield the clauses that a text states of the patient, in order, with the statuses of the findings in each."""
    text = case.text[begin:]
    found = [(each.status, each.span) for each in case.findings if each.span is not None]
    spans = sorted([*_english(text), *(_chinese(text) if has_chinese(text) else ())])
    told = statuses(text, [(end, end) for _, end in spans])  # what holds where a clause ends, holds for the clause
    for (start, end), status in zip(spans, told, strict=True):
        clause = text[start : min(end, start + LONGEST)]
        if status is Status.PRESENT and not told_by(*NO_COMPLAINT).search(clause):
            first, beyond = begin + start, begin + start + len(clause)
            yield clause, {read for read, span in found if first < span.end and span.start < beyond}


@cache
def told_by(*kinds: str) -> re.Pattern[str]:
    """Return what finds the words of some kinds, in either language."""
    rows = read_table(Path(__file__).with_name("telling_words.tsv"))
    return re.compile("|".join(what for kind, what in rows if kind.removesuffix("_zh") in kinds), re.I)


def well(text: str) -> int:
    """Return how many signs of two a text gives of a visit without an illness: its purpose, and that all is well."""
    kinds = () if told_by("presents").search(text) else ("purpose", "well")
    return sum(bool(told_by(kind).search(text)) for kind in kinds)


def over(text: str, span: Span) -> bool:
    """Return whether a text says of what stands at a span, there or in the next sentence, that it is no illness now.

    Example:
        >>> over("Her bow legs are physiological.", Span(4, 12)), over("He has bow legs.", Span(7, 15))
        (True, False)
    """
    starts = [*sentences(text), len(text)]
    at = bisect_right(starts, span.start)
    return bool(told_by("over").search(text, starts[at - 1], starts[min(at + 1, len(starts) - 1)]))


def unread(case: Case) -> Iterator[Issue]:
    """Yield an issue about the measured values of a text that no analyte of the table goes with.

    Those of a known analyte that came to nothing have an issue of their own.
    """
    values = (each for each in case.unread if each.note == MEASURED and each.unit)
    found = [" ".join(case.text[each.start : each.end].split()) for each in values]
    if found:
        named = "; ".join(dict.fromkeys(found[:NAMED])) + ("; …" if len(found) > NAMED else "")
        remedy = "name what is high or low in words, such as hyperglycemia"
        yield Issue("info", "text", f"no finding was read from {named}", remedy)


def _english(text: str) -> Iterator[tuple[int, int]]:
    found = words(text)
    bounds = [at for at, parting in enumerate(found.parting.tolist()) if parting >= SOFT]
    for first, beyond in pairwise([*bounds, len(found.folded)]):
        if found.folded[first] in NEGATORS:
            first += 1
        own = found.folded[first:beyond]
        if not any(word.isalpha() and len(word) > 2 for word in own) or not _UNREMARKABLE.isdisjoint(own):
            continue
        end = int(found.ends[beyond - 1])
        if not text.startswith(":", end):  # otherwise it is a heading
            yield int(found.starts[first]), end


def _chinese(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in [*_PARTING_ZH.finditer(text), None]:
        end = len(text) if match is None else match.start()
        part = text[start:end]
        if has_chinese(part) and not _NEGATED_ZH.search(part) and not _ASKED_ZH.search(part):
            yield start, end
        start = end if match is None else match.end()
