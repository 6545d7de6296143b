"""Completions of before: a cache on disk, and recorded conversations.

Only the digest of a request is kept, not its words; the completion is.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import sqlite3
import threading
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import TypeAdapter

from kgdx.errors import ConfigError, LlmError, LlmFault, StoreError
from kgdx.files.locks import open_shared, take
from kgdx.llm.budget import Meter
from kgdx.llm.chat import ChatModel, Completion, Layer, OnText, Request

WAIT_S = 60.0
_CREATE = (
    "create table if not exists answers "
    "(key text primary key, text text not null, model text not null, tokens_read integer, tokens_written integer)"
)


@cache
def _form() -> TypeAdapter[Completion]:
    return TypeAdapter(Completion)


def to_dict(made: Completion) -> dict[str, Any]:
    """Return a completion as a JSON object."""
    plain: dict[str, Any] = _form().dump_python(replace(made, cached=False), mode="json", exclude_defaults=True)
    return plain | {"usage": _form().dump_python(made, mode="json")["usage"]}


def of_dict(plain: dict[str, Any]) -> Completion:
    return replace(_form().validate_python(plain), cached=True)


class AnswerCache:
    """A file of completions."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
            self._db = open_shared(path, WAIT_S)
            self._db.execute("pragma synchronous = normal")
            self._db.execute(_CREATE)
            if "more" not in {row[1] for row in self._db.execute("pragma table_info(answers)")}:
                with suppress(sqlite3.OperationalError):  # another process adds it at the same moment
                    self._db.execute("alter table answers add column more text")
        except (OSError, sqlite3.Error) as error:
            raise self._failed(error) from error

    def get(self, key: str) -> Completion | None:
        """Return the completion for a request's key, if there is one."""
        select = "select text, model, tokens_read, tokens_written, more from answers where key = ?"
        try:
            with self._lock:
                row = self._db.execute(select, (key,)).fetchone()
            if row is None:
                return None
            usage = {"prompt_tokens": row[2], "completion_tokens": row[3]}
            return of_dict({"text": row[0], "model": row[1], "usage": usage, **json.loads(row[4] or "{}")})
        except (sqlite3.Error, ValueError, TypeError) as error:
            raise self._failed(error) from error

    def put(self, key: str, made: Completion) -> None:
        """Keep a completion; the first one for a key stays."""
        try:
            more = to_dict(made)
            text, model, usage = (more.pop(name) for name in ("text", "model", "usage"))
            row = (key, text, model, *usage.values(), json.dumps(more) if more else None)
            with self._lock:
                self._db.execute("insert or ignore into answers values (?, ?, ?, ?, ?, ?)", row)
        except (sqlite3.Error, ValueError) as error:
            raise self._failed(error) from error

    def close(self) -> None:
        self._db.close()

    def _failed(self, error: Exception) -> StoreError:
        full = "full" in str(error) or (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT))
        hint = "free some space, or set KGDX_CACHE to another disk" if full else "delete it, and try again"
        return StoreError(f"the cache of answers {self.path} cannot be used ({error})", hint=hint)


class Cached(Layer):
    """A model whose completions are kept: what was answered before costs nothing.

    Empty completions are asked for again, and so are those cut at a limit that is not the request's own.
    """

    def __init__(self, model: ChatModel, cache: AnswerCache, meter: Meter, place: str = "") -> None:
        super().__init__(model)
        self.cache = cache
        self.meter = meter
        self.place = place

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        key = request.key(self.place, self.name)
        found = self.cache.get(key)
        if found is not None:
            self.meter.answered(found)
            if on_text is not None:
                on_text(found.text)
            return found
        made = await self.model.complete(request, on_text)
        if made.text.strip() and (made.finish_reason != "length" or request.max_tokens is not None):
            with suppress(StoreError):  # what cannot be kept, as on a full disk, is an answer all the same
                await asyncio.to_thread(self.cache.put, key, made)
        return made


# Recorded conversations, for tests and demonstrations without an endpoint: a JSON line for each call.
#
# A recording holds the requests in full: make none of real patients' texts.


CassetteMode = Literal["replay", "record", "auto"]


class Cassette(ChatModel):
    """A recording that answers.

    Args:
        mode: ``replay`` answers from the recording alone; ``record`` asks and writes down; ``auto`` asks for what the
            recording lacks.
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
            try:
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            except OSError as error:
                raise self._unwritten(error) from error

    @property
    def name(self) -> str:
        return self._name

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
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
        asked = [{"role": each.role, "content": each.content} for each in request.messages]
        line = json.dumps({"key": key, "messages": asked, **content}, ensure_ascii=False) + "\n"
        try:
            with self._lock, self.path.open("ab") as stream:
                take(stream.fileno())
                stream.write(line.encode("utf-8", "replace"))
                stream.flush()
                os.fsync(stream.fileno())
                self._known[key] = _recorded(content)
        except OSError as error:
            raise self._unwritten(error) from error

    def _unwritten(self, error: OSError) -> ConfigError:
        message = f"the recording {self.path} cannot be written ({error.strerror or error})"
        return ConfigError(message, hint="check KGDX_LLM_CASSETTE")

    def _read(self) -> dict[str, Completion | LlmError]:
        try:
            *lines, last = self.path.read_text("utf-8").split("\n")
        except FileNotFoundError:
            if self.mode == "auto":
                return {}
            raise ConfigError(f"no recording at {self.path}", hint="check KGDX_LLM_CASSETTE") from None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the recording {self.path} cannot be read ({error})") from error
        known: dict[str, Completion | LlmError] = {}
        for number, line in enumerate([*lines, last] if last else lines, 1):
            try:
                entry = json.loads(line)
                known[str(entry.pop("key"))] = _recorded(entry)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                hint = "remove the line, or record it again"
                raise ConfigError(f"line {number} of the recording {self.path} is wrong", hint=hint) from error
        return known


def _recorded(entry: dict[str, Any]) -> Completion | LlmError:
    if "error" in entry:
        wrong = entry["error"]
        if wrong["kind"] not in get_args(LlmFault) or not isinstance(wrong["message"] + wrong["partial"], str):
            raise ValueError("an error of no known kind")
        return LlmError(wrong["message"], kind=wrong["kind"], partial=wrong["partial"])
    usage = {{"read": "prompt_tokens", "written": "completion_tokens"}.get(k, k): v for k, v in entry["usage"].items()}
    return of_dict({**entry, "usage": usage})
