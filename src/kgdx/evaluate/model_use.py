"""What one piece of work asks of a language model, counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kgdx.errors import LlmError
from kgdx.evaluate.runner import ENDS_ALL, OUT_OF_REACH
from kgdx.llm.chat import ChatModel, Completion, OnText, Prices, Request, Usage


@dataclass(slots=True)
class ModelUsage(ChatModel):
    """A model whose completions are counted, for one call at a time.

    An answer that was kept from before counts like any other, so that an evaluation which was interrupted adds up to
    the same figures as one that was not.

    ``gaps`` are the seconds between its answers: what whoever asks took for a round of its own; ``error`` is its last
    failure.
    """

    model: ChatModel
    prices: Prices = (0.0, 0.0)
    calls: int = 0
    read: int = 0
    written: int = 0
    seconds: float = field(default=0.0, compare=False)
    gaps: list[float] = field(default_factory=list, compare=False)
    error: LlmError | None = None
    _answered: float | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def cost(self) -> float:
        return Usage(self.read, self.written).cost(self.prices)

    def check(self) -> None:
        """Raise the last failure, if nothing more can be asked for: what came of it since is not the model's."""
        if self.error is not None and self.error.kind in ENDS_ALL | OUT_OF_REACH:
            raise self.error

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        begin = time.perf_counter()
        if self._answered is not None:
            self.gaps.append(begin - self._answered)
        try:
            made = await self.model.complete(request, on_text)
        except LlmError as error:
            self.error = error
            raise
        finally:
            self._answered = time.perf_counter()
            self.seconds += self._answered - begin
        self.calls += 1
        self.read += made.usage.prompt_tokens or 0
        self.written += made.usage.completion_tokens or 0
        return made

    async def aclose(self) -> None:
        await self.model.aclose()

    def to_dict(self) -> dict[str, Any]:
        return {"calls": self.calls, "read": self.read, "written": self.written, "cost": round(self.cost, 9)}


class LazyModel(ChatModel):
    """A model that is made when it is first asked."""

    def __init__(self, name: str, make: Callable[[], ChatModel]) -> None:
        self._name = name
        self._make = make
        self._model: ChatModel | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._name

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        with self._lock:
            if self._model is None:
                self._model = self._make()
        return await self._model.complete(request, on_text)

    async def aclose(self) -> None:
        if self._model is not None:
            await self._model.aclose()
