"""Terms of an ontology that is read one class at a time, as OWL and obographs JSON are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from kgdx.errors import SourceError
from kgdx.load.records import Records, join_rejects
from kgdx.load.sources.columns import Columns, Refused
from kgdx.load.sources.terms import EDGE, HINT, MATCH, TERM, finished, is_own


@dataclass(slots=True)
class Term:
    """What a class says of itself; ids are CURIEs.

    Attributes:
        synonyms: Text and scope.
        stub: Whether it only records that the id was merged into ``replaced_by``: an alternative id, no term.
    """

    line: int
    id: str
    name: str | None = None
    definition: str | None = None
    comment: str | None = None
    synonyms: set[tuple[str, str]] = field(default_factory=set)
    alt_ids: set[str] = field(default_factory=set)
    xrefs: set[str] = field(default_factory=set)
    obsolete: bool = False
    replaced_by: set[str] = field(default_factory=set)
    consider: set[str] = field(default_factory=set)
    subsets: set[str] = field(default_factory=set)
    stub: bool = False


class Ontology:
    """Terms, edges and matches of one file, as they are found.

    Args:
        path: The file.
        own: Prefixes of its own terms; others are those of ontologies that it imports, and no records.
    """

    def __init__(self, path: Path, own: Collection[str]) -> None:
        self.path = path
        self.own = own
        self.edges = Columns(EDGE)
        self.matches = Columns(MATCH)
        self.refused = Refused()
        self._terms: dict[str, Term] = {}
        self._merged: dict[str, set[str]] = {}

    def add(self, term: Term) -> None:
        """Add a class."""
        if not is_own(term.id, self.own):
            return
        if term.stub and term.name is None:
            for target in term.replaced_by:
                self._merged.setdefault(target, set()).add(term.id)
        elif any("\x00" in text for text in (term.name or "", term.definition or "", *(s for s, _ in term.synonyms))):
            self.refused.add(term.line, term.id, f"{term.id} holds characters that are no text")
        elif term.id in self._terms:
            self.refused.add(term.line, term.id, f"{term.id} stands here a second time")
        else:
            self._terms[term.id] = term

    def records(self, version: str | None) -> Records:
        """Return the frames of :mod:`kgdx.load.sources.terms`.

        Raises:
            SourceError: There is no term, or the is_a edges form a cycle.
        """
        if not self._terms:
            message = f"{self.path} has no term of {' or '.join(self.own) or 'its own'}"
            raise SourceError(message, hint=HINT)
        rows = Columns(TERM)
        for term in self._terms.values():
            synonyms = sorted(term.synonyms)
            rows.add(
                term.line,
                term.id,
                term.name,
                term.definition,
                term.comment,
                [text for text, _ in synonyms],
                [scope for _, scope in synonyms],
                sorted(term.alt_ids | self._merged.get(term.id, set())),
                sorted(term.xrefs),
                term.obsolete,
                min(term.replaced_by, default=None),
                sorted(term.consider),
                sorted(term.subsets),
            )
        frames, wrong = finished(self.path, rows.frame(), self.edges.frame(), self.matches.frame(), self.own)
        return Records(frames, join_rejects([self.refused.frame(), wrong]), version)


def text_of(value: object) -> str | None:
    """Return a text without blanks around it; ``None`` for an empty one.

    Example:
        >>> text_of(" a "), text_of(" ")
        ('a', None)
    """
    return (str(value).strip() or None) if value is not None else None
