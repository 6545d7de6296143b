"""What is refused of a source's records, counted by reason, and what users have mended of it.

A correction replaces one record by another. Records that the reader or the mapping refused are rows of a frame; those
that the check refused are rows of a class or relation. ``part`` of the quarantine table tells them apart.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.errors import SourceError, StoreError
from kgdx.files.known import whole_file
from kgdx.ingest.column_mapping import Staged
from kgdx.ingest.records import LINE, RECORD_LENGTH, REFUSED, Records, refuse

COLUMNS = {"part": pl.String, "line": pl.Int64, "record": pl.String, "mended": pl.String}
"""A correction: what the record is a row of, where it stands, how it read, and what it is now (a JSON object)."""

FRAME = "frame:"


def read(folder: Path) -> dict[str, pl.DataFrame]:
    """Return the corrections that a graph's folder keeps, by source.

    Raises:
        StoreError: A file of them is damaged.

    Example:
        >>> read(Path("/nowhere"))
        {}
    """
    found = {}
    for path in sorted((folder / "corrections").glob("*.parquet")):
        try:
            found[path.stem] = pl.read_parquet(path).select([pl.col(name).cast(kind) for name, kind in COLUMNS.items()])
        except (OSError, pl.exceptions.PolarsError) as error:
            message = f"the corrections in {path} cannot be read ({' '.join(str(error).split())})"
            raise StoreError(message, hint="remove the file; what it mended is refused again") from error
    return found


def digest(corrections: pl.DataFrame | None) -> str:
    """Return a checksum of a source's corrections, empty where there are none.

    Example:
        >>> digest(None)
        ''
    """
    if corrections is None or corrections.is_empty():
        return ""
    return hashlib.sha256(corrections.sort(list(COLUMNS)).write_json().encode()).hexdigest()


def add(folder: Path, source: str, new: pl.DataFrame) -> None:
    """Keep further corrections of a source; what mends an earlier correction takes its place.

    Raises:
        StoreError: They cannot be written.
    """
    kept = {_key(row): row for row in read(folder).get(source, pl.DataFrame(schema=COLUMNS)).to_dicts()}
    for row in new.to_dicts():
        earlier = next((key for key, old in kept.items() if _mends(row, old)), None)
        if earlier is None:
            kept[_key(row)] = row
        else:
            kept[earlier] = {**kept[earlier], "mended": row["mended"]}
    put(folder, source, pl.DataFrame(list(kept.values()), schema=COLUMNS))


def put(folder: Path, source: str, corrections: pl.DataFrame | None) -> None:
    """Keep these corrections of a source and no others; ``None`` for none.

    Raises:
        StoreError: They cannot be written.
    """
    path = folder / "corrections" / f"{source}.parquet"
    try:
        if corrections is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as temporary:
            corrections.write_parquet(temporary)
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror or error})", hint="check its folder") from error


@dataclass(slots=True)
class Mending:
    """Puts a source's corrections in the place of what they mend, first in its frames, then in its tables.

    Attributes:
        corrections: With the columns of :data:`COLUMNS`; ``None`` for none.
        left: How many fit no record, until now.
    """

    corrections: pl.DataFrame | None
    left: int = 0

    def __post_init__(self) -> None:
        self.left = 0 if self.corrections is None else self.corrections.height

    def records(self, records: Records) -> None:
        """Mend what the reader or the mapping refused; called before the records are mapped."""
        for row in self._rows():
            if _is_frame(row["part"]):
                self.left -= _into_frame(records, row)

    def table(self, table: Staged) -> Staged:
        """Mend what the check refused; called with each table before it is checked."""
        if table.role == "implied":
            return table
        rows = table.rows
        for row in self._rows():
            if row["part"] == part_of(table):
                mended = _into_rows(rows, row)
                self.left -= mended is not None
                rows = rows if mended is None else mended
        return table if rows is table.rows else replace(table, rows=rows)

    def _rows(self) -> list[dict[str, Any]]:
        return [] if self.corrections is None else self.corrections.to_dicts()


def _is_frame(part: str | None) -> bool:
    return part is None or part.startswith(FRAME)


def frame_of(part: str | None) -> str:
    """Return the frame that a refused record belongs in.

    Example:
        >>> frame_of("frame:term"), frame_of(None)
        ('term', 'rows')
    """
    return "rows" if part is None else part.removeprefix(FRAME)


def part_of(table: Staged) -> str:
    """Return what the records of a table are called in the quarantine table.

    Example:
        >>> part_of(Staged("hpoa", "HAS_PHENOTYPE", ("Disease", "Phenotype"), "record", pl.DataFrame()))
        'Disease-HAS_PHENOTYPE->Phenotype'
    """
    return table.name if table.ends is None else f"{table.ends[0]}-{table.name}->{table.ends[1]}"


def _into_frame(records: Records, correction: Mapping[str, Any]) -> bool:
    """Put a mended record into its frame: in the place of a row, or beside them for one that could not be read."""
    name = frame_of(correction["part"])
    if name not in records.frames:
        return False
    frame = records.frames[name]
    text = pl.col("record").str.slice(0, RECORD_LENGTH)
    unread = ((pl.col("line") == correction["line"]) & (text == correction["record"])).fill_null(False)
    if records.rejects.select(unread.any()).item():
        records.rejects = records.rejects.filter(~unread)
        records.frames[name] = pl.concat([frame, _row(frame, correction)], how="vertical_relaxed")
        return True
    whole = pl.struct(pl.exclude("^_.*$")).struct.json_encode().str.slice(0, RECORD_LENGTH)
    for index in (frame[LINE] == correction["line"]).fill_null(False).arg_true().to_list():
        if frame[index : index + 1].select(whole).item() == correction["record"]:
            records.frames[name] = _put(frame, index, correction)
            return True
    return False


def _into_rows(rows: pl.DataFrame, correction: Mapping[str, Any]) -> pl.DataFrame | None:
    """Put a mended record in the place of the row that it mends: that of its line with the ids that it had.

    A newer file may have another record on that line, which is left alone.
    """
    before = _object(correction["record"])
    keys = [name for name in ("id", "start", "end") if name in rows.columns]
    wanted = [_text(before.get(name)) for name in keys]
    for place in (rows[LINE] == correction["line"]).fill_null(False).arg_true().to_list():
        if [_text(rows[name][place]) for name in keys] == wanted:
            return _put(rows, place, correction)
    return None


def _text(id: Any) -> str | None:
    return None if id is None else str(id)


def _put(rows: pl.DataFrame, index: int, correction: Mapping[str, Any]) -> pl.DataFrame:
    mended = _row(rows, correction, rows[index : index + 1])
    return pl.concat([rows[:index], mended, rows[index + 1 :]], how="vertical_relaxed")


def _row(rows: pl.DataFrame, correction: Mapping[str, Any], old: pl.DataFrame | None = None) -> pl.DataFrame:
    """One row of the columns of ``rows``: what the correction says, and of what it does not name, what was there."""
    new = {} if old is None else old.to_dicts()[0]
    new |= {name: value for name, value in _object(correction["mended"]).items() if name in rows.columns}
    new[LINE] = correction["line"]
    return pl.DataFrame([_cell(name, new.get(name), kind) for name, kind in rows.schema.items()])


def _cell(name: str, value: Any, kind: pl.DataType) -> pl.Series:
    """Return one value as a column that can stand below one of the given type."""
    if value is None:
        return pl.Series(name, [None], dtype=kind)
    if isinstance(kind, pl.List):
        return pl.Series(name, [value if isinstance(value, list) else [value]])
    return pl.Series(name, [json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value])


def _object(text: str) -> dict[str, Any]:
    """Return a record that is JSON; of what is none, nothing is known."""
    try:
        content = json.loads(text)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["part"], row["line"], row["record"]


def _mends(row: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Return whether a correction mends what an earlier one made of the record."""
    if (row["part"], row["line"]) != (old["part"], old["line"]):
        return False
    given, before = _object(row["record"]), _object(old["mended"])
    common = [name for name in before if given.get(name) is not None]
    return bool(common) and all(before[name] == given[name] for name in common)


# Counts of loaded, merged and refused records by source, and the table of refused records with reasons.


SOURCE = "_source"
ROLE = "_role"
GIVEN = "_given_"
"""How a column begins that holds the id which a record's own column had before it was brought up to date."""
_REASON = "_reason"
QUARANTINE = {"source": pl.String, **REFUSED}
"""Columns of the quarantine table."""


@dataclass(slots=True)
class Counts:
    """Counts of a source's records: ``read = loaded + merged + quarantined``.

    ``resolved`` counts those whose obsolete or alternative HPO id was replaced by the current one.
    """

    read: int = 0
    loaded: int = 0
    merged: int = 0
    quarantined: int = 0
    resolved: int = 0

    def settle(self, source: str) -> None:
        """Raise an error unless every record is accounted for."""
        if self.read != self.loaded + self.merged + self.quarantined:
            parts = f"{self.read} read, {self.loaded} loaded, {self.merged} merged, {self.quarantined} quarantined"
            raise SourceError(f"the counts of {source} do not add up ({parts})", hint="please report this as a defect")


@dataclass(slots=True)
class Tally:
    """Counts what becomes of records, and keeps those that are refused, with the columns of :data:`QUARANTINE`."""

    counts: dict[str, Counts] = field(default_factory=dict)
    rejects: list[pl.DataFrame] = field(default_factory=list)

    def of(self, source: str) -> Counts:
        """Return the counts of a source."""
        return self.counts.setdefault(source, Counts())

    def add(self, rows: pl.DataFrame, outcome: str) -> None:
        """Count records of several sources, which the column ``_source`` names; implied nodes are none."""
        for source, number in _records(rows.select(SOURCE, ROLE)).group_by(SOURCE).len().iter_rows():
            counts = self.of(source)
            setattr(counts, outcome, getattr(counts, outcome) + number)

    def refused(self, source: str, rejects: pl.DataFrame) -> None:
        """Count and keep records that were refused before they were rows of a table."""
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
        """Return all refused records."""
        return quarantine_table(self.rejects)


def quarantine_table(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Put refused records together.

    Example:
        >>> quarantine_table([]).columns
        ['source', 'file', 'line', 'record', 'reason', 'part']
    """
    return pl.concat([pl.DataFrame(schema=QUARANTINE), *(part.select(list(QUARANTINE)) for part in parts)])


def _as_given(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the ids that stand in the file."""
    given = [name for name in rows.columns if name.startswith(GIVEN)]
    return rows.with_columns(pl.col(name).alias(name.removeprefix(GIVEN)) for name in given)


def _records(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that are records: an implied node is none, what mentions it is."""
    return rows.filter(pl.col(ROLE) != "implied")


def marked(table: Staged) -> pl.DataFrame:
    """Return a table's rows with the bookkeeping columns that :class:`Tally` counts by."""
    return table.rows.with_columns(pl.lit(table.source).alias(SOURCE), pl.lit(table.role).alias(ROLE))
