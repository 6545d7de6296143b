"""Measured values: as a source gives them in fields, and the usual values that they are judged by."""

from __future__ import annotations

from dataclasses import dataclass


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
