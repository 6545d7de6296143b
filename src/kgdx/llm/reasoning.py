"""Models that think aloud: what stands between ``<think>`` and ``</think>`` is no part of the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kgdx.errors import LlmError
from kgdx.llm.protocol import Answer, ChatModel, Request

OPENING, CLOSING = "<think>", "</think>"


def spoken(text: str) -> str:
    """Return an answer without the thoughts before it; nothing where they do not end.

    Templates of some models open the thoughts in the prompt, so that the answer holds their end alone.

    Example:
        >>> spoken("<think>Drugs, then.</think>[]"), spoken("Drugs, then.</think>[]"), spoken("<think>Drugs")
        ('[]', '[]', '')
    """
    before, closed, after = text.partition(CLOSING)
    if text.lstrip().startswith(OPENING):
        return after.lstrip()
    return after.lstrip() if closed and OPENING not in before else text


class Spoken:
    """A model whose thoughts are left out of what it answers.

    Args:
        model: Who answers.
    """

    def __init__(self, model: ChatModel) -> None:
        self.model = model

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    def ask(self, request: Request, on_text: Callable[[str], None] | None = None) -> Answer:
        """Return the answer; see :meth:`kgdx.llm.protocol.ChatModel.ask`."""
        try:
            answer = self.model.ask(request, None if on_text is None else _Aloud(on_text))
        except LlmError as error:
            error.partial = spoken(error.partial)
            raise
        text = spoken(answer.text)
        if not text.strip():
            message = f"the model {self.name} thought, and gave no answer"
            raise LlmError(message, hint="raise its output limit, or switch its thinking off", kind="malformed")
        return replace(answer, text=text)


class _Aloud:
    """Passes the pieces of an answer on once its thoughts have ended."""

    def __init__(self, hear: Callable[[str], None]) -> None:
        self._hear = hear
        self._held: str | None = ""

    def __call__(self, piece: str) -> None:
        if self._held is None:
            self._hear(piece)
            return
        self._held += piece
        begun = self._held.lstrip()
        if len(begun) < len(OPENING) and OPENING.startswith(begun):
            return  # thoughts may be about to begin
        if begun.startswith(OPENING) and not spoken(begun):
            return
        said, self._held = spoken(self._held), None
        self._hear(said)
