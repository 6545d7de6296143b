"""Columns of an Arrow file, mapped by numpy: who only reads them needs no Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np

from kgdx.arrays.sparse import Ints

Places = Mapping[str, Any]
"""Of each column: its kind, how many of its values are absent, and where its buffers are in the file."""

_NUMBERS: Mapping[str, np.dtype[Any]] = {name: np.dtype(name) for name in ("int32", "int64", "float64")}
_START: np.dtype[Any] = np.dtype(np.int32)


def places(file: Path) -> tuple[dict[str, Any], int]:
    """Find the columns of a file with one batch of rows, and the number of its rows, by Arrow itself."""
    import pyarrow as pa

    whole = pa.memory_map(str(file)).read_buffer()
    try:
        table = pa.ipc.open_file(whole).read_all()
    except pa.ArrowException as error:
        raise ValueError(str(error)) from error
    found: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        array = column.chunk(0) if table.num_rows else pa.nulls(0, column.type)
        buffers = [
            [each.address - whole.address, each.size] if each and table.num_rows else None for each in array.buffers()
        ]
        found[name] = [_kind(array.type), array.null_count, buffers]
    return found, table.num_rows


def mapped_columns(file: Path, rows: int | None = None, placed: Places | None = None) -> dict[str, Column]:
    """Map a file's columns; without their places, and their number of rows, Arrow is asked for them."""
    if placed is None or rows is None:
        placed, rows = places(file)
    raw = np.memmap(file, np.uint8, "r").view(np.ndarray)
    return {name: Column(raw, rows, place) for name, place in placed.items()}


def _kind(type: Any) -> str:
    names = {"double": "float64", "list<item: string>": "strings", "list<element: string>": "strings"}
    return names.get(str(type), str(type))


class Column(Sequence[Any]):
    """The values of one column, read where they are asked for: numbers, texts, or lists of texts."""

    def __init__(self, raw: Ints, rows: int, place: Sequence[Any]) -> None:
        kind, nulls, buffers = place
        views = [None if each is None else raw[each[0] : each[0] + each[1]] for each in buffers]
        self.kind, self._rows = str(kind), rows
        self._valid = views[0] if nulls else None
        self._data = views[-1] if views[-1] is not None else raw[:0]
        if kind in _NUMBERS:
            size = _NUMBERS[kind].itemsize
            self._numbers = self._data[: size * rows].view(_NUMBERS[kind])
            if len(self._numbers) != rows:
                raise ValueError("its numbers are cut off")
        elif kind in ("string", "strings"):
            self._start = _starts(views[1], rows)
            self._items = self._start if kind == "string" else _starts(views[3], int(self._start[-1]))
            self._item_valid = None if kind == "string" else views[2]
            if int(self._items[-1]) > len(self._data):
                raise ValueError("its texts are cut off")
        elif kind != "bool":
            raise ValueError(f"it has a column of {kind}")

    @classmethod
    def absent(cls, kind: str, rows: int) -> Column:
        """Return a column without any value."""
        raw = np.zeros(8 * (rows + 1), np.uint8)
        return cls(
            raw,
            rows,
            [kind, rows, [[0, len(raw)], [0, len(raw)], None, [0, len(raw)], [0, len(raw) if kind in _NUMBERS else 0]]],
        )

    def __len__(self) -> int:
        return self._rows

    @overload
    def __getitem__(self, row: int) -> Any: ...

    @overload
    def __getitem__(self, row: slice) -> list[Any]: ...

    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            first, last, step = row.indices(self._rows)
            return self.values(first, last)[::step]
        place = range(self._rows)[row]
        if self._valid is not None and not self._valid[place >> 3] >> (place & 7) & 1:
            return None
        if self.kind == "string":
            starts, data = self._views
            return str(data[starts[place] : starts[place + 1]], "utf-8")
        return self.values(place, place + 1)[0]

    @cached_property
    def _views(self) -> tuple[memoryview, memoryview]:
        """Where each text begins, and the texts: of single ones these are quicker than arrays."""
        return self._items.data, self._data.data

    @cached_property
    def all(self) -> list[Any]:
        """All values as plain Python, made once and shared: leave them as they are."""
        return self.values()

    def values(self, first: int = 0, last: int | None = None) -> list[Any]:
        """Return the values of some rows as plain Python, absent ones as ``None``."""
        first = min(first, self._rows)
        last = self._rows if last is None else max(min(last, self._rows), first)
        found: list[Any]
        if self.kind in _NUMBERS:
            found = self._numbers[first:last].tolist()
        elif self.kind == "bool":
            found = _bits(self._data, first, last).tolist()
        elif self.kind == "string":
            found = self._texts(first, last)
        else:
            begin = int(self._start[first])
            items: list[Any] = self._texts(begin, int(self._start[last]))
            if self._item_valid is not None:
                there = _bits(self._item_valid, begin, begin + len(items)).tolist()
                items = [item if known else None for item, known in zip(items, there, strict=True)]
            starts = (self._start[first : last + 1] - begin).tolist()
            found = [items[one:other] for one, other in pairwise(starts)]
        if self._valid is None:
            return found
        there = _bits(self._valid, first, last).tolist()
        return [value if known else None for value, known in zip(found, there, strict=True)]

    def array(self) -> Ints:
        """Return all values as an array: numbers without a copy, as float64 with NaN where some are absent.

        Texts and lists are objects, with ``None`` for absent ones.
        """
        if self.kind in _NUMBERS:
            if self._valid is None:
                return self._numbers
            return np.where(_bits(self._valid, 0, self._rows), self._numbers.astype(float), np.nan)
        if self.kind == "bool" and self._valid is None:
            return _bits(self._data, 0, self._rows)
        found = np.empty(self._rows, object)
        found[:] = self.values()
        return found

    def _texts(self, first: int, last: int) -> list[str]:
        starts = self._items[first : last + 1].tolist()
        if not starts:
            return []
        data = self._data[starts[0] : starts[-1]].tobytes()
        begin = starts[0]
        if data.isascii():
            text = data.decode("ascii")
            return [text[one - begin : other - begin] for one, other in pairwise(starts)]
        return [data[one - begin : other - begin].decode() for one, other in pairwise(starts)]


def _starts(view: Ints | None, rows: int) -> Ints:
    if view is None or len(view) < _START.itemsize * (rows + 1):
        if rows:
            raise ValueError("its rows are cut off")
        return np.zeros(1, _START)
    return view[: _START.itemsize * (rows + 1)].view(_START)


def _bits(view: Ints, first: int, last: int) -> Ints:
    start = first // 8
    found: Ints = np.unpackbits(view[start : (last + 7) // 8], bitorder="little")
    return found[first - 8 * start : last - 8 * start].astype(bool)
