"""Delimited tables with a header line (comma, tab or semicolon), split row by row: a bad row is named and set apart."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgdx.errors import CaseError

MAX_CELL = 10_000_000
"""Most characters of one row."""
MAX_LINES = 200
"""Most lines that a quoted cell goes over."""

_DELIMITERS = "\t,;"
_SHOWN = 500
_DAMAGED = re.compile("[\udc80-\udcff\x00]")
"""Bytes that are no UTF-8 (as ``surrogateescape`` reads them), and NUL."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be read: its line, its beginning, and why."""

    line: int
    text: str
    reason: str


def header(line: str) -> tuple[list[str], str]:
    r"""Return a header line's column names, folded, and its delimiter.

    Example:
        >>> header("Case ID\tPhenotypes\n")
        (['case_id', 'phenotypes'], '\t')
    """
    delimiter = max(_DELIMITERS, key=line.count)
    plain = line.removeprefix("\ufeff").strip("\r\n")
    try:
        names = next(csv.reader([plain], delimiter=delimiter), [])
    except csv.Error:  # a cell without end: a note in one line, not a header
        names = [plain]
    return [fold_name(name) for name in names], delimiter


def fold_name(name: str) -> str:
    """Return a column's name as names are compared.

    Example:
        >>> fold_name(" Case-ID ")
        'case_id'
    """
    return re.sub(r"[\s_-]+", "_", name.strip().lower())


def table_rows(lines: Sequence[str], columns: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, str]] | BadRow]:
    r"""Split a table; yield each row with the line it begins on, cells by their folded column names.

    A quote that is not closed spoils its own line alone.

    Args:
        lines: The table, its line ends kept: a quoted cell may go over several.
        columns: Names of which the header must have at least one.

    Raises:
        CaseError: There is no header, or it does not fit.

    Example:
        >>> list(table_rows(["id,text\n", "1,\"fever,\n", "cough\"\n", "2\n"]))[0]
        (2, {'id': '1', 'text': 'fever,\ncough'})
    """
    first = next((at for at, text in enumerate(lines) if text.strip("\ufeff \t\r\n")), None)
    if first is None:
        raise CaseError("there is no table", hint="begin it with a line of column names")
    names, delimiter = header(lines[first])
    if len(set(names)) != len(names):
        raise CaseError("the header line has a column twice", hint="give each column a name of its own")
    if columns and not set(names) & set(columns):
        message = f"the header line has none of the columns {', '.join(columns)}"
        raise CaseError(message, hint="name the columns in the first line")
    csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL))
    at = first + 1
    while at < len(lines):
        size, closed = _block(lines, at)
        yield from _rows(lines[at : at + size], at + 1, names, delimiter, closed)
        at += size


def _block(lines: Sequence[str], at: int) -> tuple[int, bool]:
    """How many lines from ``at`` on belong together, as their quotes say; one where they never are in pairs."""
    quotes = 0
    for size, line in enumerate(lines[at : at + MAX_LINES], 1):
        quotes += line.count('"')
        if quotes % 2 == 0:
            return size, True
    return 1, False


def _rows(
    block: Sequence[str], line: int, names: Sequence[str], delimiter: str, closed: bool
) -> Iterator[tuple[int, dict[str, str]] | BadRow]:
    text = "".join(block)
    if not text.strip():
        return
    if len(text) > MAX_CELL:
        yield BadRow(line, text[:_SHOWN], f"it has {len(text):,} characters")
    elif _DAMAGED.search(text):
        yield BadRow(line, _DAMAGED.sub("\ufffd", text[:_SHOWN]), "it holds bytes that are no text in UTF-8")
    elif not closed and re.search(rf'(?:^|{delimiter})\s*"', text):
        yield BadRow(line, text[:_SHOWN], "a quote is not closed")
    else:
        begin = line
        reader = csv.reader(block, delimiter=delimiter)
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield _row(begin, cells, names, delimiter)
            begin = line + reader.line_num


def _row(line: int, cells: list[str], names: Sequence[str], delimiter: str) -> tuple[int, dict[str, str]] | BadRow:
    if len(cells) != len(names):
        return BadRow(line, delimiter.join(cells)[:_SHOWN], f"it has {len(cells)} cells, the header has {len(names)}")
    return line, {name: cell.strip() for name, cell in zip(names, cells, strict=True) if cell.strip()}
