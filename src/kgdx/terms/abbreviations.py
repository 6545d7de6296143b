"""Abbreviations of findings in clinical English, and which of several readings the words around them decide for.

The readings stand in ``abbreviations.tsv``. Where an abbreviation has several and nothing in the text decides, none is
taken, and an issue says which there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kgdx.case.patient import Issue
from kgdx.lazy import lazy_pattern
from kgdx.terms.normalise import read_table

NONE = "-"
"""Id of a reading that is no finding."""

_TOKEN = lazy_pattern(r"(?<![\w/-])(?:[A-Z][A-Za-z0-9]{1,5}|[A-Z](?:[/&][A-Z]){1,2}|[Ss][Zz]s?)(?![\w-]|/\w)")
_WORD = lazy_pattern(r"[a-z][a-z0-9-]+")
_WINDOW = 400
"""Characters on each side in which words decide."""


@dataclass(frozen=True, slots=True)
class AbbreviationMeaning:
    """What an abbreviation may mean: an HPO id (or :data:`NONE`), its name, and the words that decide for it."""

    id: str
    name: str
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Use:
    """An abbreviation in a text, and the one reading that was taken."""

    start: int
    end: int
    reading: AbbreviationMeaning


@cache
def readings() -> dict[str, tuple[AbbreviationMeaning, ...]]:
    """Return the readings of each abbreviation."""
    found: dict[str, list[AbbreviationMeaning]] = {}
    for short, id, name, words in read_table(Path(__file__).with_name("abbreviations.tsv")):
        cues = frozenset() if words == "-" else frozenset(words.split())
        found.setdefault(short, []).append(AbbreviationMeaning(id, name, cues))
    return {short: tuple(each) for short, each in found.items()}


def uses(text: str, introduced: Set[str] = frozenset()) -> tuple[list[Use], list[Issue]]:
    """Return the abbreviations of a text that are decided, and an issue for each one that is not.

    Example:
        >>> [use.reading.name for use in uses("Echo: MR, dilated LV")[0]]
        ['Mitral regurgitation']
        >>> uses("Known RP.")[1][0].message
        "'RP' may be Rod-cone dystrophy or Raynaud phenomenon"
    """
    found: list[Use] = []
    issues: dict[str, Issue] = {}
    for match in _TOKEN.finditer(text):
        short = match.group() if match.group() in readings() else match.group().rstrip("0123456789ab")
        if short in introduced or short not in readings():
            continue
        choice = _decided(text, match, readings()[short])
        if choice is not None:
            found.append(Use(*match.span(), choice))
        elif len(readings()[short]) > 1:
            issues.setdefault(short, _undecided(match, readings()[short]))
    return found, list(issues.values())


def _decided(text: str, match: re.Match[str], known: Sequence[AbbreviationMeaning]) -> AbbreviationMeaning | None:
    if len(known) == 1 and not known[0].words:
        return known[0]
    near = set(_nearby(text, match))
    counts = [len(reading.words & near) for reading in known]
    best = max(counts)
    return known[counts.index(best)] if best and counts.count(best) == 1 else None


def _nearby(text: str, match: re.Match[str]) -> Iterator[str]:
    before = text[max(0, match.start() - _WINDOW) : match.start()]
    after = text[match.end() : match.end() + _WINDOW]
    for word in _WORD.findall(f"{before} {after}".lower()):
        yield word
        yield from word.split("-") if "-" in word else ()


def _undecided(match: re.Match[str], known: Sequence[AbbreviationMeaning]) -> Issue:
    named = " or ".join(reading.name for reading in known)
    where = f"characters {match.start()}-{match.end()}"
    return Issue("warning", where, f"{match.group()!r} may be {named}", "not read; write it out, or give the HPO id")
