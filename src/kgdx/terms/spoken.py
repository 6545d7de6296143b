"""What people say in words that no list of names holds: red flags by description, and risks.

The patterns stand in ``spoken.tsv``, each with words of which a text has one where it can match.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kgdx.case.patient import Finding, Span, Status
from kgdx.terms.normalise import read_table

FIGURE = "-"
"""Stands for a finding where words are a figure of speech or a comparison, and what is named in them is none."""
SCORE = 0.9
"""How sure such a reading is, as that of other wordings."""


class SpokenPattern(NamedTuple):
    """A row of the table."""

    id: str
    name: str
    needs: tuple[str, ...]
    pattern: str


@cache
def spoken_patterns() -> tuple[SpokenPattern, ...]:
    """Return the rows of the table."""
    rows = read_table(Path(__file__).with_name("spoken.tsv"))
    return tuple(SpokenPattern(id, name, tuple(needs.split("|")), pattern) for id, name, needs, pattern in rows)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def spoken(text: str, known: Callable[[str], bool]) -> Iterator[Finding]:
    """Yield what a text says, all as present; of one thing in one place the longest.

    Args:
        text: The text.
        known: Whether the graph has a finding.

    Example:
        >>> [(each.id, each.text) for each in spoken("He is clammy; CRT 4 s.", lambda id: id.startswith("HP:"))]
        [('HP:0000975', 'clammy')]
    """
    plain = text.casefold()
    for row in spoken_patterns():
        if any(each in plain for each in row.needs) and known(row.id):
            for match in _compiled(row.pattern).finditer(text):
                said = match.group()
                yield Finding(row.id, Status.PRESENT, row.name, Span(*match.span()), said, said, "variant", SCORE)
