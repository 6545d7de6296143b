"""Running text in Chinese and English: a line may break between any two Chinese characters, not at spaces alone."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

_PIECE = re.compile(r"\s+|[⺀-鿿豈-﫿！-｠　-〿][，。；：、！？）】》」』”’…]*|[^\s⺀-鿿豈-﫿！-｠　-〿]+")
"""Spaces; a Chinese character with the marks that may not begin a line; or a word."""


class Flow:
    """A text that fills its lines.

    Example:
        >>> from kgdx.show.console import text
        >>> print(text(Flow(Text("百日咳 (whooping cough)是由百日咳杆菌所致")), 20))
        百日咳 (whooping
        cough)是由百日咳杆菌
        所致
        <BLANKLINE>
    """

    def __init__(self, text: Text) -> None:
        self.text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines."""
        for line in self.text.split("\n", allow_blank=True):
            yield from _lines(line, options.max_width, console)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Say how narrow and how wide it may be."""
        lines = self.text.plain.splitlines() or [""]
        pieces = [cell_len(piece) for line in lines for piece in _PIECE.findall(line)]
        longest = max(cell_len(line) for line in lines)
        return Measurement(min(max(pieces, default=0), options.max_width), min(longest, options.max_width))


def _lines(line: Text, width: int, console: Console) -> list[Text]:
    """Cut one line into lines that fit; a word that is longer than a line is cut anywhere."""
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
