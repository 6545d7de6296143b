"""Tables: tab-separated lines, CSV with any delimiter, Parquet; a damaged line is named and set apart.

Large CSV files are read block by block: a block that is in order at once, any other record by record. So a file of a
gigabyte passes through little memory. A record that spans lines is followed for a few lines only: a quotation mark that
nobody closes costs its own line, not the rest of the file.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pyarrow as pa

from kgdx.errors import SourceError
from kgdx.ingest.column_mapping import mapped_columns
from kgdx.ingest.manifest import Manifest, did_you_mean
from kgdx.ingest.records import LINE, Records, join_rejects, no_rejects
from kgdx.ingest.unpack import begun, read_text, unpacked

VERSION = "1"
HEADER_LINES = 200
"""Lines in which the version is looked for."""
HEAD = 1 << 20
"""Bytes that are looked at to tell what a file is."""
DELIMITERS = ",\t;|"
BLOCK = 1 << 24
"""Bytes that are looked at together."""
LONGEST_LINE = 1 << 27
"""Bytes without a line break beyond which a file is no table."""
LONGEST_CELL = 1 << 17
"""Characters beyond which a cell is taken for damage; the longest description in PrimeKG has 30,000."""
SPAN = 200
"""Lines that one record may have."""

_REPLACED = "\ufffd".encode()
_PACKED = (b"x", b"\x1f", b"(")
_DAMAGED = "the line holds bytes that are no text in the file's encoding"


@dataclass(frozen=True, slots=True)
class TableHeader:
    columns: tuple[str, ...]
    separator: str


def read(path: Path, manifest: Manifest) -> Records:
    """Read a table whose columns the manifest names, as the frame ``rows`` (all columns text, empty is null)."""
    frame, rejects, version = read_lines(path, manifest)
    return Records({"rows": frame.drop("_text")}, join_rejects(rejects), version)


def read_lines(path: Path, manifest: Manifest) -> tuple[pl.DataFrame, list[pl.DataFrame], str | None]:
    """Split a table's lines at the tabs.

    Returns:
        The rows with :data:`LINE` and ``_text`` (the line itself); refused lines; the version that the file states.
    """
    content = read_text(path, manifest.encoding)
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
    rejects = lines.filter(wrong).select(pl.col(LINE).cast(pl.Int64).alias("line"), record="_text", reason=reason)
    cells = pl.col("_text").str.split_exact("\t", len(header) - 1).struct.rename_fields(header).alias("_cells")
    rows = lines.filter(~wrong).with_columns(cells).unnest("_cells")
    texts = [pl.col(name).str.strip_chars().replace("", None) for name in header]
    return rows.with_columns(texts), [rejects], find_version(content, manifest)


def find_version(content: bytes, manifest: Manifest) -> str | None:
    """Return what the manifest's ``version`` expression finds in the first lines."""
    if manifest.version is None:
        return None
    head = b"\n".join(content[: 1 << 16].split(b"\n")[:HEADER_LINES]).decode("utf-8", "replace")
    found = re.search(manifest.version, head, re.MULTILINE)
    return found[1] if found else None


def shown(column: str) -> pl.Expr:
    return pl.concat_str(pl.lit("'"), pl.col(column).fill_null("").str.slice(0, 60), pl.lit("'"))


def read_csv(path: Path, manifest: Manifest) -> Records:
    """Read a table with a header line, as the frame ``rows`` (all columns text, empty is null).

    The delimiter is the manifest's, or the one of comma, tab, semicolon and bar that the header line has most of. A
    column without a name is called ``column_N``, a name's leading underscores are dropped.
    """
    head = head_of(path, manifest.encoding)
    header = header_of(path, head, manifest.delimiter)
    for name in mapped_columns(manifest):
        if name not in header.columns:
            hint = f"it has {', '.join(header.columns)}{did_you_mean(name, header.columns)}"
            raise SourceError(f"{path} has no column {name!r} in its header line", hint=hint)
    kept = [LINE, *(mapped_columns(manifest) or header.columns)]
    rows, rejects = read_whole(path, header, kept, manifest.encoding)
    if rows.is_empty():
        raise SourceError(f"{path} holds no records", hint="check that it is the right file")
    texts = [pl.col(name).str.strip_chars().replace("", None) for name in kept[1:]]
    return Records({"rows": rows.with_columns(texts)}, join_rejects(rejects), find_version(head.encode(), manifest))


def head_of(path: Path, encoding: str) -> str:
    """Return a file's beginning, without a byte order mark."""
    with unpacked(path) as stream:
        head = stream.read(HEAD)
    return begun(path, head if encoding == "utf-8" else head.decode(encoding, "replace").encode()).decode(
        "utf-8", "replace"
    )


def header_of(path: Path, head: str, delimiter: str | None = None) -> TableHeader:
    r"""Return the columns of a table of one's own, of which little is known, by its beginning.

    Example:
        >>> header_of(Path("x.csv"), 'id;"a; b";\n1;2;3\n')
        TableHeader(columns=('id', 'a; b', 'column_3'), separator=';')
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
    return TableHeader(names, separator)


def read_header(path: Path, required: Sequence[str] = ()) -> TableHeader:
    """Read the first line of a published table, which has to have some columns; tabs or commas separate them."""
    first = next(_lines(path), b"").split(b"\n", 1)[0]
    try:
        text = first.decode().rstrip("\r")
    except UnicodeDecodeError as error:
        raise SourceError(f"the header line of {path} is not UTF-8", hint="save it as UTF-8") from error
    separator = "\t" if "\t" in text else ","
    columns = tuple(cell.strip() for cell in header_cells(path, text, separator))
    if not any(columns):
        raise SourceError(f"{path} is empty", hint="fetch it again")
    _check_header(path, columns, required)
    return TableHeader(columns, separator)


def _check_header(path: Path, columns: Sequence[str], required: Sequence[str]) -> None:
    if missing := [name for name in required if name not in columns]:
        hint = f"it should have {', '.join(required)}"
        raise SourceError(f"{path} has no column {missing[0]!r} in its header line", hint=hint)
    if len(set(columns)) != len(columns) or any(name.startswith("_") for name in columns):
        raise SourceError(f"{path} has a column name twice, or one that starts with '_'", hint="mend the header line")


def header_cells(path: Path, line: str, separator: str) -> list[str]:
    """Return the cells of a header line."""
    if len(line) > LONGEST_CELL:
        message = f"{path} has no header line (its first line has {len(line):,} characters)"
        raise SourceError(message, hint="name the columns in its first line")
    if "\r" in line:
        message = f"the lines of {path} end with carriage returns alone"
        raise SourceError(message, hint="save it with line feeds, as all programs of today do")
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error as error:
        raise SourceError(f"{path} has no header line ({error})", hint="name the columns in its first line") from error


def read_whole(
    path: Path, header: TableHeader, kept: Sequence[str], encoding: str = "utf-8"
) -> tuple[pl.DataFrame, list[pl.DataFrame]]:
    blocks = [(rows.select(kept), refused) for rows, refused in read_blocks(path, header, encoding)]
    return pl.concat([rows for rows, _ in blocks]), [refused for _, refused in blocks]


def read_blocks(
    path: Path, header: TableHeader, encoding: str = "utf-8"
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Read the records after the header line, block by block.

    Yields:
        The records as text (an empty cell is null) with :data:`~kgdx.ingest.records.LINE`, and what was refused.
    """
    line, unfinished, headed = 2, b"", False
    for lines in _lines(path, encoding):
        block = lines
        if not headed:
            block, headed = lines.split(b"\n", 1)[1], True
        block = unfinished + (block.replace(b"\r\n", b"\n") if b"\r" in block else block)
        breaks = block.count(b"\n")
        frame, rejects, unfinished = _parsed(block, breaks, line, header)
        line += breaks - unfinished.count(b"\n")
        yield frame, rejects
    if unfinished:
        yield _parsed(unfinished, unfinished.count(b"\n"), line, header, final=True)[:2]


def _lines(path: Path, encoding: str = "utf-8") -> Iterator[bytes]:
    rest: list[bytes] = []
    pending = 0
    for piece in _pieces(path, encoding):
        end = piece.rfind(b"\n") + 1
        if end:
            yield b"".join([*rest, memoryview(piece)[:end]])
            rest, pending = [], 0
        rest.append(piece[end:])
        pending += len(piece) - end
        if pending > LONGEST_LINE:
            raise SourceError(f"{path} has a line of more than {LONGEST_LINE:,} bytes", hint="it is no table")
    if pending:
        yield b"".join(rest) + b"\n"


def _pieces(path: Path, encoding: str) -> Iterator[bytes]:
    decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)("replace")
    try:
        with unpacked(path) as stream:
            first = True
            while piece := stream.read(BLOCK):
                text = piece if decoder is None else decoder.decode(piece).encode()
                yield begun(path, text) if first else text
                first = False
            if decoder is not None:
                yield decoder.decode(b"", True).encode()
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror or error})", hint="check the path") from error


def _parsed(
    block: bytes, breaks: int, line: int, header: TableHeader, *, final: bool = False
) -> tuple[pl.DataFrame, pl.DataFrame, bytes]:
    frame = _at_once(block, breaks, line, header)
    if frame is not None:
        return frame, no_rejects(), b""
    return _one_by_one(block, line, header, final=final)


def _at_once(block: bytes, breaks: int, line: int, header: TableHeader) -> pl.DataFrame | None:
    if b"\0" in block or (_REPLACED[:1] in block and _REPLACED in block) or block.count(b'"') % 2:
        return None  # the first byte alone is looked for much faster
    try:
        frame = _csv(block, header)
    except pl.exceptions.PolarsError:
        return None
    longest, shortest = (frame.select(getattr(pl.all().str.len_bytes(), of)()).row(0) for of in ("max", "min"))
    if any(length is not None and length > LONGEST_CELL for length in longest) or not _complete(block, frame, header):
        return None
    if frame.height == breaks:
        numbers = pl.int_range(line, line + frame.height, eager=True)
    else:
        inner = pl.sum_horizontal(pl.all().str.count_matches("\n", literal=True).fill_null(0)).cast(pl.Int64)
        spans = frame.select(inner + 1).to_series()
        if spans.sum() != breaks or (spans.max() or 0) > SPAN:  # type: ignore[operator]
            return None
        numbers = spans.cum_sum() - spans + line
    frame = frame.with_columns(numbers.cast(pl.Int64).alias(LINE))
    return _kept(frame) if 0 in shortest or frame[frame.columns[0]].null_count() else frame


def _complete(block: bytes, frame: pl.DataFrame, header: TableHeader) -> bool:
    if not frame[frame.columns[-1]].null_count():
        return True
    inner, separators = 0, block.count(header.separator.encode())
    if b'"' in block:
        inner = sum(frame.select(pl.all().str.count_matches(header.separator, literal=True).sum()).row(0))
    blank = frame.select(pl.all_horizontal(pl.all().is_null()).sum()).item()
    return bool(separators - inner == (frame.height - blank) * (len(header.columns) - 1))


def _csv(block: bytes, header: TableHeader) -> pl.DataFrame:
    schema = dict.fromkeys(header.columns, pl.String)
    if not block or block.isspace():
        return pl.DataFrame(schema=schema)
    packed = block.startswith(_PACKED)  # polars would take the block for compressed data, and not for text
    text = header.separator.encode() * (len(header.columns) - 1) + b"\n" + block if packed else block
    return pl.read_csv(
        text, has_header=False, skip_rows=int(packed), schema=schema, separator=header.separator, quote_char='"'
    )


def _kept(frame: pl.DataFrame) -> pl.DataFrame:
    cells = pl.exclude(LINE)
    frame = frame.with_columns(pl.when(cells != "").then(cells))
    blank = pl.all_horizontal(cells.is_null())
    return frame.filter(~blank)


def _one_by_one(
    block: bytes, line: int, header: TableHeader, *, final: bool
) -> tuple[pl.DataFrame, pl.DataFrame, bytes]:
    lines = _Lines(block)
    plain = _whole(lines.series(), header).to_numpy().copy()
    special: list[tuple[int, list[str]]] = []
    refused: list[tuple[int, str, str]] = []
    at, end = 0, len(lines)
    for number in np.flatnonzero(~plain).tolist():
        if number < at:
            continue
        text, span, reason = lines[number], 1, None
        cells: list[str] = []
        if '"' in text:
            span, cells, reason = _record(lines, number, header, final=final)
            if not span:
                end = number
                break
        elif "\ufffd" in text or "\0" in text:
            reason = _DAMAGED
        elif text.strip():
            reason = _problem(text.split(header.separator), len(header.columns))
            plain[number] = reason is None
        if reason is not None:
            refused.append((line + number, text, reason))
        elif cells:
            special.append((line + number, cells))
        at = number + span
        plain[number + 1 : at] = False
    plain[end:] = False
    frame = _csv(lines.only(plain), header)
    frame = frame.with_columns(pl.Series(LINE, line + np.flatnonzero(plain), pl.Int64))
    schema = {**dict.fromkeys(header.columns, pl.String), LINE: pl.Int64}
    others = pl.DataFrame([(*cells, number) for number, cells in special], schema=schema, orient="row")
    rejects = pl.DataFrame(refused, schema={"line": pl.Int64, "record": pl.String, "reason": pl.String}, orient="row")
    rejects = pl.concat([no_rejects(), rejects], how="diagonal")
    frame = pl.concat([frame, others]).sort(LINE) if special else frame
    return _kept(frame), rejects, lines.text[lines.starts[end] :]


class _Lines(Sequence[str]):
    def __init__(self, block: bytes) -> None:
        try:
            block.decode()
            self.text = block
        except UnicodeDecodeError:
            self.text = block.decode("utf-8", "replace").encode()
        self.starts = np.concatenate([[0], np.flatnonzero(np.frombuffer(self.text, np.uint8) == ord("\n")) + 1])

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: Any) -> Any:
        return self.text[self.starts[number] : self.starts[number + 1] - 1].decode()

    def series(self) -> pl.Series:
        starts, text = pa.py_buffer(self.starts), pa.py_buffer(self.text)
        return cast(pl.Series, pl.from_arrow(pa.LargeStringArray.from_buffers(len(self), starts, text)))

    def only(self, chosen: np.ndarray) -> bytes:
        edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8)))
        bounds = self.starts[edges].reshape(-1, 2).tolist()
        return b"".join([self.text[begin:end] for begin, end in bounds])


def _whole(lines: pl.Series, header: TableHeader) -> pl.Series:
    other = f'[^"\\n{re.escape(header.separator)}\\x00\\r\\x{{FFFD}}]*'
    cell = f'(?:{other}|"(?:[^"\\n\\x00\\r\\x{{FFFD}}]|"")*")'
    record = f"^{cell}(?:{re.escape(header.separator)}{cell}){{{len(header.columns) - 1}}}\\n$"
    sound = lines.str.contains(record) & (lines.str.len_bytes() <= LONGEST_CELL)
    return sound & lines.str.contains(r"[^\s\x1c-\x1f]")  # what Python takes for blanks


def _record(lines: Sequence[str], at: int, header: TableHeader, *, final: bool) -> tuple[int, list[str], str | None]:
    """Return the record that begins at a line with quotation marks: how many lines it has, its cells, or what is wrong.

    It has no line when the block ends before it does.
    """
    text, span = lines[at], 1
    cells, reason = _cells(text, header)
    while reason is not None and text.count('"') % 2 and span < SPAN:
        if at + span >= len(lines):
            if not final:
                return 0, [], None
            break
        text, span = f"{text}\n{lines[at + span]}", span + 1
        if text.count('"') % 2 == 0:
            cells, reason = _cells(text, header)
    if reason is None:
        return span, cells, None
    return 1, [], "a quotation mark is not closed" if lines[at].count('"') % 2 else reason


def _cells(text: str, header: TableHeader) -> tuple[list[str], str | None]:
    if "\ufffd" in text or "\0" in text:
        return [], _DAMAGED
    try:
        rows = list(csv.reader((f"{line}\n" for line in text.split("\n")), delimiter=header.separator, strict=True))
    except csv.Error as error:
        return [], f"the line is not CSV ({error})"
    cells = rows[0] if len(rows) == 1 else []
    return cells, _problem(cells, len(header.columns))


def _problem(cells: Sequence[str], width: int) -> str | None:
    if len(cells) != width:
        return f"the line has {len(cells)} columns, the header has {width}"
    if max(len(cell) for cell in cells) > LONGEST_CELL:
        return f"a cell has more than {LONGEST_CELL:,} characters"
    return None


def read_parquet(path: Path, manifest: Manifest) -> Records:
    """Read the columns that the manifest maps, as the frame ``rows``; a record's number stands for its line."""
    names = mapped_columns(manifest)
    try:
        schema = pl.Schema(pl.read_parquet_schema(path))
        known = fields(schema)
        for name in names:
            if name not in schema and name not in known:
                hint = f"it has {', '.join(known)}{did_you_mean(name, known)}"
                raise SourceError(f"{path} has no column {name!r}", hint=hint)
        roots = dict.fromkeys(name if name in schema else name.partition(".")[0] for name in names)
        table = pl.read_parquet(path, columns=list(roots))
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror or error})", hint="check the path") from error
    except pl.exceptions.PolarsError as error:
        reason = " ".join(str(error).split())
        raise SourceError(f"{path} is no Parquet file, or is damaged ({reason})", hint="fetch it again") from error
    if table.is_empty():
        raise SourceError(f"{path} holds no records", hint="check that it is the right file")
    columns = [_plain(_field(name, schema), table).alias(name) for name in names]
    lines = pl.int_range(1, table.height + 1, dtype=pl.Int64, eager=True).alias(LINE)
    return Records({"rows": table.select(*columns, lines)})


def fields(schema: pl.Schema) -> list[str]:
    """Return the paths of all columns and of the fields of structs."""
    found = []
    for name, kind in schema.items():
        inner = fields(pl.Schema(kind)) if isinstance(kind, pl.Struct) else None
        found += [name] if inner is None else [f"{name}.{field}" for field in inner]
    return found


def _field(name: str, schema: pl.Schema) -> pl.Expr:
    if name in schema:
        return pl.col(name)
    root, *parts = name.split(".")
    field = pl.col(root)
    for part in parts:
        field = field.struct.field(part)
    return field


def _plain(field: pl.Expr, table: pl.DataFrame) -> pl.Expr:
    found = table.lazy().select(field.alias("_")).collect_schema()["_"]
    if isinstance(found, pl.List | pl.Array):
        encoded = isinstance(found.inner, pl.Struct)
        texts = field.list.eval(pl.element().struct.json_encode()) if encoded else field.cast(pl.List(pl.String))
        return texts.list.drop_nulls()
    if isinstance(found, pl.Struct):
        return field.struct.json_encode()
    if found.is_float():
        whole = table.select(((field == field.floor()) | field.is_null() | field.is_nan()).all()).item()
        return field.fill_nan(None).cast(pl.Int64, strict=False) if whole else field.fill_nan(None).cast(pl.Float64)
    if found.is_integer() or found == pl.Boolean:
        return field
    if found == pl.Binary:
        return field.cast(pl.String, strict=False)
    text = field.cast(pl.String).str.strip_chars()
    return pl.when(text != "").then(text)
