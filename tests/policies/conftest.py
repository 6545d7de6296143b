"""A graph of two invented diseases with symptoms, tests and drugs, built once; and a model behind a real endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kgdx.config import LlmAccess
from kgdx.llm.chat import ChatModel
from kgdx.llm.connect import connect
from llm.server import Script, Server, serving


@contextmanager
def behind(script: Script, **settings: object) -> Iterator[tuple[ChatModel, Server]]:
    """A model behind an endpoint that answers by a script, asked as any other is."""
    with serving(script) as server:
        access = LlmAccess("m", server.url, **{"attempts": 1, "timeout": 5.0, **settings})  # type: ignore[arg-type]
        yield connect(access), server
