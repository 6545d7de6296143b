"""Large CSV files block by block: a block that is in order is read at once, any other record by record.

So a file of a gigabyte passes through little memory, and every damaged line is named. A record that spans lines is
followed for a few lines only: a quotation mark that nobody closes costs its own line, not the rest of the file.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pyarrow as pa

from kgdx.errors import SourceError
from kgdx.ingest.fetch import BINARY_SHARE
from kgdx.ingest.records import LINE, no_rejects
from kgdx.ingest.unpack import unpacked

BLOCK = 1 << 25
"""Bytes that are looked at together."""
LONGEST_LINE = 1 << 27
"""Bytes without a line break beyond which a file is no table."""
LONGEST_CELL = 1 << 17
"""Characters beyond which a cell is taken for damage; the longest description in PrimeKG has 30,000."""
SPAN = 200
"""Lines that one record may have."""

_BOM, _UTF16 = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f"))
_REPLACED = "\ufffd".encode()
_PACKED = (b"x", b"\x1f", b"(")
_DAMAGED = "the line holds bytes that are no text in the file's encoding"


@dataclass(frozen=True, slots=True)
class Header:
    """The columns of a file and what stands between them."""

    columns: tuple[str, ...]
    separator: str


def read_header(path: Path, required: Sequence[str] = ()) -> Header:
    """Read the first line; tabs or commas separate the columns.

    Args:
        path: The file, compressed or not.
        required: Columns that it has to have.

    Raises:
        SourceError: The file cannot be read, is empty, is no text, has a column name twice, or lacks a column.
    """
    first = next(_lines(path), b"").split(b"\n", 1)[0]
    try:
        text = first.decode().rstrip("\r")
    except UnicodeDecodeError as error:
        raise SourceError(f"the header line of {path} is not UTF-8", hint="save it as UTF-8") from error
    separator = "\t" if "\t" in text else ","
    columns = tuple(cell.strip() for cell in header_cells(path, text, separator))
    if not any(columns):
        raise SourceError(f"{path} is empty", hint="fetch it again")
    if len(set(columns)) != len(columns) or any(name.startswith("_") for name in columns):
        raise SourceError(f"{path} has a column name twice, or one that starts with '_'", hint="mend the header line")
    if missing := [name for name in required if name not in columns]:
        hint = f"it should have {', '.join(required)}"
        raise SourceError(f"{path} has no column {missing[0]!r} in its header line", hint=hint)
    return Header(columns, separator)


def header_cells(path: Path, line: str, separator: str) -> list[str]:
    """Return the cells of a header line.

    Raises:
        SourceError: It is none.

    Example:
        >>> header_cells(Path("x.csv"), 'id,"a, b"', ",")
        ['id', 'a, b']
    """
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


def read_blocks(path: Path, header: Header, encoding: str = "utf-8") -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Read the records after the header line, block by block.

    Args:
        path: The file, compressed or not.
        header: Its columns.
        encoding: Of its text.

    Yields:
        The records as text (an empty cell is null) with :data:`~kgdx.ingest.records.LINE`, and what was refused.

    Raises:
        SourceError: The file cannot be read, or has a line without end.
    """
    line, unfinished, headed = 2, b"", False
    for lines in _lines(path, encoding):
        block = lines
        if not headed:
            block, headed = lines.split(b"\n", 1)[1], True
        block = unfinished + (block.replace(b"\r\n", b"\n") if b"\r" in block else block)
        frame, rejects, unfinished = _parsed(block, line, header, final=False)
        line += block.count(b"\n") - unfinished.count(b"\n")
        yield frame, rejects
    if unfinished:
        yield _parsed(unfinished, line, header, final=True)[:2]


def _lines(path: Path, encoding: str = "utf-8") -> Iterator[bytes]:
    """Yield the file's bytes in pieces that end with a line."""
    rest: list[bytes] = []
    pending = 0
    for piece in _pieces(path, encoding):
        end = piece.rfind(b"\n") + 1
        if end:
            yield b"".join([*rest, piece[:end]])
            rest, pending = [], 0
        rest.append(piece[end:])
        pending += len(piece) - end
        if pending > LONGEST_LINE:
            raise SourceError(f"{path} has a line of more than {LONGEST_LINE:,} bytes", hint="it is no table")
    if pending:
        yield b"".join(rest) + b"\n"


def _pieces(path: Path, encoding: str) -> Iterator[bytes]:
    """The file's content in UTF-8, unpacked; what is no text becomes U+FFFD where the file has another encoding."""
    decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)("replace")
    try:
        with unpacked(path) as stream:
            first = True
            while piece := stream.read(BLOCK):
                text = piece if decoder is None else decoder.decode(piece).encode()
                yield _begun(path, text) if first else text
                first = False
            if decoder is not None:
                yield decoder.decode(b"", True).encode()
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror or error})", hint="check the path") from error


def _begun(path: Path, piece: bytes) -> bytes:
    """Return the first piece without its byte order mark, if it is text at all."""
    if piece.startswith(_UTF16):
        raise SourceError(f"{path} is UTF-16", hint="save it as UTF-8, or say `encoding: utf-16` in its manifest")
    head = piece[: 1 << 20]
    if len(head) - len(head.translate(None, _CONTROLS)) > len(head) * BINARY_SHARE:
        raise SourceError(f"{path} is a binary file, not text", hint="check that it is the right file")
    return piece.removeprefix(_BOM)


def _parsed(block: bytes, line: int, header: Header, *, final: bool) -> tuple[pl.DataFrame, pl.DataFrame, bytes]:
    """Records, refused lines, and the lines at the end whose record goes on in the next block."""
    frame = _at_once(block, line, header)
    if frame is not None:
        return frame, no_rejects(), b""
    return _one_by_one(block, line, header, final=final)


def _at_once(block: bytes, line: int, header: Header) -> pl.DataFrame | None:
    """Return the block's records if nothing is wrong with any."""
    if b"\0" in block or _REPLACED in block or block.count(b'"') % 2:
        return None
    try:
        frame = _csv(block, header)
    except pl.exceptions.PolarsError:
        return None
    sizes = frame.select(pl.all().str.len_bytes())
    longest, shortest = sizes.max().row(0), sizes.min().row(0)
    if any(length is not None and length > LONGEST_CELL for length in longest) or not _complete(block, frame, header):
        return None
    breaks = block.count(b"\n")
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


def _complete(block: bytes, frame: pl.DataFrame, header: Header) -> bool:
    """Return whether no line has fewer columns than the header, which polars would read as empty cells."""
    if not frame[frame.columns[-1]].null_count():
        return True
    inner, separators = 0, block.count(header.separator.encode())
    if b'"' in block:
        inner = sum(frame.select(pl.all().str.count_matches(header.separator, literal=True).sum()).row(0))
    blank = frame.select(pl.all_horizontal(pl.all().is_null()).sum()).item()
    return bool(separators - inner == (frame.height - blank) * (len(header.columns) - 1))


def _csv(block: bytes, header: Header) -> pl.DataFrame:
    schema = dict.fromkeys(header.columns, pl.String)
    if not block or block.isspace():
        return pl.DataFrame(schema=schema)
    packed = block.startswith(_PACKED)  # polars would take the block for compressed data, and not for text
    text = header.separator.encode() * (len(header.columns) - 1) + b"\n" + block if packed else block
    return pl.read_csv(
        text, has_header=False, skip_rows=int(packed), schema=schema, separator=header.separator, quote_char='"'
    )


def _kept(frame: pl.DataFrame) -> pl.DataFrame:
    """Without blank lines, and with null for an empty cell."""
    cells = pl.exclude(LINE)
    frame = frame.with_columns(pl.when(cells != "").then(cells))
    blank = pl.all_horizontal(cells.is_null())
    return frame.filter(~blank)


def _one_by_one(block: bytes, line: int, header: Header, *, final: bool) -> tuple[pl.DataFrame, pl.DataFrame, bytes]:
    """Read the lines that are whole records at once, and only the others record by record."""
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
    """The lines of a block, without copies of what nobody looks at.

    Attributes:
        text: The block in UTF-8, whatever was none of it being U+FFFD.
        starts: Where its lines begin, and where the last one ends; shape (lines + 1,).
    """

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
        """Return the lines with their line feeds."""
        starts, text = pa.py_buffer(self.starts), pa.py_buffer(self.text)
        return cast(pl.Series, pl.from_arrow(pa.LargeStringArray.from_buffers(len(self), starts, text)))

    def only(self, chosen: np.ndarray) -> bytes:
        """Return the text of some of the lines."""
        edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8)))
        bounds = self.starts[edges].reshape(-1, 2).tolist()
        return b"".join([self.text[begin:end] for begin, end in bounds])


def _whole(lines: pl.Series, header: Header) -> pl.Series:
    """Return which lines are surely records of their own, with as many cells as the header, and sound."""
    other = f'[^"\\n{re.escape(header.separator)}\\x00\\r\\x{{FFFD}}]*'
    cell = f'(?:{other}|"(?:[^"\\n\\x00\\r\\x{{FFFD}}]|"")*")'
    record = f"^{cell}(?:{re.escape(header.separator)}{cell}){{{len(header.columns) - 1}}}\\n$"
    sound = lines.str.contains(record) & (lines.str.len_bytes() <= LONGEST_CELL)
    return sound & lines.str.contains(r"[^\s\x1c-\x1f]")  # what Python takes for blanks


def _record(lines: Sequence[str], at: int, header: Header, *, final: bool) -> tuple[int, list[str], str | None]:
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


def _cells(text: str, header: Header) -> tuple[list[str], str | None]:
    """Return a record's cells, and what is wrong with it."""
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
