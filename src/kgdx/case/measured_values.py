"""Measured values: as a source gives them in fields, and the usual values that they are judged by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kgdx.lazy import lazy_pattern


@dataclass(frozen=True, slots=True)
class Range:
    """The usual values by which a measured value was judged.

    Attributes:
        low: The lowest one, in the value's unit; ``None`` where none is too low.
        high: The highest one; ``None`` where none is too high.
        source: Where it comes from: the text, or whose values they are and the work that says so.
    """

    low: float | None = None
    high: float | None = None
    source: str = ""

    def __str__(self) -> str:
        """Return it in words; empty where it has no bounds.

        Example:
            >>> str(Range(3.5, 5.0)), str(Range(high=59.0)), str(Range(source="stated in the text"))
            ('usual 3.5-5', 'usual up to 59', '')
        """
        if self.low is not None and self.high is not None:
            return f"usual {self.low:g}-{self.high:g}"
        if self.high is not None:
            return f"usual up to {self.high:g}"
        return "" if self.low is None else f"usual from {self.low:g}"


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measured value that a source gives in fields, before it is judged."""

    label: str
    value: float | str
    unit: str = ""
    low: float | None = None
    high: float | None = None


class JsonReader(Protocol):
    """Typed look-ups in JSON; what cannot be used is noted."""

    def note(self, path: str, message: str, remedy: str) -> None:
        """Note that something was not used."""

    def get(self, parent: Mapping[str, Any], key: str) -> Any:
        """Return a value, ``None`` where there is none."""

    def child(self, parent: Mapping[str, Any], key: str, path: str = "") -> Mapping[str, Any]: ...

    def objects(self, parent: Mapping[str, Any], key: str) -> Iterator[tuple[str, Mapping[str, Any]]]: ...

    def string(self, parent: Mapping[str, Any], key: str) -> str: ...


_UCUM = (("[iU]", "IU"), ("[IU]", "IU"), ("mm[Hg]", "mmHg"), ("Cel", "°C"), ("[degF]", "°F"), ("10*", "10^"))
_NOTE = lazy_pattern(r"\{[^}]*\}")


def packet_measurements(reader: JsonReader, top: Mapping[str, Any]) -> Iterator[Measurement]:
    """Yield the measurements of a phenopacket; one that cannot be used is noted."""
    for path, each in reader.objects(top, "measurements"):
        assay = reader.child(each, "assay", f"{path}.")
        label = reader.string(assay, "label")
        value = reader.child(each, "value", f"{path}.")
        quantity = reader.child(value, "quantity")
        said = reader.string(reader.child(value, "ontologyClass"), "label")
        number = reader.get(quantity, "value")
        measured = isinstance(number, int | float) and not isinstance(number, bool)
        if not label or not (measured or said):
            what = "has no label" if not label else "has no value that is read"
            called = label or reader.string(assay, "id")
            reader.note(
                path, f"the measurement {called[:60]!r} {what}", "ignored; give its label, a quantity and a unit"
            )
            continue
        if not measured:
            yield Measurement(label, said)
            continue
        limits = reader.child(quantity, "referenceRange")
        low, high = (_bound(reader.get(limits, end)) for end in ("low", "high"))
        yield Measurement(label, float(number), _unit(reader, reader.child(quantity, "unit")), low, high)


def _bound(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _unit(reader: JsonReader, unit: Mapping[str, Any]) -> str:
    code = reader.string(unit, "id")
    if not code.upper().startswith("UCUM:"):
        return reader.string(unit, "label")
    written = _NOTE.sub("", code[5:])
    for ucum, plain in _UCUM:
        written = written.replace(ucum, plain)
    return written
