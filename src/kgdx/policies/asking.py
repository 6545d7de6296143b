"""Asking a language model from within a policy: what is asked, what is answered and what fails go into the log."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kgdx.actions.state import Author, Segment
from kgdx.errors import LlmError
from kgdx.llm.protocol import Answer, ChatModel, Prices, Request, Usage, sound


@dataclass(frozen=True, slots=True)
class Said:
    """What came of asking.

    Attributes:
        text: The answer; what had arrived of it where it was cut off; empty where there is none.
        segments: For the log: the prompt, the answer, and the error if there was one.
        error: Why there is no whole answer.
    """

    text: str
    segments: tuple[Segment, ...]
    error: LlmError | None = None


def ask(
    model: ChatModel,
    request: Request,
    prompt: str,
    *,
    prices: Prices = (0.0, 0.0),
    on_text: Callable[[str], None] | None = None,
    **told: Any,
) -> Said:
    """Ask a model, and record it.

    Args:
        model: Who is asked.
        request: What is asked.
        prompt: Name and version of the prompt.
        prices: For the cost of the answer.
        on_text: Given each piece of the answer as it arrives.
        told: Goes into the parameters of the segments, such as the round.
    """
    words = "\n\n".join(f"[{message.role}]\n{message.content}" for message in request.messages)
    asked = Segment(Author.TOOL, "prompt", model.name, {"prompt": prompt, **told}, content=words)
    started = time.perf_counter()
    answer: Answer | None = None
    error: LlmError | None = None
    try:
        answer = model.ask(request, on_text)
        text = sound(answer.text)
    except LlmError as caught:
        error, text = caught, caught.partial
    spent = (time.perf_counter() - started) * 1000
    segments = [asked]
    if answer is not None or text:
        segments.append(_answer(model.name, answer, text, prompt, prices, spent, told))
    if error is not None:
        wrong = {"error": type(error).__name__, "kind": error.kind, "prompt": prompt, **told}
        took = spent if answer is None and not text else 0.0
        segments.append(Segment(Author.TOOL, "error", model.name, wrong, milliseconds=took, content=str(error)))
    return Said(text, tuple(segments), error)


def _answer(
    name: str, answer: Answer | None, text: str, prompt: str, prices: Prices, spent: float, told: dict[str, Any]
) -> Segment:
    """The segment of an answer; one that was cut off has no count of tokens."""
    usage = Usage() if answer is None else answer.usage
    cached = answer is not None and answer.cached
    cost = 0.0 if cached else usage.cost(prices)
    parameters = {
        "prompt": prompt,
        "read": usage.prompt_tokens,
        "written": usage.completion_tokens,
        "cached": cached,
        **told,
    }
    return Segment(Author.POLICY, "answer", name, parameters, milliseconds=spent, cost=cost, content=text)
