"""Recorded conversations, for tests and demonstrations without an endpoint: a JSON line for each call.

A recording holds the requests in full: make none of real patients' texts.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import threading
from pathlib import Path
from typing import Any, Literal, get_args

from kgdx.errors import ConfigError, LlmError, LlmFault
from kgdx.llm.accounting import Meter
from kgdx.llm.cache import of_dict, to_dict
from kgdx.llm.protocol import ChatModel, Completion, OnText, Request

CassetteMode = Literal["replay", "record", "auto"]


class Cassette(ChatModel):
    """A recording that answers.

    Args:
        path: The file.
        name: The model's name.
        mode: ``replay`` answers from the recording alone; ``record`` asks and writes down; ``auto`` asks for what the
            recording lacks.
        model: The model that is asked; not needed for ``replay``.
        meter: Counts the completions that come from the recording.

    Raises:
        ConfigError: The file is missing, or is no recording.
    """

    def __init__(
        self, path: Path, name: str, mode: CassetteMode, model: ChatModel | None = None, meter: Meter | None = None
    ) -> None:
        if mode != "replay" and model is None:
            raise ConfigError("nobody is there to answer for the recording", hint="give a model, or replay")
        self.path = path
        self._name = name
        self.mode = mode
        self.model = model
        self.meter = meter or Meter()
        self._lock = threading.Lock()
        self._known: dict[str, Completion | LlmError] = {} if mode == "record" else self._read()
        if mode != "replay":
            self._create()

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Return one sample; see :meth:`kgdx.llm.protocol.ChatModel.complete`."""
        key = request.key(self.name)
        found = self._known.get(key)
        if found is None and self.model is not None:
            return await self._record(key, request, on_text)
        if found is None:
            message = f"the recording {self.path} has no answer to this"
            raise LlmError(message, hint="record it: KGDX_LLM_CASSETTE_MODE=auto", kind="missing")
        if isinstance(found, LlmError):
            raise LlmError(found.message, kind=found.kind, partial=found.partial)
        self.meter.answered(found)
        if on_text is not None:
            on_text(found.text)
        return found

    async def aclose(self) -> None:
        """Close the connections; see :meth:`kgdx.llm.protocol.ChatModel.aclose`."""
        if self.model is not None:
            await self.model.aclose()

    async def _record(self, key: str, request: Request, on_text: OnText | None) -> Completion:
        assert self.model is not None
        try:
            made = await self.model.complete(request, on_text)
        except LlmError as error:
            if error.kind == "refused":
                wrong = {"message": str(error), "kind": error.kind, "partial": error.partial}
                await asyncio.to_thread(self._write, key, request, {"error": wrong})
            raise
        await asyncio.to_thread(self._write, key, request, to_dict(made))
        return made

    def _write(self, key: str, request: Request, content: dict[str, Any]) -> None:
        """Add a line, whole, whoever else writes."""
        asked = [{"role": each.role, "content": each.content} for each in request.messages]
        line = json.dumps({"key": key, "messages": asked, **content}, ensure_ascii=False) + "\n"
        try:
            with self._lock, self.path.open("ab") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX)
                stream.write(line.encode("utf-8", "replace"))
                stream.flush()
                os.fsync(stream.fileno())
                self._known[key] = _recorded(content)
        except OSError as error:
            raise self._unwritten(error) from error

    def _create(self) -> None:
        """Create the file before anything is asked that could not be kept then."""
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise self._unwritten(error) from error

    def _unwritten(self, error: OSError) -> ConfigError:
        message = f"the recording {self.path} cannot be written ({error.strerror or error})"
        return ConfigError(message, hint="check KGDX_LLM_CASSETTE")

    def _read(self) -> dict[str, Completion | LlmError]:
        try:
            lines = self.path.read_text("utf-8").splitlines()
        except FileNotFoundError:
            if self.mode == "auto":
                return {}
            raise ConfigError(f"no recording at {self.path}", hint="check KGDX_LLM_CASSETTE") from None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the recording {self.path} cannot be read ({error})") from error
        known: dict[str, Completion | LlmError] = {}
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                known[str(entry.pop("key"))] = _recorded(entry)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                hint = "remove the line, or record it again"
                raise ConfigError(f"line {number} of the recording {self.path} is wrong", hint=hint) from error
        return known


def _recorded(entry: dict[str, Any]) -> Completion | LlmError:
    """Return what a line of a recording holds; older recordings call the numbers of tokens read and written.

    Raises:
        ValueError: It holds nothing of the kind; ``KeyError`` and ``TypeError`` likewise.
    """
    if "error" in entry:
        wrong = entry["error"]
        if wrong["kind"] not in get_args(LlmFault) or not isinstance(wrong["message"] + wrong["partial"], str):
            raise ValueError("an error of no known kind")
        return LlmError(wrong["message"], kind=wrong["kind"], partial=wrong["partial"])
    usage = {{"read": "prompt_tokens", "written": "completion_tokens"}.get(k, k): v for k, v in entry["usage"].items()}
    return of_dict({**entry, "usage": usage})
