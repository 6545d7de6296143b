"""The action that answers: words for the question, held against the evidence."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from kgdx.answer.artifacts import Answered, Cited, Described, Explained, Ranked, Retrieved
from kgdx.answer.evidence_pack import language_of, pack
from kgdx.answer.sentences import MAX_CHARS, check
from kgdx.answer.templated_answer import templated
from kgdx.episode.state import Artifact, Reads, State
from kgdx.episode.wish import Action, Operations
from kgdx.errors import UsageError
from kgdx.results.cited import CitedText


class Respond(Action):
    """Answer the question from the evidence, and end the episode.

    Example:
        >>> Respond(text="Ptosis [E1].").parameters()
        {'strict': True, 'language': None, 'author': 'template'}
    """

    name: ClassVar[str] = "respond"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Answered
    ends: ClassVar[str] = "answered"
    pure: ClassVar[bool] = True
    private: ClassVar[frozenset[str]] = frozenset({"text"})

    text: Annotated[str, Field(max_length=10 * MAX_CHARS)] | None = None
    """The answer, each sentence with the marks of its evidence; written from templates when absent."""

    strict: bool = True
    """Whether the answer may rest on nothing but the evidence."""

    language: Literal["en", "zh"] | None = None
    """Language of the answer; that of the question when absent."""

    author: Annotated[str, Field(max_length=200)] = "template"
    """Who wrote the text."""

    @property
    def reads(self) -> tuple[Reads, ...]:
        """The question, and all that was found."""
        return ("question", "evidence", Retrieved, Ranked, Explained, Described, Cited)

    def run(self, graph: Operations, view: State) -> Answered:
        """Return the checked answer.

        Raises:
            UsageError: The text is empty.
        """
        if self.text is not None and not self.text.strip():
            raise UsageError("the answer is empty", hint="write one, or leave the text out to have it made by template")
        evidence = pack(view)
        language = self.language or language_of(view.question)

        def make() -> CitedText:
            if self.text is None:
                return templated(evidence, language, self.strict)
            return check(self.text, evidence, strict=self.strict, language=language, author=self.author)

        given = {"items": len(evidence.items), "strict": self.strict, "language": language}
        name = "template" if self.text is None else "citations"
        return Answered(graph.tool(name, given, make, lambda made: len(made.sentences)))
