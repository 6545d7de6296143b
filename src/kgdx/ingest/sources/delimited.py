"""Tables with a header line, tab-separated or with any other delimiter: a damaged line is named and set apart.

A damaged line is named and set apart, and the others are read.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from kgdx.errors import SourceError
from kgdx.ingest.column_mapping import mapped_columns
from kgdx.ingest.fetch import read_text
from kgdx.ingest.manifest import Manifest, did_you_mean
from kgdx.ingest.records import LINE, Records, join_rejects, no_rejects
from kgdx.ingest.sources.csv_blocks import Header, header_cells, read_blocks
from kgdx.ingest.unpack import unpacked

VERSION = "1"
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


DELIMITERS = ",\t;|"
_HEAD = 1 << 20


def read_csv(path: Path, manifest: Manifest) -> Records:
    """Read a table with a header line, as the frame ``rows`` (all columns text, empty is null).

    The delimiter is the manifest's, or the one of comma, tab, semicolon and bar that the header line has most of. A
    column without a name is called ``column_N``, a name's leading underscores are dropped.

    Raises:
        SourceError: The file is unreadable, or a column is missing.
    """
    head = head_of(path, manifest.encoding)
    header = header_of(path, head, manifest.delimiter)
    for name in mapped_columns(manifest):
        if name not in header.columns:
            hint = f"it has {', '.join(header.columns)}{did_you_mean(name, header.columns)}"
            raise SourceError(f"{path} has no column {name!r} in its header line", hint=hint)
    blocks = list(read_blocks(path, header, manifest.encoding))
    frames = [frame for frame, _ in blocks]
    if not any(frame.height for frame in frames):
        raise SourceError(f"{path} holds no records", hint="check that it is the right file")
    kept = [LINE, *(mapped_columns(manifest) or header.columns)]
    rows = pl.concat([frame.select(kept) for frame in frames])
    texts = [pl.col(name).str.strip_chars().replace("", None) for name in kept[1:]]
    rejects = join_rejects([refused for _, refused in blocks])
    return Records({"rows": rows.with_columns(texts)}, rejects, find_version(head.encode(), manifest))


def head_of(path: Path, encoding: str) -> str:
    """Return a file's beginning, without a byte order mark.

    Raises:
        SourceError: It cannot be read.
    """
    with unpacked(path) as stream:
        head = stream.read(_HEAD)
    if encoding == "utf-8" and head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError(f"{path} is UTF-16", hint="save it as UTF-8, or say `encoding: utf-16` in its manifest")
    return head.decode(encoding, "replace").removeprefix("\ufeff")


def header_of(path: Path, head: str, delimiter: str | None = None) -> Header:
    r"""Return the columns of a table and what stands between them.

    Args:
        path: For messages.
        head: The beginning of the file.
        delimiter: What stands between columns, if that is known.

    Raises:
        SourceError: There is no header line, or two columns have one name.

    Example:
        >>> header_of(Path("x.csv"), 'id;"a; b";\n1;2;3\n')
        Header(columns=('id', 'a; b', 'column_3'), separator=';')
    """
    line = head.partition("\n")[0].rstrip("\r")
    if not line.strip():
        raise SourceError(f"{path} has no header line", hint="name the columns in its first line")
    plain = "".join(line.split('"')[::2])
    separator = delimiter or max(DELIMITERS, key=plain.count)
    cells = header_cells(path, line, separator)
    names = tuple(cell.strip().lstrip("_") or f"column_{number}" for number, cell in enumerate(cells, 1))
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SourceError(f"{path} has two columns called {twice!r}", hint="give each a name of its own")
    return Header(names, separator)
