"""A mapping held against its database, as a table."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kgdx.results.words import clean
from kgdx.store.foreign.check import Report


def checked(report: Report) -> RenderableType:
    """Return the lines of a mapping, and what can be asked."""
    table = Table(box=None, pad_edge=False)
    for title in ("name", "theirs", "number", "fault"):
        table.add_column(title, justify="right" if title == "number" else "left", overflow="fold")
    for line in report.lines:
        table.add_row(line.name, Text(clean(line.theirs)), f"{line.n:,}", Text(clean(line.fault), "yellow"))
    can = Text(f"\nasked by template: {', '.join(report.can) or 'nothing'}")
    cannot = [Text(f"nothing to ask by: {', '.join(report.cannot)}")] if report.cannot else []
    return Group(table, can, *cannot)
