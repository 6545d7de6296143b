"""What becomes of a source's records: counts of those loaded, merged and refused, and the table of the refused ones.

``part`` of that table tells rows of a frame, which the reader or the mapping refused, from rows of a class or relation,
which the check refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from kgdx.errors import SourceError
from kgdx.ingest.column_mapping import StagedTable
from kgdx.ingest.records import REFUSED, refuse

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


def marked(table: StagedTable) -> pl.DataFrame:
    return table.rows.with_columns(pl.lit(table.source).alias(SOURCE), pl.lit(table.role).alias(ROLE))


def by_reason(quarantine: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Group refused records by source and reason, with ids and quoted values taken out of it, the most frequent first.

    Returns:
        Source, reason, how many, and reason, file, line and record of the first.
    """
    shape = pl.col("reason").str.replace_all(r"'[^']*'|\b[A-Za-z]+:\w+\b", "…").alias("shape")
    first = pl.col("reason", "file", "line", "record").first()
    grouped = quarantine.group_by("source", shape, maintain_order=True).agg(pl.len().alias("count"), first)
    return grouped.sort("count", "source", "shape", descending=[True, False, False]).rows()
