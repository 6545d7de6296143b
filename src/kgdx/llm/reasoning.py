"""Models that think aloud: the part between ``<think>`` and ``</think>`` is told apart from the answer."""

from __future__ import annotations

from dataclasses import replace

from kgdx.errors import LlmError
from kgdx.llm.protocol import Completion, Layer, OnText, Request

OPENING, CLOSING = "<think>", "</think>"


def split_reasoning(text: str) -> tuple[str, str]:
    """Return the reasoning at the beginning of a text, and the rest; all of it is reasoning where that does not end.

    Chat templates of some models open the reasoning in the prompt, so that the text holds its end alone.

    Example:
        >>> split_reasoning("<think>Drugs, then.</think>[]"), split_reasoning("Drugs.</think>[]")
        (('Drugs, then.', '[]'), ('Drugs.', '[]'))
        >>> split_reasoning("<think>Drugs"), split_reasoning("[]")
        (('Drugs', ''), ('', '[]'))
    """
    before, closed, after = text.partition(CLOSING)
    begun = before.lstrip()
    if begun.startswith(OPENING):
        return begun.removeprefix(OPENING).strip(), after.lstrip()
    return (before.strip(), after.lstrip()) if closed and OPENING not in before else ("", text)


class Reasoning(Layer):
    """A model whose reasoning is kept in the text, separated from it or dropped, as the request says."""

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Return one sample; see :meth:`kgdx.llm.protocol.ChatModel.complete`."""
        if request.reasoning == "keep":
            made = await self.model.complete(request, on_text)
            if not made.reasoning:
                return made
            return replace(made, text=f"{OPENING}{made.reasoning}{CLOSING}{made.text}", reasoning="")
        try:
            made = await self.model.complete(request, None if on_text is None else _AfterReasoning(on_text))
        except LlmError as error:
            error.partial = split_reasoning(error.partial)[1]
            raise
        reasoning, text = split_reasoning(made.text)
        kept = (made.reasoning or reasoning) if request.reasoning == "separate" else ""
        return replace(made, text=text, reasoning=kept)


class _AfterReasoning:
    """Passes the pieces of a text on once its reasoning has ended."""

    def __init__(self, hear: OnText) -> None:
        self._hear = hear
        self._held: str | None = ""

    def __call__(self, piece: str) -> None:
        if self._held is None:
            self._hear(piece)
            return
        self._held += piece
        begun = self._held.lstrip()
        if len(begun) < len(OPENING) and OPENING.startswith(begun):
            return  # reasoning may be about to begin
        _, text = split_reasoning(begun)
        if begun.startswith(OPENING) and not text:
            return
        text, self._held = split_reasoning(self._held)[1], None
        self._hear(text)
