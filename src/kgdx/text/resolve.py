"""One given term → the current finding: an HPO id in any of its forms, a label, or a phrase; or what comes nearest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from rapidfuzz import fuzz, process

from kgdx.case.model import Finding, Issue
from kgdx.case.reader import Resolution
from kgdx.text.stems import MODIFIERS, has_chinese
from kgdx.text.tokens import words

if TYPE_CHECKING:
    from kgdx.text.extractor import Extractor

_HPO_ID = re.compile(r"HP[:_ ]?([0-9]+)", re.IGNORECASE)
_DIGITS = 7
_LONGEST = 500
"""Most characters of a term: a longer one is a text."""

_SUGGESTIONS = 5
_NEAR = 60.0
"""Similarity (0 to 100, order of words ignored) from which a name is suggested."""

_SAME = 92.0
"""Similarity from which a name is taken for the one that was meant."""


def resolve(term: str, reader: Extractor) -> Resolution:
    """Find the current term; see :meth:`kgdx.text.extractor.Extractor.resolve`."""
    given = term.strip()
    if not given:
        return Resolution(None, (Issue("error", term, "an empty term", "give an HPO id or the name of a finding"),))
    if len(given) > _LONGEST:
        message = f"a term of {len(given):,} characters ({given[:20]!r}…)"
        return Resolution(None, (Issue("error", given[:80], message, "give an HPO id or a name; longer text as text"),))
    if match := _HPO_ID.fullmatch(given):
        return _by_number(given, match.group(1), reader)
    found = [f for f in reader.named(given) if f.span and _covers(given, f)]
    if found:
        best = max(found, key=lambda f: (len(f.text), f.score))
        issues = []
        if best.method == "fuzzy":
            issues.append(Issue("info", given, f"{given!r} is read as {best.label} ({best.id})", "check the spelling"))
        return Resolution(replace(best, span=None, text=given), tuple(issues))
    nearest = _nearest(given, reader)
    near = reader.meaning.find(given, reader.terms) if reader.meaning and nearest.finding is None else None
    if near is None:
        return nearest
    message = f"{given!r} is read as {near.label} ({near.id}), whose name is near in meaning"
    return Resolution(near, (Issue("warning", given, message, "check that it is meant"),), nearest.suggestions)


def _by_number(given: str, digits: str, reader: Extractor) -> Resolution:
    """Find an id; leading zeros may be left out altogether, but an id that lost or gained a digit is not guessed."""
    if len(digits) == _DIGITS or (len(digits) < _DIGITS and not digits.startswith("0")):
        finding, issues = reader.terms.current(f"HP:{digits:0>{_DIGITS}}")
        return Resolution(finding, tuple(issues))
    near = dict.fromkeys(f"HP:{number}" for number in _one_digit_off(digits))
    known = [(curie, row) for curie in near if (row := reader.terms.row(curie)) is not None]
    suggestions = tuple(Finding(curie, label=reader.terms.name(row), text=given) for curie, row in known)
    message = f"{given[:80]} has {len(digits)} digits, an HPO id has {_DIGITS}"
    remedy = f"perhaps one of: {'; '.join(f'{f.id} {f.label}' for f in suggestions[:_SUGGESTIONS])}"
    issue = Issue("error", given[:80], message, remedy if suggestions else "check the number")
    return Resolution(None, (issue,), suggestions[:_SUGGESTIONS])


def _one_digit_off(digits: str) -> Iterator[str]:
    """Yield the numbers of seven digits that come of one digit put in, the last place first, or left out."""
    places = range(len(digits), -1, -1)
    if len(digits) == _DIGITS - 1:
        yield from (f"{digits[:at]}{digit}{digits[at:]}" for at in places for digit in "0123456789")
    elif len(digits) == _DIGITS + 1:
        yield from (digits[:at] + digits[at + 1 :] for at in places[1:])


def _covers(given: str, finding: Finding) -> bool:
    """Whether a finding takes up all words of a phrase, but for adjectives of degree and side."""
    assert finding.span is not None
    if has_chinese(given):
        return len(finding.text.strip()) == len(given)
    rest = given[: finding.span.start] + " " + given[finding.span.end :]
    return all(word in MODIFIERS for word in words(rest).folded)


def _nearest(given: str, reader: Extractor) -> Resolution:
    if has_chinese(given):
        (names, rows), compared, asked = reader.terms.labels_zh, reader.terms.labels_zh[0], given.lower()
    else:
        names, rows = reader.terms.labels
        compared, asked = reader.terms.sorted_labels, " ".join(sorted(given.lower().split()))
    hits = process.extract(asked, compared, scorer=fuzz.ratio, limit=4 * _SUGGESTIONS, score_cutoff=_NEAR)
    near: dict[str, Finding] = {}
    for _, similarity, index in hits:
        name, row = names[index], rows[index]
        finding = Finding(
            id=reader.terms.id(row),
            label=reader.terms.name(row),
            text=given,
            matched=name,
            method="fuzzy",
            score=round(similarity / 100, 3),
        )
        near.setdefault(finding.id, finding)
    suggestions = tuple(near.values())[:_SUGGESTIONS]
    if suggestions and suggestions[0].score * 100 >= _SAME:
        best = suggestions[0]
        issue = Issue("info", given, f"{given!r} is read as {best.label} ({best.id})", "check the spelling")
        return Resolution(best, (issue,), suggestions[1:])
    listed = "; ".join(f"{f.id} {f.label}" for f in suggestions)
    remedy = f"perhaps one of: {listed}" if listed else "give an HPO id or the name of a finding"
    return Resolution(None, (Issue("error", given, f"{given!r} is no known finding", remedy),), suggestions)
