"""A language model that is connected when it is first asked: work that asks nothing needs none."""

from __future__ import annotations

import threading
from collections.abc import Callable

from kgdx.llm.chat import ChatModel, Completion, OnText, Request


class LazyModel(ChatModel):
    """A model that is made when it is first asked.

    Args:
        name: Its name.
        make: Makes it.

    Example:
        >>> from kgdx.evaluate.scripted import scripted
        >>> LazyModel("scripted:right", lambda: scripted("right", [])).name
        'scripted:right'
    """

    def __init__(self, name: str, make: Callable[[], ChatModel]) -> None:
        self._name = name
        self._make = make
        self._model: ChatModel | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Return one sample; see :meth:`kgdx.llm.chat.ChatModel.complete`."""
        with self._lock:
            if self._model is None:
                self._model = self._make()
        return await self._model.complete(request, on_text)

    async def aclose(self) -> None:
        """Close the connections; see :meth:`kgdx.llm.chat.ChatModel.aclose`."""
        if self._model is not None:
            await self._model.aclose()
