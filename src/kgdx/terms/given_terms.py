"""A single given term → the finding that it stands for: an HPO id, a name or a phrase, also misspelt ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Protocol

import numpy as np

from kgdx.case.patient import Finding, Issue, Resolution, Status
from kgdx.lazy import lazy_pattern
from kgdx.terms.normalise import MODIFIERS, has_chinese
from kgdx.terms.tokens import words

if TYPE_CHECKING:
    from kgdx.terms.phenotypes import Terms
    from kgdx.terms.phrase_vectors import PhraseVectors
    from kgdx.terms.word_index import WordIndex

_HPO_ID = lazy_pattern(r"HP[:_ ]?([0-9]+)", re.IGNORECASE)
_DIGITS = 7
_LONGEST_TERM = 500
"""Most characters of a term: a longer one is a text."""

_SUGGESTIONS = 5
_NEAR = 60.0
"""Similarity (0 to 100, order of words ignored) from which a name is suggested."""

_SPELT = 80.0
"""Similarity from which a name comes before those that the term's words tell."""

_SAME = 92.0
"""Similarity from which a name is taken for the one that was meant."""


class NameReader(Protocol):
    """What finds the names of a graph in a phrase."""

    @property
    def terms(self) -> Terms: ...

    @property
    def meaning(self) -> PhraseVectors | None: ...

    def named(self, text: str, language: str | None = None) -> list[Finding]: ...


def resolved(term: str, reader: NameReader) -> Resolution:
    """Find the current term for an HPO id, a label or a phrase; where nothing fits, suggest the nearest names."""
    given = term.strip()
    if not given:
        return Resolution(None, (Issue("error", term, "an empty term", "give an HPO id or the name of a finding"),))
    if len(given) > _LONGEST_TERM:
        message = f"a term of {len(given):,} characters ({given[:20]!r}…)"
        return Resolution(None, (Issue("error", given[:80], message, "give an HPO id or a name; longer text as text"),))
    if (known := by_id(given, reader.terms)) is not None:
        return known
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


@lru_cache(maxsize=4096)
def _current(curie: str, terms: Terms) -> Resolution:
    finding, issues = terms.current(curie)
    return Resolution(finding, tuple(issues))


def by_id(given: str, terms: Terms) -> Resolution | None:
    """Find the current term for an HPO id; ``None`` for what is no id."""
    match = _HPO_ID.fullmatch(given)
    if match is None or len(given) > _LONGEST_TERM:
        return None
    digits = match.group(1)
    if len(digits) == _DIGITS or (len(digits) < _DIGITS and not digits.startswith("0")):
        return _current(f"HP:{digits:0>{_DIGITS}}", terms)
    near = dict.fromkeys(f"HP:{number}" for number in _one_digit_off(digits))
    known = [(curie, row) for curie in near if (row := terms.row(curie)) is not None]
    suggestions = tuple(Finding(curie, label=terms.name(row), text=given) for curie, row in known)
    message = f"{given[:80]} has {len(digits)} digits, an HPO id has {_DIGITS}"
    remedy = f"perhaps one of: {'; '.join(f'{f.id} {f.label}' for f in suggestions[:_SUGGESTIONS])}"
    issue = Issue("error", given[:80], message, remedy if suggestions else "check the number")
    return Resolution(None, (issue,), suggestions[:_SUGGESTIONS])


def _one_digit_off(digits: str) -> Iterator[str]:
    places = range(len(digits), -1, -1)
    if len(digits) == _DIGITS - 1:
        yield from (f"{digits[:at]}{digit}{digits[at:]}" for at in places for digit in "0123456789")
    elif len(digits) == _DIGITS + 1:
        yield from (digits[:at] + digits[at + 1 :] for at in places[1:])


def _covers(given: str, finding: Finding) -> bool:
    assert finding.span is not None
    if has_chinese(given):
        return len(finding.text.strip()) == len(given)
    rest = given[: finding.span.start] + " " + given[finding.span.end :]
    return all(word in MODIFIERS for word in words(rest).folded)


@lru_cache(maxsize=1024)
def _alike(given: str, terms: Terms) -> list[tuple[float, int]]:
    from rapidfuzz import fuzz, process

    if has_chinese(given):
        compared, asked = terms.labels_zh[0], given.lower()
    else:
        compared, asked = terms.sorted_labels, " ".join(sorted(given.lower().split()))
    hits = process.extract(asked, compared, scorer=fuzz.ratio, limit=4 * _SUGGESTIONS, score_cutoff=_NEAR)
    return [(similarity, index) for _, similarity, index in hits]


@lru_cache(maxsize=1)
def _words_of_names(terms: Terms) -> WordIndex:
    from kgdx.terms.word_index import WordIndex

    return WordIndex(terms.labels[0])


def _sharing_words(given: str, terms: Terms) -> list[tuple[float, int]]:
    """Return the names that share the rarest words with a term, the one with the most first."""
    scores = _words_of_names(terms).scores(given)
    best = np.argsort(-scores, kind="stable")[: 4 * _SUGGESTIONS].tolist()
    return [(0.0, index) for index in best if scores[index]]


def _nearest(given: str, reader: NameReader) -> Resolution:
    terms, chinese = reader.terms, has_chinese(given)
    names, rows = terms.labels_zh if chinese else terms.labels

    def findings(similar: Iterable[tuple[float, int]]) -> Iterator[Finding]:
        for similarity, index in similar:
            id, label, score = terms.id(rows[index]), terms.name(rows[index]), round(similarity / 100, 3)
            yield Finding(id, label=label, text=given, matched=names[index], method="fuzzy", score=score)

    alike = _alike(given, terms)
    spelt = findings(each for each in alike if each[0] >= _SPELT)
    told = (each for each in reader.named(given) if each.status is Status.PRESENT)
    sharing = () if chinese else findings(_sharing_words(given, terms))
    near: dict[str, Finding] = {}
    for each in chain(spelt, told, sharing, findings(alike)):
        near.setdefault(each.id, each)
    suggestions = tuple(near.values())[:_SUGGESTIONS]
    if suggestions and suggestions[0].score * 100 >= _SAME and suggestions[0].method == "fuzzy":
        best = suggestions[0]
        issue = Issue("info", given, f"{given!r} is read as {best.label} ({best.id})", "check the spelling")
        return Resolution(best, (issue,), suggestions[1:])
    listed = "; ".join(f"{f.id} {f.label}" for f in suggestions)
    remedy = f"perhaps one of: {listed}" if listed else "give an HPO id or the name of a finding"
    return Resolution(None, (Issue("error", given, f"{given!r} is no known finding", remedy),), suggestions)
