"""What a value comes to: low, high or usual for the patient's age and sex, or by the range that the text prints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kgdx.case.measured_values import Range
from kgdx.terms.measured.amounts import number
from kgdx.terms.measured.analytes import BODY, Analyte, AnalyteTerm, Grade, Usual, analytes
from kgdx.terms.measured.statements import CENTILE, DEVIATION, MeasuredStatement, mended
from kgdx.terms.measured.units import UnitScale

_STATED = "stated in the text"
_PRINTED = "printed in the text"
CENTILES, DEVIATIONS = (3.0, 97.0), (-2.0, 2.0)
"""Usual centiles and standard deviation scores of a measurement."""


@dataclass(frozen=True, slots=True)
class Person:
    """Of whom a value is."""

    age: float | None = None
    sex: str = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a statement of an analyte comes to."""

    present: AnalyteTerm | None = None
    absent: tuple[AnalyteTerm, ...] = ()
    value: float | None = None
    unit: str = ""
    range: Range | None = None
    problem: str = ""
    remedy: str = ""
    note: str = ""


def judged(analyte: Analyte, said: MeasuredStatement, person: Person) -> Verdict:
    """Return what a statement of an analyte comes to.

    Example:
        >>> verdict = judged(analytes()["potassium"], MeasuredStatement(0, value="2.1"), Person())
        >>> verdict.present.label, verdict.unit, verdict.range.low
        ('Hypokalemia', 'mmol/L', 3.5)
    """
    if said.direction == "unclear":
        return Verdict()
    if not said.value:
        return _directed(analyte, said.direction, Verdict())
    if said.second:
        return _paired(analyte, said, person)
    value, note = _written(said.value)
    if value is None:
        return Verdict(problem=f"{said.value[:20]!r} is no number", remedy="write the value in digits")
    if analyte.scale.unit == "SD":
        said = replace(said, unit=said.unit or "SD")
    if value < 0 <= analyte.least and not DEVIATION.fullmatch(said.unit):
        value = -value
    if CENTILE.fullmatch(said.unit):
        return _by_score(analyte, said, value, "centile", CENTILES)
    if DEVIATION.fullmatch(said.unit):
        return _by_score(analyte, said, value, "SD", DEVIATIONS)
    found = _measured(analyte, said, value, person)
    return replace(found, note=note) if note else found


def _written(said: str) -> tuple[float | None, str]:
    plain = mended(said)
    try:
        value = number(plain)
    except ValueError:
        return None, ""
    if plain != said:
        return value, f"{said!r} is read as {plain}"
    if re.fullmatch(r"-?\d+,\d{1,2}", said):
        return value, f"{said!r} is read as {said.replace(',', '.')}"
    return value, ""


def _directed(analyte: Analyte, direction: str, verdict: Verdict) -> Verdict:
    if direction in ("positive", "negative", "absent") and analyte.specimen == BODY and analyte.scale.unit:
        return Verdict()  # a pulse of 2+ is no fast one
    one = {"not high": analyte.high, "not low": analyte.low}.get(direction)
    if direction in ("normal", "negative", "not high", "not low") or (direction == "absent" and not analyte.low):
        return replace(verdict, absent=(one,) if one else _ruled_out(analyte))  # absent ketones are usual, IgA are not
    terms = {"high": analyte.high, "positive": analyte.high, "low": analyte.low, "absent": analyte.low}
    term = analyte.abnormal if direction == "abnormal" else terms.get(direction)
    return replace(verdict, present=term)


def _ruled_out(analyte: Analyte, usual: Range | None = None) -> tuple[AnalyteTerm, ...]:
    low = analyte.low if usual is None or usual.low is not None else None
    high = analyte.high if usual is None or usual.high is not None else None
    found = tuple(dict.fromkeys(term for term in (low, high) if term))
    return found or tuple(filter(None, (analyte.low or analyte.high or analyte.abnormal,)))


def _by_score(
    analyte: Analyte, said: MeasuredStatement, value: float, unit: str, bounds: tuple[float, float]
) -> Verdict:
    if unit == "centile" and not 0 <= value <= 100:
        return Verdict(problem=f"there is no {value:g}th centile", remedy="check the number")
    if abs(value) > 15 and unit == "SD":
        return Verdict(problem=f"{value:g} SD cannot be", remedy="check the number")
    given = Verdict(value=value, unit=unit, range=Range(*bounds, source="by definition"))
    if not said.fewer and (grade := _grade(analyte, value, unit)):
        return replace(given, present=grade.term)
    low, high = bounds
    beyond = (value == low and said.fewer == "<") or (value == high and said.fewer == ">")
    if not beyond and low <= value <= high:
        return Verdict() if said.fewer else _directed(analyte, "normal", given)
    side = "low" if value <= low else "high"
    if said.fewer and (said.fewer == "<") != (side == "low"):
        return Verdict()
    grade = _grade(analyte, value, unit)
    return replace(given, present=grade.term) if grade else _directed(analyte, side, given)


def _grade(analyte: Analyte, value: float, unit: str) -> Grade | None:
    return next((each for each in analyte.grades if each.unit == unit and each.low <= value < each.high), None)


def _measured(analyte: Analyte, said: MeasuredStatement, value: float, person: Person) -> Verdict:
    unit, problem = _unit(analyte, said, value)
    if problem:
        return problem
    own = analyte.scale.own(value, unit)
    own = value if own is None else own
    if not analyte.least <= own <= analyte.most:
        what = f"{value:g} {unit}".strip()
        return Verdict(problem=f"{named(analyte)} of {what} cannot be", remedy="check the number and its unit")
    printed, doubt = _printed(analyte, said, unit)
    usual = _whole(printed, _usual(analyte, person, unit), value)
    given = Verdict(value=value, unit="" if unit in UNNAMED else unit, range=usual, note=doubt)
    if printed is None and (grade := _grade(analyte, own, analyte.scale.unit)):
        return replace(given, present=grade.term)
    side = _side(value, said, usual)
    if said.direction in ("high", "low", "normal", "abnormal", "positive", "negative"):
        agrees = side == said.direction
        side, given = said.direction, given if agrees else replace(given, range=Range(None, None, _STATED))
    if side == "low" and analyte.low is None and analyte.high is not None:
        side = "normal"
    if side == "normal" and usual is not None:
        return replace(given, absent=_ruled_out(analyte, usual))
    return _directed(analyte, side, given) if side else replace(given, problem=_untold(analyte, said))


def _untold(analyte: Analyte, said: MeasuredStatement) -> str:
    if said.fewer:
        return f"{named(analyte)} {said.fewer} {said.value} may be usual or not"
    return f"no usual range of {named(analyte)} is known for this patient"


def _unit(analyte: Analyte, said: MeasuredStatement, value: float) -> tuple[str, Verdict | None]:
    if said.unit:
        if not analyte.scale.unit or analyte.scale.own(value, said.unit) is not None:
            return said.unit, None
        problem = f"the unit {said.unit} does not fit {named(analyte)}"
        return "", Verdict(problem=problem, remedy=f"give it in {analyte.scale.unit or 'words'}")
    fitting = [unit for unit, low, high in analyte.windows if low <= value <= high]
    if len(fitting) == 1:
        return fitting[0], None
    units = " or ".join(unit for unit, _, _ in analyte.windows)
    if not units:
        problem = f"{named(analyte)} of {value:g} has no unit, and there are several that it may be in"
        return "", Verdict(problem=problem, remedy=f"give the unit, such as {analyte.scale.unit}")
    owns = (analyte.scale.own(value, unit) for unit, _, _ in analyte.windows)
    if any(own is not None and analyte.least <= own <= analyte.most for own in owns):
        return "", Verdict(
            problem=f"{named(analyte)} of {value:g} without a unit may be in {units}", remedy="give the unit"
        )
    return "", Verdict(problem=f"{named(analyte)} of {value:g} cannot be in {units}", remedy="check the number")


def named(analyte: Analyte) -> str:
    """Return how a message calls an analyte."""
    return analyte.key.replace("_", " ")


def _printed(analyte: Analyte, said: MeasuredStatement, unit: str) -> tuple[Range | None, str]:
    if not (said.low or said.high):
        return None, ""
    low, high = (number(bound) if bound else None for bound in (said.low, said.high))
    if said.range_unit and said.range_unit != unit:
        low, high = (_carried(analyte.scale, bound, said.range_unit, unit) for bound in (low, high))
        if low is None and high is None:
            return None, f"the unit {said.range_unit} of the printed range does not fit {named(analyte)}"
    if low is not None and high is not None and low > high:
        return None, f"the printed range {said.low}-{said.high} of {named(analyte)} is upside down and was not used"
    return Range(low, high, _PRINTED), ""


def _whole(printed: Range | None, usual: Range | None, value: float) -> Range | None:
    """A range of which one bound is printed says nothing of a value beyond the other usual one: Hb 80 (< 160)."""
    if printed is None or usual is None:
        return printed or usual
    low = printed.low is None and usual.low is not None and value < usual.low
    high = printed.high is None and usual.high is not None and value > usual.high
    return usual if low or high else printed


def _carried(scale: UnitScale, bound: float | None, given: str, wanted: str) -> float | None:
    own = None if bound is None else scale.own(bound, given)
    return None if own is None else scale.other(own, wanted)


def _usual(analyte: Analyte, person: Person, unit: str) -> Range | None:
    grows = analyte.key in GROWING and person.age is None
    rows = [] if grows else _of_person(analyte.usual, person)
    if not rows:
        return None
    lows, highs = [row.low for row in rows], [row.high for row in rows]
    low = min((each for each in lows if each is not None), default=None) if None not in lows else None
    high = max((each for each in highs if each is not None), default=None) if None not in highs else None
    scale = analyte.scale
    low, high = (None if each is None else scale.other(each, unit) for each in (low, high))
    low, high = (None if each is None else float(f"{each:.3g}") for each in (low, high))
    return Range(low, high, source=rows[0].whom if len(rows) == 1 else "women and men")


UNNAMED = frozenset({"points", "ratio", "titre"})
"""Units that are not written."""
ADULT = 30.0
"""Age in years for which a value is judged where the age is not known."""
GROWING = frozenset({"height", "weight", "head_circumference"})
"""Measurements that say nothing of a patient whose age is not known."""


def _of_person(rows: Sequence[Usual], person: Person) -> list[Usual]:
    age = ADULT if person.age is None else person.age
    fitting = [row for row in rows if row.since <= age < row.until]
    of_sex = [row for row in fitting if not row.sex or row.sex == person.sex]
    return of_sex or fitting


def _side(value: float, said: MeasuredStatement, usual: Range | None) -> str:
    if usual is None:
        return ""
    low, high = usual.low, usual.high
    if said.fewer == ">":
        if high is not None and value >= high:
            return "high"
        return "normal" if high is None and low is not None and value >= low else ""
    if said.fewer == "<":
        if low is not None and value <= low:
            return "low"
        return "normal" if not low and high is not None and value <= high else ""
    if low is not None and value < low:
        return "low"
    return "high" if high is not None and value > high else "normal"


def _paired(analyte: Analyte, said: MeasuredStatement, person: Person) -> Verdict:
    first, second = _written(said.value)[0], _written(said.second)[0]
    if first is None or second is None or not second:
        return Verdict(problem=f"{said.value}/{said.second} is no pair of numbers")
    if not analyte.pair:
        if analyte.scale.unit == "points":
            return _measured(analyte, replace(said, second=""), first, person)
        if analyte.scale.unit in ("ratio", "titre"):
            share = second / first if analyte.scale.unit == "titre" else first / second
            return _measured(analyte, replace(said, second="", value=f"{share:g}"), share, person)
        return Verdict(problem=f"{named(analyte)} is one value, not {said.value}/{said.second}")
    each = [
        _measured(analytes()[key], replace(said, second="", value=f"{value:g}"), value, person)
        for key, value in zip(analyte.pair, (first, second), strict=True)
    ]
    if wrong := next((verdict for verdict in each if verdict.problem), None):
        return wrong
    together = replace(each[0], present=None, absent=())
    terms = [verdict.present for verdict in each if verdict.present]
    if not terms:
        return _directed(analyte, "normal", together)
    highest = next((verdict for verdict in each if verdict.present), each[0])
    of = analytes()[analyte.pair[each.index(highest)]]
    return _directed(analyte, "high" if highest.present == of.high else "low", replace(together, range=highest.range))
