"""The records that a build refused: looked at, written out to be mended, read back as corrections, and put in place.

A correction replaces one record by another. Those that a graph's folder keeps hold for every build of it.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.errors import StoreError, UsageError, refusing
from kgdx.files.known import whole_file
from kgdx.graph.tables import title
from kgdx.ingest.column_mapping import StagedTable
from kgdx.ingest.pipeline import build_files
from kgdx.ingest.pipeline.build_report import BuildReport, RefusalCount, read_report
from kgdx.ingest.pipeline.graph_folder import GraphFolder
from kgdx.ingest.records import LINE, QUARANTINE, RECORD_LENGTH, Records, by_reason

KEY = "key"
EXPORTED = (KEY, "source", "file", "line", "part", "reason", "record")
"""Columns of an exported file; of these, people change ``record``."""
FORMATS = (".csv", ".jsonl", ".parquet")


def read(folder: GraphFolder, source: str | None = None) -> pl.DataFrame:
    """Return the quarantine table of a graph, of one source or of all."""
    with folder.reading() as build:
        try:
            if not all(build_files.whole(build.path, file.name) for file in (build.quarantine, build.report)):
                raise ValueError("it is not what was written")
            table = pl.read_parquet(build.quarantine)
            known = json.loads(build.report.read_text("utf-8"))["sources"]
        except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
            message = f"the quarantine table {build.quarantine} cannot be read ({' '.join(str(error).split())})"
            raise StoreError(message, hint="build the graph again with `kgdx build`") from error
    if source is not None and source not in known:
        raise UsageError(f"the graph has no source {source!r}", hint=f"it has {', '.join(known)}")
    absent = [pl.lit(None, kind).alias(name) for name, kind in QUARANTINE.items() if name not in table.columns]
    table = table.with_columns(absent).select(list(QUARANTINE))
    return table if source is None else table.filter(pl.col("source") == source)


@dataclass(frozen=True, slots=True)
class RefusalGroup(RefusalCount):
    """Records of one source that were refused for one reason, with the place and content of one of them."""

    file: str | None
    line: int | None
    record: str


def summary(table: pl.DataFrame) -> tuple[RefusalGroup, ...]:
    return tuple(RefusalGroup(*row) for row in by_reason(table))


def export(table: pl.DataFrame, path: Path) -> int:
    """Write refused records to a CSV, JSON lines or Parquet file, by its suffix, and return how many they are."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"{path} has none of the suffixes {', '.join(FORMATS)}", hint="name it like that")
    if path.exists():
        raise UsageError(f"{path} is there already", hint="give another name: what was mended in it would be lost")
    keyed = _keyed(table).select(EXPORTED)
    write: Mapping[str, Callable[[Path], None]] = {
        ".csv": keyed.write_csv,
        ".jsonl": keyed.write_ndjson,
        ".parquet": keyed.write_parquet,
    }
    with whole_file(path) as temporary:
        write[path.suffix.lower()](temporary)
    return keyed.height


def mended(table: pl.DataFrame, path: Path) -> Mapping[str, pl.DataFrame]:
    """Compare an exported file with the quarantine table, and return corrections (:data:`CORRECTION`) by source."""
    given = _read(path)
    now = {row[KEY]: row for row in _keyed(table).to_dicts()}
    found: dict[str, list[tuple[Any, ...]]] = {}
    for number, row in enumerate(given.to_dicts(), 2):
        old = now.get(row[KEY])
        if old is None or row["record"] is None or row["record"] == old["record"]:
            continue
        _check(row["record"], old["record"], f"{path}, record {number - 1} ({old['source']}, line {old['line']})")
        before = old["record"][:RECORD_LENGTH] if _is_frame(old["part"]) else old["record"]
        found.setdefault(old["source"], []).append((old["part"], old["line"], before, row["record"]))
    return {source: pl.DataFrame(rows, schema=CORRECTION, orient="row") for source, rows in found.items()}


@dataclass(frozen=True, slots=True)
class RetryResult:
    report: BuildReport
    mended: Mapping[str, int]
    before: int
    after: int
    refused: tuple[Mapping[str, Any], ...]


def retry(folder: GraphFolder, file: Path | None, update: Callable[[Sequence[str]], BuildReport]) -> RetryResult:
    """Load refused records again: the mended ones of a file, or all as they are, against what the graph has now.

    What was mended is kept in the graph's folder, so that later builds put it in its place too; not so where the
    update fails.
    """
    table = read(folder)
    found = {} if file is None else mended(table, file)
    if file is not None and not found:
        hint = "change the column `record` of a record that is still refused"
        raise UsageError(f"no record of {file} is mended", hint=hint)
    with folder.deciding():
        old = read_corrections(folder.path)
        try:
            for source, new in found.items():
                keep_corrections(folder.path, source, new)
            report = update(list(found) if found else _with_files(folder, table))
        except BaseException:
            for source in found:
                put_corrections(folder.path, source, old.get(source))
            raise
    after = read(folder)
    places = {(source, *place) for source, new in found.items() for place in new.select("part", "line").iter_rows()}
    refused = tuple(row for row in after.to_dicts() if (row["source"], row["part"], row["line"]) in places)
    counts = {source: new.height for source, new in found.items()}
    return RetryResult(report, counts, table.height, after.height, refused)


def _with_files(folder: GraphFolder, table: pl.DataFrame) -> list[str]:
    with folder.reading() as build:
        known = read_report(build.report).sources
    named = table["source"].unique(maintain_order=True).to_list()
    if not (found := [name for name in named if name in known and known[name].origin]):
        raise UsageError("no record is refused", hint="there is nothing to try again")
    return found


def _check(text: str, before: str, where: str) -> None:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{where} is no JSON ({error})", hint='write it like {"column": "value"}') from error
    if not isinstance(content, dict):
        raise UsageError(f"{where} is no JSON object", hint='write it like {"column": "value"}')
    try:
        known = json.loads(before)
    except ValueError:
        return  # a line that could not be read: what its columns are called stands in the file's header
    unknown = [name for name in content if isinstance(known, dict) and name not in known]
    if unknown:
        raise UsageError(f"{where} has a field {unknown[0]!r}", hint=f"it may have {', '.join(known)}")


def _keyed(table: pl.DataFrame) -> pl.DataFrame:
    parts = table.select(pl.exclude("reason")).cast(pl.String).fill_null("").rows()
    seen: dict[str, int] = {}
    keys = []
    for row in parts:
        digest = hashlib.sha256("\x1f".join(row).encode()).hexdigest()[:16]
        seen[digest] = seen.get(digest, 0) + 1
        keys.append(digest if seen[digest] == 1 else f"{digest}-{seen[digest]}")
    return table.with_columns(pl.Series(KEY, keys, dtype=pl.String))


def _read(path: Path) -> pl.DataFrame:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is no regular file", hint="save its content to a file first")
    try:
        content = path.read_bytes()
        if path.suffix.lower() == ".parquet":
            table = pl.read_parquet(io.BytesIO(content))
        elif path.suffix.lower() == ".jsonl":
            table = pl.read_ndjson(io.BytesIO(content), schema_overrides={"record": pl.String, KEY: pl.String})
        else:
            table = pl.read_csv(io.BytesIO(content), infer_schema=False)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror or error})", hint="check the path") from error
    except pl.exceptions.PolarsError as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(f"{path} is no table that was exported ({reason})", hint="export it again") from error
    if not {KEY, "record"} <= set(table.columns):
        raise UsageError(f"{path} has no columns {KEY} and record", hint="give a file of `kgdx quarantine export`")
    return table


CORRECTION = {"part": pl.String, "line": pl.Int64, "record": pl.String, "mended": pl.String}
"""A correction: what the record is a row of, where it stands, how it read, and what it is now (a JSON object)."""

FRAME = "frame:"


def read_corrections(folder: Path) -> dict[str, pl.DataFrame]:
    """Return the corrections that a graph's folder keeps, by source."""
    found = {}
    for path in sorted((folder / "corrections").glob("*.parquet")):
        try:
            found[path.stem] = pl.read_parquet(path).select(
                pl.col(name).cast(kind) for name, kind in CORRECTION.items()
            )
        except (OSError, pl.exceptions.PolarsError) as error:
            message = f"the corrections in {path} cannot be read ({' '.join(str(error).split())})"
            raise StoreError(message, hint="remove the file; what it mended is refused again") from error
    return found


def corrections_digest(corrections: pl.DataFrame | None) -> str:
    if corrections is None or corrections.is_empty():
        return ""
    return hashlib.sha256(corrections.sort(list(CORRECTION)).write_json().encode()).hexdigest()


def keep_corrections(folder: Path, source: str, new: pl.DataFrame) -> None:
    """Keep further corrections of a source; what mends an earlier correction takes its place."""
    kept = {_key(row): row for row in read_corrections(folder).get(source, pl.DataFrame(schema=CORRECTION)).to_dicts()}
    for row in new.to_dicts():
        earlier = next((key for key, old in kept.items() if _mends(row, old)), None)
        if earlier is None:
            kept[_key(row)] = row
        else:
            kept[earlier] = {**kept[earlier], "mended": row["mended"]}
    put_corrections(folder, source, pl.DataFrame(list(kept.values()), schema=CORRECTION))


def put_corrections(folder: Path, source: str, corrections: pl.DataFrame | None) -> None:
    """Keep these corrections of a source and no others; ``None`` for none."""
    path = folder / "corrections" / f"{source}.parquet"
    with refusing(StoreError, f"{path} cannot be written", "check its folder"):
        if corrections is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as temporary:
            corrections.write_parquet(temporary)


@dataclass(slots=True)
class Corrections:
    """Puts a source's corrections in the place of what they mend, first in its frames, then in its tables."""

    corrections: pl.DataFrame | None
    rows: list[dict[str, Any]] = field(init=False)
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.rows = [] if self.corrections is None else self.corrections.to_dicts()
        self.left = len(self.rows)

    def records(self, records: Records) -> None:
        for row in self.rows:
            if _is_frame(row["part"]):
                self.left -= _into_frame(records, row)

    def table(self, table: StagedTable) -> StagedTable:
        if table.role == "implied":
            return table
        rows = table.rows
        for row in self.rows:
            if row["part"] == title(table):
                mended = _into_rows(rows, row)
                self.left -= mended is not None
                rows = rows if mended is None else mended
        return table if rows is table.rows else replace(table, rows=rows)


def _is_frame(part: str | None) -> bool:
    return part is None or part.startswith(FRAME)


def _into_frame(records: Records, correction: Mapping[str, Any]) -> bool:
    name = "rows" if correction["part"] is None else correction["part"].removeprefix(FRAME)
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
    wanted = [str(before.get(name)) for name in keys]
    for place in (rows[LINE] == correction["line"]).fill_null(False).arg_true().to_list():
        if [str(rows[name][place]) for name in keys] == wanted:
            return _put(rows, place, correction)
    return None


def _put(rows: pl.DataFrame, index: int, correction: Mapping[str, Any]) -> pl.DataFrame:
    mended = _row(rows, correction, rows[index : index + 1])
    return pl.concat([rows[:index], mended, rows[index + 1 :]], how="vertical_relaxed")


def _row(rows: pl.DataFrame, correction: Mapping[str, Any], old: pl.DataFrame | None = None) -> pl.DataFrame:
    new = {} if old is None else old.to_dicts()[0]
    new |= {name: value for name, value in _object(correction["mended"]).items() if name in rows.columns}
    new[LINE] = correction["line"]
    return pl.DataFrame([_cell(name, new.get(name), kind) for name, kind in rows.schema.items()])


def _cell(name: str, value: Any, kind: pl.DataType) -> pl.Series:
    if value is None:
        return pl.Series(name, [None], dtype=kind)
    if isinstance(kind, pl.List):
        return pl.Series(name, [value if isinstance(value, list) else [value]])
    return pl.Series(name, [json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value])


def _object(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["part"], row["line"], row["record"]


def _mends(row: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    if (row["part"], row["line"]) != (old["part"], old["line"]):
        return False
    given, before = _object(row["record"]), _object(old["mended"])
    common = [name for name in before if given.get(name) is not None]
    return bool(common) and all(before[name] == given[name] for name in common)
