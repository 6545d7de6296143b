"""Recorded conversations, for tests and demonstrations without an endpoint: a JSON line for each question and answer.

A recording holds the questions in full: make none of real patients' texts.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, get_args

from kgdx.errors import ConfigError, LlmError, LlmFault
from kgdx.llm.accounting import Meter
from kgdx.llm.protocol import Answer, ChatModel, Request, Usage

CassetteMode = Literal["replay", "record", "auto"]


class Cassette:
    """A recording that answers.

    Args:
        path: The file.
        name: The model's name.
        mode: ``replay`` answers from the recording alone; ``record`` asks and writes down; ``auto`` asks for what the
            recording lacks.
        model: Who is asked; not needed for ``replay``.
        meter: Counts the answers that come from the recording.

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
        self._known: dict[str, dict[str, Any]] = {} if mode == "record" else self._read()
        if mode != "replay":
            self._made()

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    def ask(self, request: Request, on_text: Callable[[str], None] | None = None) -> Answer:
        """Return the answer; see :meth:`kgdx.llm.protocol.ChatModel.ask`."""
        key = request.key(self.name)
        found = self._known.get(key)
        if found is None and self.model is not None:
            return self._recorded(key, request, on_text)
        if found is None:
            message = f"the recording {self.path} has no answer to this"
            raise LlmError(message, hint="record it: KGDX_LLM_CASSETTE_MODE=auto", kind="missing")
        if "error" in found:
            wrong = found["error"]
            raise LlmError(wrong["message"], kind=wrong["kind"], partial=wrong["partial"])
        answer = Answer(found["text"], found["model"], Usage(**found["usage"]), cached=True)
        self.meter.answered(answer)
        if on_text is not None:
            on_text(answer.text)
        return answer

    def _recorded(self, key: str, request: Request, on_text: Callable[[str], None] | None) -> Answer:
        assert self.model is not None
        try:
            answer = self.model.ask(request, on_text)
        except LlmError as error:
            if error.kind in ("refused", "truncated"):
                wrong = {"message": str(error), "kind": error.kind, "partial": error.partial}
                self._write(key, request, {"error": wrong})
            raise
        content = {"text": answer.text, "model": answer.model, "usage": asdict(answer.usage)}
        self._write(key, request, content)
        return answer

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
                self._known[key] = content
        except OSError as error:
            raise self._unwritten(error) from error

    def _made(self) -> None:
        """Make the file before anything is asked that could not be kept then."""
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise self._unwritten(error) from error

    def _unwritten(self, error: OSError) -> ConfigError:
        message = f"the recording {self.path} cannot be written ({error.strerror or error})"
        return ConfigError(message, hint="check KGDX_LLM_CASSETTE")

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            lines = self.path.read_text("utf-8").splitlines()
        except FileNotFoundError:
            if self.mode == "auto":
                return {}
            raise ConfigError(f"no recording at {self.path}", hint="check KGDX_LLM_CASSETTE") from None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the recording {self.path} cannot be read ({error})") from error
        known: dict[str, dict[str, Any]] = {}
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                _check(entry)
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                hint = "remove the line, or record it again"
                raise ConfigError(f"line {number} of the recording {self.path} is wrong", hint=hint) from error
            known[entry["key"]] = entry
        return known


def _check(entry: dict[str, Any]) -> None:
    if "error" in entry:
        wrong = entry["error"]
        if wrong["kind"] not in get_args(LlmFault) or not isinstance(wrong["message"] + wrong["partial"], str):
            raise ValueError(entry["key"])
    elif not isinstance(entry["text"] + entry["model"] + entry["key"], str) or Usage(**entry["usage"]) is None:
        raise ValueError(entry["key"])
