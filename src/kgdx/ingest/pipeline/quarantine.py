"""The records that a build refused: looked at, written out to be mended, and read back as corrections."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.errors import StoreError, UsageError
from kgdx.ingest import corrections
from kgdx.ingest.corrections import QUARANTINE
from kgdx.ingest.pipeline import build_files
from kgdx.ingest.pipeline.build_report import BuildReport, read_report
from kgdx.ingest.pipeline.build_summary import shape_of_reason
from kgdx.ingest.pipeline.graph_folder import GraphFolder
from kgdx.ingest.records import RECORD_LENGTH

KEY = "key"
EXPORTED = (KEY, "source", "file", "line", "part", "reason", "record")
"""Columns of an exported file; of these, people change ``record``."""
FORMATS = (".csv", ".jsonl", ".parquet")


def read(folder: GraphFolder, source: str | None = None) -> pl.DataFrame:
    """Return the quarantine table of a graph, of one source or of all.

    Raises:
        StoreError: There is no graph, or its table cannot be read.
        UsageError: The graph has no such source.
    """
    with folder.reading() as build:
        try:
            if not (
                build_files.whole(build.path, build.quarantine.name) and build_files.whole(build.path, "report.json")
            ):
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
class Group:
    """Records of one source that were refused for one reason.

    Attributes:
        source: The source.
        reason: Why, with ``…`` for what differs from record to record.
        count: How many they are.
        example: Why the first of them was refused, in full.
        file: Its file; ``None`` for the source's own.
        line: Its line.
        record: The record.
    """

    source: str
    reason: str
    count: int
    example: str
    file: str | None
    line: int | None
    record: str


def summary(table: pl.DataFrame) -> tuple[Group, ...]:
    """Group refused records by source and reason, most frequent first.

    Example:
        >>> summary(pl.DataFrame(schema=QUARANTINE))
        ()
    """
    grouped = table.group_by("source", shape_of_reason().alias("shape"), maintain_order=True).agg(
        pl.len().alias("count"), pl.col("reason", "file", "line", "record").first()
    )
    ordered = grouped.sort("count", "source", "shape", descending=[True, False, False])
    names = ("source", "shape", "count", "reason", "file", "line", "record")
    return tuple(Group(*row) for row in ordered.select(names).iter_rows())


def export(table: pl.DataFrame, path: Path) -> int:
    """Write refused records to a CSV, JSON lines or Parquet file, by its suffix, and return how many they are.

    Raises:
        UsageError: The suffix is none of these, or the file is there already.
    """
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"{path} has none of the suffixes {', '.join(FORMATS)}", hint="name it like that")
    if path.exists():
        raise UsageError(f"{path} is there already", hint="give another name: what was mended in it would be lost")
    keyed = _keyed(table).select(EXPORTED)
    if path.suffix.lower() == ".csv":
        keyed.write_csv(path)
    elif path.suffix.lower() == ".jsonl":
        keyed.write_ndjson(path)
    else:
        keyed.write_parquet(path)
    return keyed.height


def mended(table: pl.DataFrame, path: Path) -> Mapping[str, pl.DataFrame]:
    """Compare an exported file with the quarantine table, and return the records that were mended, by source.

    Args:
        table: The quarantine table as it is now.
        path: A file that :func:`export` wrote and that someone has changed.

    Returns:
        Source → corrections, with the columns of :data:`kgdx.ingest.corrections.COLUMNS`.

    Raises:
        UsageError: It is no such file, or a mended record cannot be read; the message says which.
    """
    given = _read(path)
    now = {row[KEY]: row for row in _keyed(table).to_dicts()}
    found: dict[str, list[tuple[Any, ...]]] = {}
    for number, row in enumerate(given.to_dicts(), 2):
        old = now.get(row[KEY])
        if old is None or row["record"] is None or row["record"] == old["record"]:
            continue
        _check(row["record"], old["record"], f"{path}, record {number - 1} ({old['source']}, line {old['line']})")
        correction = (old["part"], old["line"], old["record"][:RECORD_LENGTH] if _of_frame(old) else old["record"])
        found.setdefault(old["source"], []).append((*correction, row["record"]))
    return {source: pl.DataFrame(rows, schema=corrections.COLUMNS, orient="row") for source, rows in found.items()}


@dataclass(frozen=True, slots=True)
class Retried:
    """The outcome of loading refused records again.

    Attributes:
        report: Of the update.
        mended: Source → how many of its records were mended.
        before: How many records were refused before, of all sources.
        after: How many are refused now.
        refused: Those of the mended records that are refused again, with the columns of the quarantine table.
    """

    report: BuildReport
    mended: Mapping[str, int]
    before: int
    after: int
    refused: tuple[Mapping[str, Any], ...]


def retry(folder: GraphFolder, file: Path | None, update: Callable[[Sequence[str]], BuildReport]) -> Retried:
    """Load refused records again: the mended ones of a file, or all as they are, against what the graph has now.

    What was mended is kept in the graph's folder, so that later builds put it in its place too; not so where the
    update fails.

    Args:
        folder: The graph.
        file: A mended file that :func:`export` wrote.
        update: Updates sources of the graph.

    Raises:
        UsageError: Nothing is mended in the file, or it is no such file.
        KgdxError: Whatever the update raises.
    """
    table = read(folder)
    found = {} if file is None else mended(table, file)
    if file is not None and not found:
        hint = "change the column `record` of a record that is still refused"
        raise UsageError(f"no record of {file} is mended", hint=hint)
    with folder.deciding():
        old = corrections.read(folder.path)
        try:
            for source, new in found.items():
                corrections.add(folder.path, source, new)
            report = update(list(found) if found else _with_files(folder, table))
        except BaseException:
            for source in found:
                corrections.put(folder.path, source, old.get(source))
            raise
    after = read(folder)
    places = [new.select(pl.lit(source).alias("source"), "part", "line") for source, new in found.items()]
    again = (
        after.join(pl.concat(places), on=["source", "part", "line"], nulls_equal=True, how="semi") if places else None
    )
    refused = () if again is None else tuple(again.to_dicts())
    return Retried(report, {source: new.height for source, new in found.items()}, table.height, after.height, refused)


def _with_files(folder: GraphFolder, table: pl.DataFrame) -> list[str]:
    """Return the sources that have refused records and that were read from a file."""
    with folder.reading() as build:
        known = read_report(build.report).sources
    named = table["source"].unique(maintain_order=True).to_list()
    if not (found := [name for name in named if name in known and known[name].origin]):
        raise UsageError("no record is refused", hint="there is nothing to try again")
    return found


def _of_frame(row: Mapping[str, Any]) -> bool:
    return row["part"] is None or row["part"].startswith(corrections.FRAME)


def _check(text: str, before: str, where: str) -> None:
    """A mended record is a JSON object; it names no field that the record it mends does not have."""
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
    """With a short digest that finds each record again in a file that was changed."""
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
