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
from kgdx.ingest.records import LINE, REFUSED, Records, join_rejects, no_rejects
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
MORE = 4
"""Cells too many that a line may have; where one of a block has more, every line is looked at before it is read."""

_REPLACED = "\ufffd".encode()
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
    line, unfinished, headed, orderly = 2, b"", False, True
    for lines in _lines(path, encoding):
        block = lines
        if not headed:
            block, headed = lines.split(b"\n", 1)[1], True
        block = unfinished + (block.replace(b"\r\n", b"\n") if b"\r" in block else block)
        breaks = _count(block, "\n")
        found = _at_once(block, breaks, line, header) if orderly else None
        frame, rejects, unfinished = found or _one_by_one(block, line, header)
        line, orderly = line + breaks - _count(unfinished, "\n"), rejects.is_empty()
        yield frame, rejects
    if unfinished:
        yield _one_by_one(unfinished, line, header, final=True)[:2]


def _count(block: bytes, letter: str) -> int:
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord(letter)))


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
    with unpacked(path) as stream:
        first = True
        while piece := stream.read(BLOCK):
            text = piece if decoder is None else decoder.decode(piece).encode()
            yield begun(path, text) if first else text
            first = False
        if decoder is not None:
            yield decoder.decode(b"", True).encode()


Parsed = tuple[pl.DataFrame, pl.DataFrame, bytes]
"""Records, lines that were refused, and what may be the beginning of a record that goes on."""


def _at_once(block: bytes, breaks: int, line: int, header: TableHeader) -> Parsed | None:
    if b"\0" in block or (_REPLACED[:1] in block and _REPLACED in block) or _count(block, '"') % 2:
        return None  # the first byte alone is looked for much faster
    try:
        frame = _csv(block, header)
    except pl.exceptions.PolarsError:
        return None
    if _longest(frame) > LONGEST_CELL or frame[frame.columns[-1]].null_count():
        return None  # a cell that is empty, or one that is not there
    if frame.height == breaks:
        numbers = pl.int_range(line, line + frame.height, eager=True)
    else:
        inner = pl.sum_horizontal(pl.all().str.count_matches("\n", literal=True).fill_null(0)).cast(pl.Int64)
        spans = frame.select(inner + 1).to_series()
        if spans.sum() != breaks or (spans.max() or 0) > SPAN:  # type: ignore[operator]
            return None
        numbers = spans.cum_sum() - spans + line
    return _kept(frame.with_columns(numbers.cast(pl.Int64).alias(LINE))), no_rejects(), b""


def _longest(frame: pl.DataFrame) -> int:
    return max((length or 0 for length in frame.select(pl.all().str.len_bytes().max()).row(0)), default=0)


def _csv(block: bytes | bytearray, header: TableHeader, more: int = 0) -> pl.DataFrame:
    names = [str(number) for number in range(len(header.columns) + more)]
    text = b"".join([header.separator.join(names).encode(), b"\n", block])
    frame = pl.read_csv(text, schema=dict.fromkeys(names, pl.String), separator=header.separator, quote_char='"')
    return frame.rename(dict(zip(names, header.columns, strict=False)))


def _kept(frame: pl.DataFrame) -> pl.DataFrame:
    cells = pl.exclude(LINE)
    if not frame[frame.columns[0]].null_count() and 0 not in frame.select(cells.str.len_bytes().min()).row(0):
        return frame
    frame = frame.with_columns(pl.when(cells != "").then(cells))
    return frame.filter(~pl.all_horizontal(cells.is_null()))


def _one_by_one(block: bytes, line: int, header: TableHeader, *, final: bool = False) -> Parsed:
    lines = _Lines(block)
    frame, plain = _alone(lines, header)
    special: list[tuple[int, list[str]]] = []
    refused: list[tuple[None, int, str, str, None]] = []
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
            cells = text.split(header.separator)
            reason = _problem(cells, len(header.columns))
        if reason is not None:
            refused.append((None, line + number, text, reason, None))
        elif cells:
            special.append((line + number, cells))
        at = number + span
        plain[number + 1 : at] = False
    plain[end:] = False
    frame = frame.with_columns(pl.int_range(line, line + len(lines), dtype=pl.Int64, eager=True).alias(LINE))
    frame = frame.filter(pl.Series(plain))
    others = pl.DataFrame([(*cells, number) for number, cells in special], schema=frame.schema, orient="row")
    rejects = pl.DataFrame(refused, schema=REFUSED, orient="row")
    frame = pl.concat([frame, others]).sort(LINE) if special else frame
    return _kept(frame), rejects, lines.text[lines.starts[end] :]


def _alone(lines: _Lines, header: TableHeader) -> tuple[pl.DataFrame, np.ndarray]:
    """Return a row for each line, and whether the line is a record by itself, and that row is its cells."""
    strange, width = lines.strange(), len(header.columns)
    try:
        frame = _csv(lines.without(strange), header, more=MORE)
    except pl.exceptions.PolarsError:  # a quotation mark within a cell, or a line of many records
        strange = ~_whole(lines.series(), header).to_numpy()
        frame = _csv(lines.without(strange), header, more=MORE)
    short = lines.letters[lines.starts[1:] - 2] == ord(header.separator)
    doubtful = strange | short | frame[frame.columns[width - 1]].is_null().to_numpy()
    for name in [name for name in frame.columns[width:] if frame[name].null_count() < frame.height]:
        doubtful |= frame[name].is_not_null().to_numpy()
    frame = frame.select(frame.columns[:width])
    if _longest(frame) > LONGEST_CELL:
        doubtful |= frame.select(pl.any_horizontal(pl.all().str.len_bytes() > LONGEST_CELL)).to_series().to_numpy()
    doubtful[doubtful] = ~_whole(lines.series().filter(pl.Series(doubtful)), header).to_numpy()
    return frame, ~doubtful


class _Lines(Sequence[str]):
    def __init__(self, block: bytes) -> None:
        try:
            block.decode()
            self.text = block
        except UnicodeDecodeError:
            self.text = block.decode("utf-8", "replace").encode()
        self.letters = np.frombuffer(self.text, np.uint8)
        self.starts = np.concatenate([[0], np.flatnonzero(self.letters == ord("\n")) + 1])

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: Any) -> Any:
        return self.text[self.starts[number] : self.starts[number + 1] - 1].decode()

    def series(self) -> pl.Series:
        starts, text = pa.py_buffer(self.starts), pa.py_buffer(self.text)
        return cast(pl.Series, pl.from_arrow(pa.LargeStringArray.from_buffers(len(self), starts, text)))

    def strange(self) -> np.ndarray:
        """Return which lines have an odd number of quotation marks, or bytes that are no text."""
        found: np.ndarray = (
            np.bincount(self._of(np.flatnonzero(self.letters == ord('"'))), minlength=len(self)) % 2 == 1
        )
        if b"\0" in self.text:
            found[self._of(np.flatnonzero(self.letters == 0))] = True
        if _REPLACED[:1] in self.text and _REPLACED in self.text:  # the first byte alone is looked for much faster
            at = np.flatnonzero(self.letters == _REPLACED[0])
            found[self._of(at[(self.letters[at + 1] == _REPLACED[1]) & (self.letters[at + 2] == _REPLACED[2])])] = True
        return found

    def _of(self, places: np.ndarray) -> Any:
        return np.searchsorted(self.starts, places, "right") - 1

    def without(self, some: np.ndarray) -> bytearray:
        """Return the text, with blanks in the place of some of its lines."""
        text = bytearray(self.text)
        for number in np.flatnonzero(some).tolist():
            begin, end = self.starts[number : number + 2].tolist()
            text[begin : end - 1] = b" " * (end - 1 - begin)
        return text


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
    parts = [lines[at]]
    odd = parts[0].count('"') % 2
    cells, reason = _cells(parts[0], header)
    while reason is not None and odd and len(parts) < SPAN:
        if at + len(parts) >= len(lines):
            if not final:
                return 0, [], None
            break
        parts.append(lines[at + len(parts)])
        odd ^= parts[-1].count('"') % 2
        if not odd:
            cells, reason = _cells("\n".join(parts), header)
    if reason is None:
        return len(parts), cells, None
    return 1, [], "a quotation mark is not closed" if parts[0].count('"') % 2 else reason


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
