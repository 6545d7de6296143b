"""Everyday and clinical wordings of findings that neither HPO nor its translations have.

They stand in ``lay_en.tsv`` and ``lay_zh.tsv``. A row may write many wordings as one: each bracket holds words of which
one is said, as in ``(knee|elbow) (pain|tender)``; an empty one may be left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Literal, NamedTuple

from kgdx.lazy import lazy_pattern
from kgdx.terms.normalise import read_table

_CHOICE = lazy_pattern(r"\(([^()]*)\)")


class EverydayWording(NamedTuple):
    """A wording that HPO lacks.

    Attributes:
        id: The HPO id of the finding that they mean.
        alone: They mean it only where no word follows that they describe ("short", but not "short fingers"); in
            Chinese, where they are a whole name.
        absent: They say that the finding is not there ("afebrile").
    """

    phrase: str
    id: str
    alone: bool
    absent: bool


@cache
def everyday_wordings(language: Literal["en", "zh"]) -> dict[str, EverydayWording]:
    """Return wordings of everyday and clinical language that HPO, or its translation, lacks, by phrase."""
    found: dict[str, EverydayWording] = {}
    for pattern, id, _, *note in read_table(Path(__file__).with_name(f"lay_{language}.tsv")):
        for phrase in spelt_out(pattern):
            found.setdefault(phrase, EverydayWording(phrase, id, note == ["alone"], note == ["absent"]))
    return found


def lay_wordings() -> Iterator[tuple[str, str]]:
    """Yield wordings of everyday and clinical Chinese that translations lack, and the HPO id that each means."""
    yield from ((wording.phrase, wording.id) for wording in everyday_wordings("zh").values() if not wording.absent)


def spelt_out(pattern: str) -> Iterator[str]:
    """Yield the wordings that a row of a table stands for."""
    parts = _CHOICE.split(pattern)
    for said in product(*(part.split("|") if place % 2 else [part] for place, part in enumerate(parts))):
        if phrase := " ".join("".join(said).split()):
            yield phrase
