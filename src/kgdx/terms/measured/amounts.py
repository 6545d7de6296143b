"""Numbers and units as texts write them: one grammar for every measured value."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kgdx.case.patient import Span
from kgdx.lazy import lazy_pattern

MEASURED = "a measured value, which is no finding of the ontology"
"""Note of a measured value that no finding takes up."""

NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!,?\d)|\d+,\d{1,2}(?!,?\d)|\d+(?:\.\d+)?|\.\d+"
"""18,400 and 18.4, and with a decimal comma 2,1; one with three digits behind its comma is taken as thousands."""
_AMOUNT = r"(?:[munpkdcfMµμ]?(?:mole?|gm?s?|G|L|l|m|IU|iu|U|u|Eq|EQ|eq|kat|MOL|[Oo]sm)|MG|UG|NG|PG|%|‰|(?:次|个))"
_PER = (
    r"(?:24\s?[hH]|min|kg|1\.73\s?m(?:2|²|\^2)|m2|m²|mm3|mm³|cumm|hpf|HPF|HP|[munpµμdf]?(?:[Lldgh]|mol|IU|U)"
    r"|DL|ML|UL|day|hr|分钟?|日|天|小时|1h)"
)
UNIT = (
    rf"(?:(?:[×x*]\s?)?10\s?(?:[\^*eE]\s?)?[0-9⁰-⁹]{{1,2}}\s?/\s?(?:[dmµμu]?[Ll]|mm3|mm³|UL)"
    r"|°\s?[CF]|℃|℉|摄氏度|mm\s?Hg|mmhg|MMHG|kPa|cm\s?H2O|mm\s?H2O|bpm|(?:beats|breaths)/min|/min|/分钟?"
    r"|(?:fL|fl|FL|ms(?:ec)?|毫秒|secs?|seconds|秒|s)|(?:cells|个)?/(?:[µμu]L|[µμu]l|UL|mm3|mm³|mm\^3|cumm|HPF?|hpf|L)"
    r"|(?:[kKMm]|万|百万|thou|mil|million)(?:/(?:[µμu][Ll]|UL|mm3|mm³|cumm))|百?万|k(?![A-Za-z])"
    rf"|m/s(?:ec)?|[µμu]m(?:3|³|\^3)|[gm]m?g?%|kg/m(?:2|²|\^2)|{_AMOUNT}(?:\s?/\s?{_PER}){{0,2}})"
    r"(?![A-Za-z])"
)
"""A unit of measurement."""
_WITH_UNIT = lazy_pattern(rf"(?<![A-Za-z0-9_.^/-])(?P<pair>\d{{2,3}}/)?(?P<number>{NUMBER})\s?(?P<unit>{UNIT})")
_NAMED = lazy_pattern(
    r"(?<![A-Za-z0-9])(?:[A-Z]{2,}[A-Za-z0-9]{0,6}(?:/[A-Z]{2,}[A-Za-z0-9]*)?|Hb|T)(?:\s*[=<>]\s*|:?\s+)"
    rf"(?P<number>{NUMBER})(?![\w%/,.-]*\w)"
)
"""A value without a unit, after an abbreviation of a test: WBC 15.4, FEV1/FVC 0.52, T 38.1."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measured value in a text."""

    span: Span
    value: float | None
    unit: str
    note: str = MEASURED


def number(written: str) -> float:
    """Return the number that is written; commas before three digits part thousands, others are decimal."""
    if re.fullmatch(r"\d+,\d{1,2}", written):
        return float(written.replace(",", "."))
    return float(written.replace(",", ""))


def measures(text: str) -> list[Measure]:
    """Return the measured values of a text, in its order."""
    found = [_measure(match, match["unit"], pair=bool(match["pair"])) for match in _WITH_UNIT.finditer(text)]
    rest = _WITH_UNIT.sub(lambda match: "." * len(match.group()), text)
    for match in _NAMED.finditer(rest):
        span = Span(match.start("number"), match.end("number"))
        found.append(Measure(span, number(match["number"]), ""))
    return sorted(found, key=lambda each: each.span.start)


def _measure(match: re.Match[str], unit: str, *, pair: bool) -> Measure:
    value = None if pair else number(match["number"])
    return Measure(Span(*match.span()), value, re.sub(r"\s", "", unit))
