"""The action that answers: words for the question, held against the evidence."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from kgdx.actions.base import Action, Operations
from kgdx.actions.checking import MAX_CHARS, check
from kgdx.actions.known import CitedText
from kgdx.actions.pack import language_of, pack
from kgdx.actions.record import tool
from kgdx.actions.state import State
from kgdx.actions.templated import templated
from kgdx.errors import UsageError


class Respond(Action):
    """Answer the question from the evidence, and end the episode.

    Example:
        >>> Respond(text="Ptosis [E1].").parameters()["characters"]
        12
    """

    name: ClassVar[str] = "respond"

    text: Annotated[str, Field(max_length=10 * MAX_CHARS)] | None = None
    """The answer, each sentence with the marks of its evidence; written from templates when absent."""

    strict: bool = True
    """Whether the answer may rest on nothing but the evidence."""

    language: Literal["en", "zh"] | None = None
    """Language of the answer; that of the question when absent."""

    author: Annotated[str, Field(max_length=200)] = "template"
    """Who wrote the text."""

    def run(self, graph: Operations, state: State) -> State:
        """Return the state with the checked answer, done.

        Raises:
            UsageError: The text is empty.
        """
        if self.text is not None and not self.text.strip():
            raise UsageError("the answer is empty", hint="write one, or leave the text out to have it made by template")
        evidence = pack(state)
        language = self.language or language_of(state.question)

        def make() -> CitedText:
            if self.text is None:
                return templated(evidence, language, self.strict)
            return check(self.text, evidence, strict=self.strict, language=language, author=self.author)

        given = {"items": len(evidence.items), "strict": self.strict, "language": language}
        name = "template" if self.text is None else "citations"
        state, answer = tool(state, name, given, make, lambda made: len(made.sentences))
        return replace(state, answer=answer, done=True)

    def parameters(self) -> dict[str, Any]:
        """Return the fields for the log; of the text, which may repeat a patient's words, only length and digest."""
        text = self.text or ""
        return {
            "strict": self.strict,
            "language": self.language,
            "author": self.author,
            "characters": len(text),
            "digest": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16] if text else "",
        }
