"""Put together a language model as the settings describe it.

An endpoint or a model in this process; in front of it a recording or a cache; in front of all, where it is switched on,
what takes out passages that identify a person. Of a model that thinks aloud, what stands between ``<think>`` and
``</think>`` is told apart from the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel

from kgdx.config import LlmAccess
from kgdx.config.language_model import GGUF, TRANSFORMERS, elsewhere
from kgdx.errors import LlmError
from kgdx.llm.budget import Meter
from kgdx.llm.chat import ChatModel, Completion, Layer, Message, OnText, Request
from kgdx.llm.completion_cache import AnswerCache, Cached, Cassette, CassetteMode
from kgdx.llm.deidentify import Deidentified
from kgdx.llm.endpoint import Endpoint
from kgdx.llm.local_model import GgufModel, LocalModel, stamp
from kgdx.llm.structured import structured


def connect(
    access: LlmAccess,
    *,
    cache: Path | None = None,
    meter: Meter | None = None,
    progress: Callable[[str], None] | None = None,
) -> ChatModel:
    """Return a model that is ready to be asked; nothing is sent before.

    Args:
        progress: Called with a line every few seconds while the model keeps somebody waiting.
    """
    meter = meter or Meter.of(access)
    meter.progress = progress or meter.progress
    model = _model(access, cache, meter)
    return Deidentified(model, meter) if access.deidentify else model


def described(access: LlmAccess) -> str:
    """Describe in one line which model is asked, and what is taken out of what is sent."""
    if access.cassette is not None and access.cassette_mode == "replay":
        place = f"from the recording {access.cassette}"
    else:
        place = "in this process" if access.is_local else f"at {access.base_url}"
    taken = "; identifying names, dates and numbers are taken out before" if access.deidentify else ""
    if not taken and elsewhere(access.base_url) and "recording" not in place:
        taken = "; names, dates and numbers are sent as they are written (KGDX_LLM_DEIDENTIFY is off)"
    return f"{access.model} {place}{taken}"


def _model(access: LlmAccess, cache: Path | None, meter: Meter) -> ChatModel:
    replayed = access.cassette is not None and access.cassette_mode == "replay"
    model: ChatModel | None = None
    if not replayed:
        kind = {TRANSFORMERS: LocalModel, GGUF: GgufModel}.get(access.base_url, Endpoint)
        model = Reasoning(kind(access, meter))
    if access.cassette is not None:
        return Cassette(access.cassette, access.model, cast(CassetteMode, access.cassette_mode), model, meter)
    assert model is not None
    place = f"{access.base_url}#{access.seed}#{stamp(access.model)}" if access.is_local else access.base_url
    return model if cache is None else Cached(model, AnswerCache(cache), meter, place)


OPENING, CLOSING = "<think>", "</think>"


def split_reasoning(text: str) -> tuple[str, str]:
    """Return the reasoning at the beginning of a text, and the rest; all of it is reasoning where that does not end.

    Chat templates of some models open the reasoning in the prompt, so that the text holds its end alone.
    """
    before, closed, after = text.partition(CLOSING)
    begun = before.lstrip()
    if begun.startswith(OPENING):
        return begun.removeprefix(OPENING).strip(), after.lstrip()
    return (before.strip(), after.lstrip()) if closed and OPENING not in before else ("", text)


class Reasoning(Layer):
    """A model whose reasoning is kept in the text, separated from it or dropped, as the request says."""

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
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
