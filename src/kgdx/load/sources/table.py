"""Tab-separated tables with a header line: every line is split by its own, so that a bad one is named and set apart."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from kgdx.errors import SourceError
from kgdx.load.fetch import read_text
from kgdx.load.manifest import Manifest
from kgdx.load.records import LINE, Records, join_rejects, no_rejects

HEADER_LINES = 200
"""Lines in which the version is looked for."""


def read(path: Path, manifest: Manifest) -> Records:
    """Read a table whose columns the manifest names, as the frame ``rows`` (all columns text, empty is null).

    Raises:
        SourceError: The file is unreadable, or a column is missing.
    """
    frame, rejects, version = read_lines(path, manifest)
    return Records({"rows": frame.drop("_text")}, join_rejects(rejects), version)


def read_lines(path: Path, manifest: Manifest) -> tuple[pl.DataFrame, list[pl.DataFrame], str | None]:
    """Split a table's lines into columns.

    Returns:
        The rows with :data:`LINE` and ``_text`` (the line itself); refused lines; the version that the file states.
    """
    content = read_text(path, manifest.encoding)
    version = find_version(content, manifest)
    lines = pl.read_lines(io.BytesIO(content), name="_text", row_index_name=LINE, row_index_offset=1)
    lines = lines.with_columns(pl.col("_text").str.strip_chars_end("\r"))
    lines = lines.filter((pl.col("_text").str.strip_chars(" \t") != "") & ~pl.col("_text").str.starts_with("#"))
    if lines.is_empty():
        raise SourceError(f"{path} holds no table", hint="check that it is the right file")
    header = str(lines.item(0, "_text")).split("\t")
    _check_header(path, header, manifest.columns)
    lines = lines.slice(1)
    found = pl.col("_text").str.count_matches("\t", literal=True) + 1
    damaged = pl.col("_text").str.contains("[\ufffd\x00]")
    wrong = (found != len(header)) | damaged
    reason = (
        pl.when(damaged)
        .then(pl.lit("the line holds bytes that are no text in UTF-8"))
        .otherwise(pl.format("the line has {} columns, the header has {}", found, pl.lit(len(header))))
    )
    rejects = [_reject(lines.filter(wrong), reason)]
    cells = pl.col("_text").str.split_exact("\t", len(header) - 1).struct.rename_fields(header).alias("_cells")
    rows = lines.filter(~wrong).with_columns(cells).unnest("_cells")
    texts = [pl.col(name).str.strip_chars().replace("", None) for name in header]
    return rows.with_columns(texts), rejects, version


def find_version(content: bytes, manifest: Manifest) -> str | None:
    """Return what the manifest's ``version`` expression finds in the first lines."""
    if manifest.version is None:
        return None
    head = b"\n".join(content[: 1 << 16].split(b"\n")[:HEADER_LINES]).decode("utf-8", "replace")
    found = re.search(manifest.version, head, re.MULTILINE)
    return found[1] if found else None


def shown(column: str) -> pl.Expr:
    """Return an expression that writes a cell's value for a message."""
    return pl.concat_str(pl.lit("'"), pl.col(column).fill_null("").str.slice(0, 60), pl.lit("'"))


def _reject(rows: pl.DataFrame, reason: pl.Expr) -> pl.DataFrame:
    if rows.is_empty():
        return no_rejects()
    return rows.select(
        pl.lit(None).cast(pl.String).alias("file"),
        pl.col(LINE).cast(pl.Int64).alias("line"),
        pl.col("_text").alias("record"),
        reason.alias("reason"),
    )


def _check_header(path: Path, header: Sequence[str], columns: Sequence[str]) -> None:
    missing = [column for column in columns if column not in header]
    if missing:
        message = f"{path} has no column {missing[0]!r} in its header line"
        raise SourceError(message, hint=f"it should have {', '.join(columns)}")
    if len(set(header)) != len(header) or any(name.startswith("_") for name in header):
        raise SourceError(f"{path} has a column name twice, or one that starts with '_'", hint="mend the header line")
