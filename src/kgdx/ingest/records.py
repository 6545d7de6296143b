"""Records of one source file, and what becomes of them: loaded, merged or refused.

Frames have line numbers, builders fill them row by row. ``part`` of the table of refused records tells rows of a frame,
which the reader or the mapping refused, from rows of a class or relation, which the check refused.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import unicodedata
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import polars as pl
import pyarrow as pa

from kgdx.errors import SourceError

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
    """
    return tempfile.TemporaryFile(dir=SCRATCH.get())


def no_rejects() -> pl.DataFrame:
    return pl.DataFrame(schema=REFUSED)


@dataclass(slots=True)
class Records:
    frames: dict[str, pl.DataFrame]
    rejects: pl.DataFrame = field(default_factory=lambda: no_rejects())
    version: str | None = None
    merged: int = 0
    warnings: tuple[str, ...] = ()


def join_rejects(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Put refused records together, cutting long ones; what a part does not name is null."""
    every = pl.concat([no_rejects(), *parts], how="diagonal_relaxed").select(list(REFUSED))
    return every.with_columns(pl.col("line").cast(pl.Int64), pl.col("record").str.slice(0, RECORD_LENGTH))


def refuse(rows: pl.DataFrame, reason: pl.Expr | str, part: str | None = None) -> pl.DataFrame:
    """Turn rows into refused records: line, the row as JSON, and why."""
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


def split(rows: pl.DataFrame, reason: pl.Expr, part: str | None = None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Refuse the rows for which ``reason`` is not null; return the others, and the refused records."""
    judged = rows.with_columns(reason.alias("_reason"))
    wrong = judged.filter(pl.col("_reason").is_not_null())
    if wrong.is_empty():
        return rows, no_rejects()
    return judged.filter(pl.col("_reason").is_null()).drop("_reason"), refuse(wrong, pl.col("_reason"), part)


def minted(source: str, class_: str, text: str) -> str:
    """Return the stable id of something that its source knows by words only.

    The text counts in Unicode's compatibility form and without surplus blanks, so that how it is typed makes no
    difference.
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

_ARROW: Mapping[str, pa.DataType] = {
    "int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.large_string(),
    "strings": pa.large_list(pa.large_string()),
}
"""Arrow makes columns from Python's lists of lists many times faster than polars does."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def columns(listed: str) -> dict[str, str]:
    """Return columns with their kinds, which stand behind a colon; those without one are texts.

    Example:
        >>> columns("id synonyms:strings")
        {'id': 'string', 'synonyms': 'strings'}
    """
    return {name: kind or "string" for name, _, kind in (each.partition(":") for each in listed.split())}


class _Frame:
    def __init__(self, listed: str) -> None:
        self.kinds = columns(f"{LINE}:int64 {listed}")
        self.parts: list[pl.DataFrame] = []
        self.lists: tuple[list[Any], ...] = tuple([] for _ in self.kinds)

    def add(self, values: Iterable[Any]) -> None:
        for column, value in zip(self.lists, values, strict=True):
            column.append(value)
        if len(self.lists[0]) >= CHUNK:
            self._flush()

    def _flush(self) -> None:
        arrays = [pa.array(column, _ARROW[kind]) for column, kind in zip(self.lists, self.kinds.values(), strict=True)]
        self.parts.append(pl.DataFrame(pl.from_arrow(pa.table(arrays, names=list(self.kinds)))))
        self.lists = tuple([] for _ in self.kinds)

    def done(self) -> pl.DataFrame:
        self._flush()
        return pl.concat(self.parts, rechunk=True)


class RecordBuilder:
    """Fills frames row by row; their columns are listed as :func:`columns` reads them."""

    def __init__(self, frames: Mapping[str, str]) -> None:
        self._frames = {name: _Frame(listed) for name, listed in frames.items()}
        self.refused: list[tuple[str | None, int | None, str, str, str | None]] = []

    def add(self, frame: str, *values: Any) -> None:
        self._frames[frame].add(values)

    def holds(self, frame: str) -> bool:
        found = self._frames[frame]
        return bool(found.parts or found.lists[0])

    def refuse(
        self, line: int | None, record: object, reason: str, part: str | None = None, file: str | None = None
    ) -> None:
        shown = record if isinstance(record, str) else json.dumps(record, ensure_ascii=False, default=str)
        self.refused.append((file, line, _SURROGATE.sub("\ufffd", shown[:RECORD_LENGTH]), reason, part))

    @property
    def first_reason(self) -> str | None:
        return self.refused[0][3] if self.refused else None

    def frame(self, name: str) -> pl.DataFrame:
        return self._frames[name].done()

    def rejects(self) -> pl.DataFrame:
        return pl.DataFrame(self.refused, schema=REFUSED, orient="row")

    def records(self, version: str | None = None, warnings: Iterable[str] = ()) -> Records:
        frames = {name: frame.done() for name, frame in self._frames.items()}
        return Records(frames, join_rejects([self.rejects()]), version, warnings=tuple(warnings))


SOURCE = "_source"
ROLE = "_role"
GIVEN = "_given_"
"""How a column begins that holds the id which a record's own column had before it was brought up to date."""
_REASON = "_reason"
QUARANTINE = {"source": pl.String, **REFUSED}
"""Columns of the quarantine table."""


@dataclass(slots=True)
class RecordCounts:
    """Counts of a source's records: ``read = loaded + merged + quarantined``.

    ``resolved`` counts those whose obsolete or alternative HPO id was replaced by the current one.
    """

    read: int = 0
    loaded: int = 0
    merged: int = 0
    quarantined: int = 0
    resolved: int = 0

    def settle(self, source: str) -> None:
        if self.read != self.loaded + self.merged + self.quarantined:
            parts = f"{self.read} read, {self.loaded} loaded, {self.merged} merged, {self.quarantined} quarantined"
            raise SourceError(f"the counts of {source} do not add up ({parts})", hint="please report this as a defect")


@dataclass(slots=True)
class RecordTally:
    """Counts what becomes of records, and keeps those that are refused, with the columns of :data:`QUARANTINE`."""

    counts: dict[str, RecordCounts] = field(default_factory=dict)
    rejects: list[pl.DataFrame] = field(default_factory=list)

    def of(self, source: str) -> RecordCounts:
        return self.counts.setdefault(source, RecordCounts())

    def add(self, rows: pl.DataFrame, outcome: str) -> None:
        """Count records of several sources, which the column ``_source`` names; implied nodes are none."""
        for source, number in _records(rows.select(SOURCE, ROLE)).group_by(SOURCE).len().iter_rows():
            counts = self.of(source)
            setattr(counts, outcome, getattr(counts, outcome) + number)

    def refused(self, source: str, rejects: pl.DataFrame) -> None:
        counts = self.of(source)
        counts.read += rejects.height
        counts.quarantined += rejects.height
        self.rejects.append(rejects.with_columns(pl.lit(source).alias("source")).select(list(QUARANTINE)))

    def split(self, rows: pl.DataFrame, reason: pl.Expr, part: str) -> pl.DataFrame:
        """Quarantine the rows for which ``reason`` is not null, and return the others."""
        judged = rows.with_columns(reason.alias(_REASON))
        if judged[_REASON].null_count() == judged.height:
            return rows
        wrong = _records(judged.filter(pl.col(_REASON).is_not_null()))
        if wrong.height:
            self.add(wrong, "quarantined")
            rejects = refuse(_as_given(wrong).drop("source", strict=False), pl.col(_REASON), part)
            self.rejects.append(rejects.with_columns(wrong[SOURCE].alias("source")).select(list(QUARANTINE)))
        return judged.filter(pl.col(_REASON).is_null()).drop(_REASON)

    def quarantine(self) -> pl.DataFrame:
        return quarantine_table(self.rejects)


def quarantine_table(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=QUARANTINE), *(part.select(list(QUARANTINE)) for part in parts)])


def _as_given(rows: pl.DataFrame) -> pl.DataFrame:
    given = [name for name in rows.columns if name.startswith(GIVEN)]
    return rows.with_columns(pl.col(name).alias(name.removeprefix(GIVEN)) for name in given)


def _records(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col(ROLE) != "implied")


def by_reason(quarantine: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Group refused records by source and reason, with ids and quoted values taken out of it, the most frequent first.

    Returns:
        Source, reason, how many, and reason, file, line and record of the first.
    """
    shape = pl.col("reason").str.replace_all(r"'[^']*'|\b[A-Za-z]+:\w+\b", "…").alias("shape")
    first = pl.col("reason", "file", "line", "record").first()
    grouped = quarantine.group_by("source", shape, maintain_order=True).agg(pl.len().alias("count"), first)
    return grouped.sort("count", "source", "shape", descending=[True, False, False]).rows()
