"""A language model that is connected when it is first asked: work that asks nothing needs none."""

from __future__ import annotations

import threading
from collections.abc import Callable

from kgdx.llm.protocol import Answer, ChatModel, Request


class Later:
    """A :class:`~kgdx.llm.protocol.ChatModel` that is made when it is needed.

    Args:
        name: Its name.
        make: Makes it.

    Example:
        >>> from kgdx.evaluate.scripted import scripted
        >>> Later("scripted:right", lambda: scripted("right", [])).name
        'scripted:right'
    """

    def __init__(self, name: str, make: Callable[[], ChatModel]) -> None:
        self.name = name
        self._make = make
        self._model: ChatModel | None = None
        self._lock = threading.Lock()

    def ask(self, request: Request, on_text: Callable[[str], None] | None = None) -> Answer:
        """Return the answer; see :meth:`kgdx.llm.protocol.ChatModel.ask`."""
        with self._lock:
            if self._model is None:
                self._model = self._make()
        return self._model.ask(request, on_text)
