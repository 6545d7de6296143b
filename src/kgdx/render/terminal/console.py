"""What all terminal output shares: the two consoles, plain tables, and text that fills its lines in any script.

Results go to standard output, everything else to standard error; both are plain when piped or under NO_COLOR.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kgdx.lazy import lazy_pattern
from kgdx.results.words import clean

STYLES = {
    "present": "bold green",
    "absent": "bold red",
    "unclear": "yellow",
    "in the family": "magenta",
    "possible": "yellow",
}
"""Colour of a finding, by the word for its status."""


_WIDE = 100_000  # columns in which nothing is wrapped
_PIECE = lazy_pattern(r"\s+|[⺀-鿿豈-﫿！-｠　-〿][，。；：、！？）】》」』”’…]*|[^\s⺀-鿿豈-﫿！-｠　-〿]+")
"""Spaces; a Chinese character with the marks that may not begin a line; or a word."""


def console(stream: TextIO | None = None, width: int | None = None) -> Console:
    """Return a console that writes text as it is, as wide as the terminal, or 80: no markup, no highlighting."""
    target = sys.stdout if stream is None else stream
    return Console(file=target, width=width, markup=False, emoji=False, highlight=False, soft_wrap=False)


def text(renderable: RenderableType, width: int = 80) -> str:
    """Render to plain text, as it would be piped.

    Example:
        >>> text("one line").splitlines()
        ['one line']
    """
    stream = io.StringIO()
    plain = Console(file=stream, width=width, markup=False, emoji=False, highlight=False, color_system=None)
    plain.print(renderable)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def lines_of(renderable: RenderableType) -> Iterator[str]:
    r"""Yield one fact a line, for programs that read lines: no colour, no bars, no wrapping, tabs between columns.

    A first cell that is left out below an equal one is repeated.

    Example:
        >>> list(lines_of(plain(["status", "term"], [["present", "Fever"], ["", "Cough"]])))
        ['status\tterm', 'present\tFever', 'present\tCough']
    """
    if isinstance(renderable, Group):
        for each in renderable.renderables:
            yield from lines_of(each)
    elif isinstance(renderable, Padding):
        yield from lines_of(renderable.renderable)
    elif isinstance(renderable, Table):
        columns = [[" ".join(lines_of(cell)) for cell in each.cells] for each in renderable.columns]
        rows = list(zip(*columns, strict=True))
        heads = (
            [tuple(" ".join(lines_of(each.header)) for each in renderable.columns)] if renderable.show_header else []
        )
        above = ""
        for row in (*heads, *rows):
            above = row[0] or above
            yield "\t".join((above, *row[1:])).rstrip("\t")
    else:
        lines = (" ".join(line.strip(" ■□").split()) for line in text(renderable, _WIDE).splitlines())
        yield from (line for line in lines if line)


def plain(columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Iterable[str] = ()) -> Table:
    """Return a table of cells shown as they are; ``None`` is left empty, lists are joined by commas.

    A rich renderable is taken as it is; ``right`` are the headings of the columns of numbers.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_header=any(columns))
    numbers = set(right)
    for name in columns:
        table.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    return table


def grid(rows: Iterable[Sequence[RenderableType]], *ratios: int) -> Table:
    """Return rows beside each other without headings; the columns share the width by ratios, where there are any."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for ratio in ratios:
        table.add_column(ratio=ratio)
    for row in rows:
        table.add_row(*row)
    return table


def narrow(columns: Sequence[str], rows: Iterable[Sequence[object]], *, text: int = 1) -> Table:
    """Return a table of figures: so many columns of text, the first of which is never broken, and then numbers."""
    table = plain(columns, rows, right=columns[text:])
    table.columns[0].no_wrap = True
    table.padding = (0, 1, 0, 0)
    return table


def percent(share: float, ends: Sequence[float | None], *, signed: bool = False) -> str:
    """Return a share, or with ``signed`` a difference of shares, in percent with its interval, if it has one.

    Example:
        >>> percent(0.5, (0.25, 0.75)), percent(0.5, (0.25, 0.75), signed=True), percent(0.5, (None, None))
        ('50.0 (25–75)', '+50.0 (+25 to +75)', '50.0')
    """
    sign = "+" if signed else ""
    shown = [f"{100 * end:{sign}.0f}" for end in ends if end is not None]
    return f"{100 * share:{sign}.1f}" + (f" ({(' to ' if signed else '–').join(shown)})" if shown else "")


def first_of(lines: Sequence[str], most: int) -> Iterator[str]:
    """Yield the first lines of many, and how many more there are."""
    yield from lines[:most]
    if len(lines) > most:
        yield f"… and {len(lines) - most:,} more; --json names them"


def not_run(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield why methods or arms did not run, with which ones for each reason.

    Example:
        >>> list(not_run({"not_run": {"a": "no model", "b": "no model"}}))
        ['not run (no model): a, b']
    """
    why: dict[str, list[str]] = {}
    for name, reason in result.get("not_run", {}).items():
        why.setdefault(reason, []).append(name)
    for reason, names in why.items():
        yield f"not run ({clean(reason)}): {clean(', '.join(names))}"


def _cell(value: object) -> RenderableType:
    if value is None:
        return ""
    if isinstance(value, Text):
        return value
    if isinstance(value, list | tuple):
        return Text(", ".join(clean(item) for item in value))
    if isinstance(value, int) and not isinstance(value, bool):
        return Text(f"{value:,}")
    if isinstance(value, float):
        return Text(f"{value:.4g}")
    return Text(clean(value))


class Flow:
    """A text that fills its lines.

    Example:
        >>> print(text(Flow(Text("百日咳 (whooping cough)是由百日咳杆菌所致")), 20))
        百日咳 (whooping
        cough)是由百日咳杆菌
        所致
        <BLANKLINE>
    """

    def __init__(self, text: Text) -> None:
        self.text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.text.split("\n", allow_blank=True):
            yield from _lines(line, options.max_width, console)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        lines = self.text.plain.splitlines() or [""]
        pieces = [cell_len(piece) for line in lines for piece in _PIECE.findall(line)]
        longest = max(cell_len(line) for line in lines)
        return Measurement(min(max(pieces, default=0), options.max_width), min(longest, options.max_width))


def _lines(line: Text, width: int, console: Console) -> list[Text]:
    ends: list[tuple[int, int]] = []
    start = end = 0
    used = 0
    for found in _PIECE.finditer(line.plain):
        length = cell_len(found[0])
        if used + length > width and not found[0].isspace():
            if end > start:
                ends.append((start, end))
            start, used = found.start(), 0
        used += length
        if not found[0].isspace():
            end = found.end()
    ends.append((start, end))
    cut: list[Text] = []
    for first, last in ends:
        piece = line[first:last]
        cut += [piece] if cell_len(piece.plain) <= width else piece.wrap(console, width, overflow="fold")
    return cut
