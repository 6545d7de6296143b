"""The action that reads the case: text into findings, ids brought up to date, contradictions settled."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from kgdx.answer.artifacts import Read
from kgdx.case import Case, Extraction, FindingReader, Resolution, Span, read_text
from kgdx.episode.state import Artifact, State
from kgdx.episode.wish import Action, Operations, Outcome


class Extract(Action):
    """Read the findings of the case's text, or of what came to it since it was read, and clean the case.

    Example:
        >>> Extract().parameters()
        {'language': None}
    """

    name: ClassVar[str] = "extract"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Read
    changes_case: ClassVar[bool] = True
    goes_on: ClassVar[bool] = True

    language: str | None = None
    """Language of the text, ``en`` or ``zh``; found out when absent."""

    def run(self, graph: Operations, view: State) -> Outcome:
        """Return the case, read.

        Raises:
            CaseError: No finding was recognised.
        """
        case, before = view.case, view.last(Read)
        begin = 0 if before is None else before.characters
        given = {"characters": len(case.text) - begin, "terms": len(case.findings)}
        reader = graph.graph.reader if begin == 0 else _Later(graph.graph.reader, begin)

        def read() -> Case:
            return read_text(case, reader, graph.graph.ancestry, language=self.language)

        found = graph.tool("reader", given, read, lambda case: len(case.findings))
        return Outcome(Read(len(case.text), found.digest), found)


class _Later:
    """A reader of what stands behind a place in the text: what was read before is not read again.

    Args:
        reader: Reads.
        begin: The place.
    """

    def __init__(self, reader: FindingReader, begin: int) -> None:
        self._reader, self._begin = reader, begin

    def extract(self, text: str, language: str | None = None) -> Extraction:
        """Read the rest of a text; spans are places in the whole."""
        begin = self._begin
        found = self._reader.extract(text[begin:], language)
        moved = (
            each if each.span is None else replace(each, span=Span(each.span.start + begin, each.span.end + begin))
            for each in found.findings
        )
        return replace(found, findings=tuple(moved))

    def resolve(self, term: str) -> Resolution:
        """Find the current term for an id, a label or a phrase."""
        return self._reader.resolve(term)
