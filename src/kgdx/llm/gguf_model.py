"""A language model in this process from a GGUF file, run by llama-cpp-python, whose grammar holds it to a schema."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kgdx.config import LlmAccess
from kgdx.errors import MissingExtraError
from kgdx.llm.budget import Meter
from kgdx.llm.chat import Completion, Message, OnText, Request, Usage, estimated_tokens, seed_of, with_schema
from kgdx.llm.local_model import InProcessModel

CONTEXT = 4_096
"""Tokens that the model reads and writes where nobody sets more: what it takes of memory grows with them."""


class GgufModel(InProcessModel):
    """A model from a file; loaded when it is first asked."""

    def __init__(self, access: LlmAccess, meter: Meter | None = None) -> None:
        from importlib.util import find_spec

        if find_spec("llama_cpp") is None:
            raise MissingExtraError("a language model from a GGUF file", "gguf")
        super().__init__(access, meter)
        self._llama: Any = None

    def window(self) -> int:
        return self.access.context or CONTEXT

    def _completed(self, request: Request, hear: OnText | None, cancelled: Callable[[], bool]) -> Completion:
        if self._llama is None:
            self._llama = self._load()
        messages = list(request.messages)
        begun = messages.pop().content if request.continues else ""
        if request.schema is not None:
            messages = with_schema(messages, request.schema)
        turns = [{"role": each.role, "content": each.content} for each in messages]
        if begun:  # its chat format ends each turn, so a text is continued as a new one that follows it
            turns += [{"role": "assistant", "content": begun}, {"role": "user", "content": "Go on."}]
        given = estimated_tokens([Message("user", each["content"]) for each in turns])
        seed = seed_of(self.access.seed, request.number) if request.seed is None else request.seed
        pieces, finish = [], "length"
        until = time.monotonic() + self.access.timeout
        chosen: dict[str, Any] = {} if request.top_p is None else {"top_p": request.top_p}
        if request.schema is not None:
            chosen["response_format"] = {"type": "json_object", "schema": dict(request.schema)}
        for piece, ended in self._written(turns, given, request, seed, chosen):
            pieces.append(piece)
            finish = ended or finish
            if hear is not None and piece:
                hear(piece)
            if cancelled():
                break
            self._in_time(until, lambda: "".join(pieces))
        text = "".join(pieces)
        read = sum(self._ids(each["content"]) + 4 for each in turns)
        return Completion(text, self.name, Usage(read, self._ids(text)), finish_reason=finish)

    def _written(
        self, turns: list[dict[str, str]], given: int, request: Request, seed: int, chosen: Mapping[str, Any]
    ) -> Iterator[tuple[str, str | None]]:
        window = self.window()
        try:
            for chunk in self._llama.create_chat_completion(
                turns,
                stream=True,
                temperature=request.temperature,
                seed=seed % 2**31,
                stop=list(request.stop),
                max_tokens=self._length(window, min(given, window - 1), request.max_tokens or self.access.max_output),
                **chosen,
            ):
                choice = chunk["choices"][0]
                yield choice["delta"].get("content") or "", choice["finish_reason"]
        except ValueError as error:
            if "context window" in str(error):
                hint = "set KGDX_LLM_CONTEXT to more, or ask for less at once"
                raise self._error(f"reads and writes {window:,} tokens, and this is more", "context", hint) from None
            raise self._error(f"cannot be asked ({type(error).__name__})", "rejected", "try another file") from error

    def _ids(self, text: str) -> int:
        return len(self._llama.tokenize(text.encode("utf-8", "replace"), add_bos=False, special=False))

    def _load(self) -> Any:
        from llama_cpp import Llama

        path = Path(self.name).expanduser()
        if not path.is_file():
            raise self._error("is no file", "missing", "give the path of a GGUF file, as gguf:FILE")
        try:
            return Llama(
                str(path), n_ctx=self.window(), n_threads=os.cpu_count() or 1, seed=self.access.seed, verbose=False
            )
        except (ValueError, OSError, RuntimeError) as error:
            raise self._error("cannot be loaded", "missing", "give a whole GGUF file that llama.cpp reads") from error
