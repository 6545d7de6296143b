"""Records of one source file: frames with line numbers, refused records, and builders that fill both row by row."""

from __future__ import annotations

import hashlib
import tempfile
import unicodedata
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import polars as pl
import pyarrow as pa

LINE = "_line"
"""Column that holds the line (or record number) a row was read from."""

REJECTS = {"file": pl.String, "line": pl.Int64, "record": pl.String, "reason": pl.String}
"""Columns of records that a reader refused; ``file`` is null for the source's own file."""

REFUSED = {**REJECTS, "part": pl.String}
"""Columns of all refused records.

``part`` says what the record is a row of: ``frame:NAME``, a node class, or ``Start-TYPE->End``; null where it could not
be read that far.
"""

RECORD_LENGTH = 500
"""A refused record is kept up to this many characters."""


SCRATCH: ContextVar[Path | None] = ContextVar("SCRATCH", default=None)
"""Folder for what a reader writes to disk while it reads; the system's own where a build says none."""


def scratch_file() -> IO[bytes]:
    """Return a file without a name, for what a reader cannot keep in memory.

    It is gone when it is closed, or when the process ends, however it ends.

    Example:
        >>> with scratch_file() as file:
        ...     file.write(b"kgdx")
        4
    """
    return tempfile.TemporaryFile(dir=SCRATCH.get())


def no_rejects() -> pl.DataFrame:
    """Return an empty frame of refused records.

    Example:
        >>> no_rejects().columns
        ['file', 'line', 'record', 'reason', 'part']
    """
    return pl.DataFrame(schema=REFUSED)


@dataclass(slots=True)
class Records:
    """The content of one source file.

    Attributes:
        frames: Named frames; each has a column :data:`LINE`.
        rejects: Refused records, with the columns of :data:`REJECTS`.
        version: The release that the file states, if it does.
        merged: Records that stand in no frame because the reader merged them into an equal one.
        warnings: What the build report should say of the file.
    """

    frames: dict[str, pl.DataFrame]
    rejects: pl.DataFrame = field(default_factory=lambda: no_rejects())
    version: str | None = None
    merged: int = 0
    warnings: tuple[str, ...] = ()


def join_rejects(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Put refused records together, cutting long ones.

    Example:
        >>> join_rejects([no_rejects(), no_rejects()]).height
        0
    """
    absent = pl.lit(None, pl.String).alias("part")
    frames = [rows if "part" in rows.columns else rows.with_columns(absent) for rows in parts]
    typed = [rows.select([pl.col(name).cast(kind) for name, kind in REFUSED.items()]) for rows in frames]
    return pl.concat([no_rejects(), *typed]).with_columns(pl.col("record").str.slice(0, RECORD_LENGTH))


def refuse(rows: pl.DataFrame, reason: pl.Expr | str, part: str | None = None) -> pl.DataFrame:
    """Turn rows into refused records: line, the row as JSON, and why.

    Args:
        rows: Rows of a frame; columns that start with an underscore are not part of the record.
        reason: One reason for all, or an expression over the rows.
        part: What they are rows of, see :data:`REFUSED`.

    Example:
        >>> refuse(pl.DataFrame({"_line": [7], "id": ["x"]}), "no such id", "frame:rows").row(0)
        (None, 7, '{"id":"x"}', 'no such id', 'frame:rows')
    """
    if rows.is_empty():
        return no_rejects()
    record = pl.struct(pl.exclude("^_.*$")).struct.json_encode()
    why = pl.lit(reason) if isinstance(reason, str) else reason
    line = pl.col(LINE) if LINE in rows.columns else pl.lit(None)
    return rows.select(
        pl.lit(None).cast(pl.String).alias("file"),
        line.cast(pl.Int64).alias("line"),
        record.alias("record"),
        why.alias("reason"),
        pl.lit(part, pl.String).alias("part"),
    )


def minted(source: str, class_: str, text: str) -> str:
    """Return the stable id of something that its source knows by words only.

    The text counts in Unicode's compatibility form and without surplus blanks, so that how it is typed makes no
    difference.

    Args:
        source: The source's name.
        class_: The node class.
        text: The words.

    Example:
        >>> minted("chinese_kg", "Symptom", "咳嗽") == minted("chinese_kg", "Symptom", " 咳嗽 ")
        True
    """
    words = " ".join(unicodedata.normalize("NFKC", text).split())
    digest = hashlib.sha256("\x1f".join((source, class_, words)).encode()).hexdigest()
    return f"KGDX:{source}.{digest[:16]}"


def mint(source: str, class_: str, text: pl.Series) -> pl.Series:
    """Return the :func:`minted` ids of a column, each different text being read once; absent stays absent."""
    different = text.drop_nulls().unique()
    ids = pl.Series([minted(source, class_, each) for each in different], dtype=pl.String)
    return text.replace_strict(different, ids, default=None, return_dtype=pl.String)


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
        schema: Column → type; :data:`~kgdx.ingest.records.LINE` comes first by itself.

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
