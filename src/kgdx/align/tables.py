"""Reads tables that people have had open in a spreadsheet: tabs, semicolons or commas, a byte-order mark, UTF-16."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgdx.errors import UsageError

LARGEST = 512_000_000
"""Bytes of the largest file that is read."""
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its line in the file, and its cells by column."""

    line: int
    cells: Mapping[str, str]

    def get(self, column: str) -> str:
        """Return a cell without blanks around it; an absent one is empty."""
        return self.cells.get(column, "").strip()


@dataclass(frozen=True, slots=True)
class Table:
    """The lines before the table that begin with ``#``, without it; and the rows that are not empty."""

    comment: str
    rows: Sequence[Row]


def read_rows(file: Path, required: Sequence[str], *, what: str) -> Table:
    """Read a table with a line of column names.

    Args:
        file: The table.
        required: Columns that it must have.
        what: What the file is meant to be, for messages.

    Raises:
        UsageError: It cannot be read, is no text, lacks a column or has one twice, or a row has too many cells.
    """
    text = _text(file, what)
    lines = text.splitlines(keepends=True)
    skipped = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    comment = "".join(line[1:] for line in lines[:skipped])
    if skipped == len(lines) or not lines[skipped].strip():
        raise UsageError(f"{file} has no table", hint=f"its first line names the columns: {', '.join(required)}")
    separator = max("\t;,", key=lambda sign: lines[skipped].count(sign))
    reader = csv.reader(io.StringIO("".join(lines[skipped:]), newline=""), delimiter=separator)
    rows: list[Row] = []
    try:
        columns = [name.strip() for name in next(reader)]
        _check_columns(file, columns, required, what)
        before = reader.line_num
        for cells in reader:
            line, before = skipped + before + 1, reader.line_num
            if any(cell.strip() for cell in cells[len(columns) :]):
                hint = "put a cell that holds the separator into quotes"
                raise UsageError(f"{file}, line {line}: more cells than the {len(columns)} columns", hint=hint)
            if any(cell.strip() for cell in cells):
                rows.append(Row(line, dict(zip(columns, cells, strict=False))))
    except csv.Error as error:
        raise UsageError(f"{file}, line {skipped + reader.line_num}: {error}", hint="mend the quotes") from error
    return Table(comment, rows)


def _text(file: Path, what: str) -> str:
    try:
        if file.exists() and not file.is_file():
            raise UsageError(f"{file} is no regular file", hint="save its content to a file first")
        if file.stat().st_size > LARGEST:
            raise UsageError(f"{file} is larger than {LARGEST // 10**6} MB", hint=f"is it {what}?")
        raw = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror})", hint="check the path") from error
    encoding = next((name for mark, name in _MARKS if raw.startswith(mark)), "utf-8")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        hint = "save it as UTF-8 (in a spreadsheet: CSV UTF-8)"
        raise UsageError(f"{file}, line {line}: no {encoding} text", hint=hint) from error
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise UsageError(f"{file}, line {line}: a NUL byte", hint=f"is it {what}?")
    return text


def _check_columns(file: Path, columns: Sequence[str], required: Sequence[str], what: str) -> None:
    twice = sorted({name for name in columns if name and columns.count(name) > 1})
    if twice:
        raise UsageError(f"{file}: the column {twice[0]!r} is there twice", hint="delete one of them")
    missing = [name for name in required if name not in columns]
    if missing:
        shown = ", ".join(filter(None, columns[:12]))
        hint = f"it has {shown}; {what} needs {', '.join(required)}"
        raise UsageError(f"{file} lacks the column {missing[0]!r}", hint=hint)
