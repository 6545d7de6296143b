"""The look that all plain tables share: no frame, a dim header, columns that fold rather than cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kgdx.report.words import clean


def plain(columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Iterable[str] = ()) -> Table:
    """Return a table of cells shown as they are; ``None`` is left empty, lists are joined by commas.

    Args:
        columns: Headings.
        rows: One sequence of cells each; a rich renderable is taken as it is.
        right: Headings of the columns of numbers.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_header=any(columns))
    numbers = set(right)
    for name in columns:
        table.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    return table


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
