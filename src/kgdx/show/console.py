"""The two consoles: results on standard output, everything else on standard error; plain when piped or NO_COLOR."""

from __future__ import annotations

import io
import sys
from typing import TextIO

from rich.console import Console, RenderableType

STYLES = {
    "present": "bold green",
    "absent": "bold red",
    "unclear": "yellow",
    "in the family": "magenta",
    "possible": "yellow",
}
"""Colour of a finding, by the word for its status."""


def console(stream: TextIO | None = None, width: int | None = None) -> Console:
    """Return a console that writes text as it is: no markup, no emoji codes, no automatic highlighting.

    Args:
        stream: Where it writes; standard output by default.
        width: Columns; by default the terminal's, or 80 where there is none.
    """
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
