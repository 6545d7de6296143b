"""The table of analytes: names, units, bounds, ranges by age and sex, and the findings that their values come to.

The rows stand in ``analytes.tsv``, ``ranges.tsv`` and ``grades.tsv``, each with the work that it follows.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from kgdx.lazy import lazy_pattern
from kgdx.terms.measured.units import UnitScale
from kgdx.terms.normalise import read_table

_TERM = lazy_pattern(r"(HP:\d{7}) (.+)")
_ALSO = lazy_pattern(r"([^=]+)=([\d.eE-]+)(?:@(-?[\d.]+))?")
_WINDOW = lazy_pattern(r"([^:]*)(?::(-?[\d.]+):(-?[\d.]+))?")


BLOOD, BODY = "", "body"
"""Specimens of what is measured in blood unless something else is said, and of what is measured in no specimen."""


class AnalyteTerm(NamedTuple):
    """A finding of the ontology."""

    id: str
    label: str


class Usual(NamedTuple):
    """The usual values of people of some age and sex."""

    sex: str
    since: float
    until: float
    low: float | None
    high: float | None
    whom: str


class Grade(NamedTuple):
    """Values that come to a more specific finding than low or high."""

    unit: str
    low: float
    high: float
    term: AnalyteTerm | None


@dataclass(frozen=True, slots=True)
class Analyte:
    """What can be measured, and what its values come to.

    Attributes:
        scale: Its own unit, and how others are carried into it; an empty unit for what is found or not.
        specimen: What it is measured in, where that is not blood and is said beside the name: ``csf``, ``urine``.
        pair: Keys of the two analytes whose values stand together as in 120/80.
        members: Keys of the analytes that a name such as "liver function" stands for.
    """

    key: str
    scale: UnitScale
    specimen: str = ""
    low: AnalyteTerm | None = None
    high: AnalyteTerm | None = None
    abnormal: AnalyteTerm | None = None
    least: float = 0.0
    most: float = float("inf")
    windows: tuple[tuple[str, float, float], ...] = ()
    usual: tuple[Usual, ...] = ()
    grades: tuple[Grade, ...] = ()
    pair: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def analytes() -> dict[str, Analyte]:
    """Return all analytes of the table, by their keys."""
    usual, grades = _usual(), _grades()
    found = {}
    for row in _rows("analytes.tsv"):
        least, most = (
            float(bound) if bound else bound_less
            for bound, bound_less in zip(row[8:10], (0.0, float("inf")), strict=True)
        )
        unit, molar, valence = row[1], row[11], row[12]
        scale = UnitScale(unit, float(molar or 0), int(valence or 0), tuple(_also(row[13])))
        found[row[0]] = Analyte(
            row[0],
            scale,
            specimen=row[2],
            low=_term(row[5]),
            high=_term(row[6]),
            abnormal=_term(row[7]),
            least=least,
            most=most,
            windows=_windows(row[10] or unit, least, most),
            usual=tuple(usual[row[0]]),
            grades=tuple(grades[row[0]]),
            pair=tuple(row[14].split("/")) if row[14] else (),
            names=tuple(filter(None, (*row[3].split("|"), *row[4].split("|")))),
        )
    return found


def _rows(name: str) -> list[list[str]]:
    return read_table(Path(__file__).with_name(name))


def _term(cell: str) -> AnalyteTerm | None:
    match = _TERM.fullmatch(cell)
    return AnalyteTerm(match[1], match[2]) if match else None


def _also(cell: str) -> list[tuple[str, float, float]]:
    matches = (_ALSO.fullmatch(each) for each in cell.split(";") if each)
    return [(match[1], float(match[2]), float(match[3] or 0)) for match in matches if match]


def _windows(cell: str, least: float, most: float) -> tuple[tuple[str, float, float], ...]:
    matches = (_WINDOW.fullmatch(each) for each in cell.split(";")) if cell != "-" else ()
    return tuple((match[1], float(match[2] or least), float(match[3] or most)) for match in matches if match)


def _bound(cell: str) -> float | None:
    return float(cell) if cell else None


def _usual() -> dict[str, list[Usual]]:
    found: dict[str, list[Usual]] = defaultdict(list)
    sexes = {"F": "FEMALE", "M": "MALE", "": ""}
    for key, sex, since, until, low, high, whom in _rows("ranges.tsv"):
        row = Usual(sexes[sex], float(since or 0), float(until or 999), _bound(low), _bound(high), whom)
        found[key].append(row)
    return found


def _grades() -> dict[str, list[Grade]]:
    found: dict[str, list[Grade]] = defaultdict(list)
    for key, unit, low, high, term, _ in _rows("grades.tsv"):
        found[key].append(Grade(unit, float(low or "-inf"), float(high or "inf"), _term(term)))
    return found
