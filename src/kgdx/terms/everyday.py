"""Everyday and clinical wordings of findings that neither HPO nor its translations have.

They stand in ``lay_en.tsv`` and ``lay_zh.tsv``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kgdx.terms.normalise import read_table


class Wording(NamedTuple):
    """A wording that HPO lacks.

    Attributes:
        phrase: The words.
        id: The HPO id of the finding that they mean.
        alone: They mean it only where no word follows that they describe ("short", but not "short fingers").
        absent: They say that the finding is not there ("afebrile").
    """

    phrase: str
    id: str
    alone: bool
    absent: bool


@cache
def chinese_wordings() -> dict[str, Wording]:
    """Return wordings of everyday and clinical Chinese that translations lack, by phrase.

    Example:
        >>> chinese_wordings()["听力正常"].absent
        True
    """
    rows = read_table(Path(__file__).with_name("lay_zh.tsv"))
    return {phrase: Wording(phrase, id, False, note == ["absent"]) for phrase, id, _, *note in rows}


def lay_wordings() -> Iterator[tuple[str, str]]:
    """Yield wordings of everyday and clinical Chinese that translations lack, and the HPO id that each means.

    Example:
        >>> dict(lay_wordings())["拉肚子"]
        'HP:0002014'
    """
    yield from ((wording.phrase, wording.id) for wording in chinese_wordings().values() if not wording.absent)


@cache
def english_wordings() -> dict[str, Wording]:
    """Return wordings of everyday and clinical English that HPO lacks, by phrase.

    Example:
        >>> english_wordings()["afebrile"].absent
        True
    """
    rows = read_table(Path(__file__).with_name("lay_en.tsv"))
    return {phrase: Wording(phrase, id, note == "alone", note == "absent") for phrase, id, _, note in rows}
