"""Frames that grow row by row as columns, for nested formats: what a reader of records fills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import pyarrow as pa

from kgdx.load.records import LINE, REJECTS

CHUNK = 20_000
"""Rows that are kept as Python objects before they become a part of the frame."""

TEXT = pl.String()
TEXTS = pl.List(pl.String())
_ARROW: Mapping[Any, pa.DataType] = {
    pl.Int64(): pa.int64(),
    pl.Float64(): pa.float64(),
    pl.Boolean(): pa.bool_(),
    TEXT: pa.large_string(),
    TEXTS: pa.large_list(pa.large_string()),
}
"""Arrow makes columns from Python's lists of lists many times faster than polars does."""


class Columns:
    """A frame in the making.

    Args:
        schema: Column → type; :data:`~kgdx.load.records.LINE` comes first by itself.

    Example:
        >>> rows = Columns({"id": TEXT})
        >>> rows.add(7, "MESH:D1")
        >>> rows.frame().to_dicts()
        [{'_line': 7, 'id': 'MESH:D1'}]
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = pl.Schema({LINE: pl.Int64(), **schema})
        self._parts: list[pl.DataFrame] = []
        self._lists: tuple[list[Any], ...] = ()
        self._begin()

    def _begin(self) -> None:
        self._lists = tuple([] for _ in self._schema)

    def add(self, *values: Any) -> None:
        """Add a row: its line, then the columns' values."""
        for column, value in zip(self._lists, values, strict=True):
            column.append(value)
        if len(self._lists[0]) >= CHUNK:
            self._flush()

    def _flush(self) -> None:
        kinds = [_ARROW[kind] for kind in self._schema.values()]
        arrays = [pa.array(column, kind) for column, kind in zip(self._lists, kinds, strict=True)]
        self._parts.append(pl.DataFrame(pl.from_arrow(pa.table(arrays, names=list(self._schema)))))
        self._begin()

    def frame(self) -> pl.DataFrame:
        """Return the frame of all rows so far."""
        self._flush()
        return pl.concat(self._parts, rechunk=True)


class Refused:
    """Refused records in the making.

    Example:
        >>> refused = Refused()
        >>> refused.add(3, "<a/>", "it has no id")
        >>> refused.frame().row(0)
        (None, 3, '<a/>', 'it has no id')
    """

    def __init__(self) -> None:
        self._rows: list[tuple[None, int | None, str, str]] = []

    def add(self, line: int | None, record: str, reason: str) -> None:
        """Refuse a record that begins on this line."""
        self._rows.append((None, line, record, reason))

    def frame(self) -> pl.DataFrame:
        """Return what was refused so far."""
        return pl.DataFrame(self._rows, schema=REJECTS, orient="row")
