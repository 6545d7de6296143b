"""What is asked of a literature database and what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Publication:
    """A publication as PubMed describes it.

    Attributes:
        pmid: Its number.
        title: Without the full stop at its end.
        authors: Family name and initials of each.
        journal: In its usual abbreviation.
        year: When it appeared.
        doi: Its DOI, if it has one.
        abstract: On one line; empty where there is none.
    """

    pmid: str
    title: str = ""
    authors: tuple[str, ...] = ()
    journal: str = ""
    year: str = ""
    doi: str = ""
    abstract: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found within the time that there was.

    Attributes:
        by_disease: Id of a disease → publications that were searched for by its names, the most relevant first.
        publications: Those that were asked for by number.
        problems: What failed, one line each.

    Example:
        >>> Found({"D:1": (Publication("1"), Publication("2"))}, (Publication("2"),)).count
        2
    """

    by_disease: Mapping[str, tuple[Publication, ...]] = field(default_factory=dict)
    publications: tuple[Publication, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many different publications there are."""
        searched = {each.pmid for found in self.by_disease.values() for each in found}
        return len(searched | {each.pmid for each in self.publications})


class Literature(Protocol):
    """Finds publications; does its best within its time, and says what failed rather than raise."""

    def find(self, names: Mapping[str, Sequence[str]], pmids: Sequence[str], limit: int) -> Found:
        """Search for diseases, and look publications up.

        Args:
            names: Id of a disease → its names; a publication about it has one of them.
            pmids: Numbers of publications.
            limit: Most publications for each disease.
        """
        ...
