"""What a language model can do, found out by asking it: the window, JSON, tokens, streams, speed."""

from __future__ import annotations

import time
from typing import Any, Literal

from pydantic import BaseModel

from kgdx.errors import LlmError
from kgdx.llm.chat import ChatModel, Layer, Message, Request
from kgdx.llm.endpoint import Endpoint
from kgdx.llm.structured import structured


class Colour(BaseModel):
    """A form that any model can fill in."""

    colour: Literal["red", "green", "blue"]


def checked(model: ChatModel) -> dict[str, Any]:
    """Ask a model two short questions, and return what it turned out to do.

    The first one has to be answered; what the second one lacks is told.
    """
    pieces: list[str] = []
    asked = Request((Message("user", "Write one sentence about the sky."),), max_tokens=40)
    began = time.monotonic()
    try:
        text, usage = (said := model.ask(asked, pieces.append)).text, said.usage
    except LlmError as error:
        if error.kind != "truncated":  # a sentence that is cut is an answer
            raise
        text, usage = error.partial, None
    took = time.monotonic() - began
    written = len(pieces) if usage is None or not usage.completion_tokens else usage.completion_tokens
    counted = None if usage is None else usage.prompt_tokens
    found: dict[str, Any] = {
        "answers": bool(text.strip()),
        "streams": len(pieces) > 1,
        "context window": model.window(),
        "counts tokens": bool(counted) if usage is not None else None,
        "tokens a second": round(written / took, 1) if took > 0 else None,
    }
    try:
        held = structured(
            model, Request((Message("user", "Which colour is the sky?"),), max_tokens=60), Colour, again=0
        )
        found["JSON"] = f"mended: {held.value.colour}" if held.mended else held.value.colour
    except LlmError as error:
        found["JSON"] = f"no ({error.message})"
    while isinstance(model, Layer):
        model = model.model
    if isinstance(model, Endpoint):
        found["held to JSON by"] = model.mode
    return found
