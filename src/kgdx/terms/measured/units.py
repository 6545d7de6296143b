"""Units of measurement: what a unit as it is written comes to, and values carried from one unit into another."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from kgdx.lazy import lazy_pattern
from kgdx.terms.normalise import read_table

_RAISED = lazy_pattern("[⁰¹²³⁴-⁹]+")
_PREFIXES = {"": 1.0, "k": 1e3, "d": 1e-1, "c": 1e-2, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12, "f": 1e-15}
_BASES = {
    "mol": ("mol", 1.0),
    "mole": ("mol", 1.0),
    "gm": ("g", 1.0),
    "g": ("g", 1.0),
    "l": ("L", 1.0),
    "iu": ("U", 1.0),
    "u": ("U", 1.0),
    "kat": ("U", 6e7),
    "eq": ("eq", 1.0),
    "osm": ("osm", 1.0),
    "m": ("m", 1.0),
    "pa": ("Pa", 1.0),
}
_TIMES = {"24h": 1440.0, "d": 1440.0, "day": 1440.0, "h": 60.0, "hr": 60.0, "min": 1.0}
_BASE = lazy_pattern(rf"({'|'.join(filter(None, _PREFIXES))})?({'|'.join(_BASES)})")
_POWER = lazy_pattern(r"(?:[x*]?10(?:\^|\*|e)?|[x*]10)(\d{1,2})/(.+)")
_PER_VOLUME = {"l": 1.0, "ml": 1e-3, "dl": 1e-1, "ul": 1e-6, "mm3": 1e-6, "cumm": 1e-6}


class UnitMeaning(NamedTuple):
    """One thing that a unit may mean."""

    dimension: str
    factor: float


@lru_cache(maxsize=4096)
def plain(unit: str) -> str:
    """Return a unit as units are compared: one form of powers, micro and letter case, no blanks."""
    raised = _RAISED.sub(lambda match: "^" + match.group(), unit)
    folded = unicodedata.normalize("NFKC", raised).casefold()
    return re.sub(r"\s", "", folded).replace("μ", "u").replace("×", "x").replace("m^2", "m2").replace("m^3", "m3")


@lru_cache(maxsize=1)
def _named() -> dict[str, tuple[UnitMeaning, ...]]:
    found: dict[str, tuple[UnitMeaning, ...]] = {}
    for spelling, dimension, factor in read_table(Path(__file__).with_name("units.tsv")):
        found[plain(spelling)] = (*found.get(plain(spelling), ()), UnitMeaning(dimension, float(factor)))
    return found


@lru_cache(maxsize=4096)
def readings(unit: str) -> tuple[UnitMeaning, ...]:
    """Return what a unit may mean; nothing where it is none."""
    written = plain(unit)
    if match := _POWER.fullmatch(written):
        volume = _PER_VOLUME.get(match[2])
        return (UnitMeaning("/L", 10.0 ** int(match[1]) / volume),) if volume else ()
    named = _named().get(written, ())
    made = _composed(written)
    return (*named, made) if made and made.dimension not in {each.dimension for each in named} else named


def _composed(written: str) -> UnitMeaning | None:
    first, *rest = written.split("/")
    amount = _based(first)
    if amount is None or len(rest) > 2:
        return None
    dimension, factor = amount
    for below in rest:
        if below in _TIMES:
            dimension, factor = f"{dimension}/min", factor / _TIMES[below]
        elif (part := _based(below)) is not None:
            dimension, factor = f"{dimension}/{part.dimension}", factor / part.factor
        else:
            return None
    return UnitMeaning(dimension, factor)


def _based(written: str) -> UnitMeaning | None:
    match = _BASE.fullmatch(written)
    if not match:
        return None
    dimension, factor = _BASES[match[2]]
    return UnitMeaning(dimension, factor * _PREFIXES[match[1] or ""])


class UnitScale(NamedTuple):
    """How values of an analyte are carried from any of its units into its own.

    Attributes:
        molar: Its molar mass in g/mol, 0 where values are not carried between mass and substance.
        valence: Charges of its ion, 0 for none.
    """

    unit: str
    molar: float = 0.0
    valence: int = 0
    also: tuple[tuple[str, float, float], ...] = ()

    def own(self, value: float, unit: str) -> float | None:
        """Return a value in the analyte's own unit; ``None`` where the unit does not fit it.

        Example:
            >>> round(UnitScale("mmol/L", molar=180.16).own(90.08, "mg/dL"), 3), UnitScale("mmol/L").own(5, "U/L")
            (5.0, None)
        """
        return next((value * factor + added for factor, added in self._ways(unit)), None)

    def other(self, value: float, unit: str) -> float | None:
        """Return a value of the analyte's own unit in another; ``None`` where it does not fit."""
        return next(((value - added) / factor for factor, added in self._ways(unit)), None)

    def _ways(self, unit: str) -> list[tuple[float, float]]:
        written = plain(unit)
        if written == plain(self.unit):
            return [(1.0, 0.0)]
        ways = [(factor, added) for other, factor, added in self.also if plain(other) == written]
        own = _composed(plain(self.unit)) or next(iter(readings(self.unit)), None)
        if own is not None:
            dimension, factor = own
            ways += [
                (step * reading.factor / factor, 0.0)
                for reading in readings(unit)
                if (step := self._step(reading.dimension, dimension))
            ]
        return ways

    def _step(self, given: str, own: str) -> float:
        if given == own:
            return 1.0
        (amount, _, below), (wanted, _, beneath) = given.partition("/"), own.partition("/")
        if below != beneath:
            return 0.0
        steps = {("g", "mol"): self.molar and 1 / self.molar, ("mol", "g"): self.molar}
        if self.valence:
            steps |= {("eq", "mol"): 1 / self.valence, ("mol", "eq"): float(self.valence)}
        return steps.get((amount, wanted), 0.0)
