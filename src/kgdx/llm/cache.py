"""Completions of before, on disk, by the digest of the request; safe with several threads and processes.

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
from typing import Any

from pydantic import TypeAdapter

from kgdx.errors import StoreError
from kgdx.llm.accounting import Meter
from kgdx.llm.protocol import ChatModel, Completion, Layer, OnText, Request
from kgdx.resources import open_shared

WAIT_S = 60.0
_CREATE = (
    "create table if not exists answers "
    "(key text primary key, text text not null, model text not null, tokens_read integer, tokens_written integer)"
)


@cache
def _form() -> TypeAdapter[Completion]:
    return TypeAdapter(Completion)


def to_dict(made: Completion) -> dict[str, Any]:
    """Return a completion as a JSON object.

    Example:
        >>> to_dict(Completion("yes", "m"))
        {'text': 'yes', 'model': 'm', 'usage': {'prompt_tokens': None, 'completion_tokens': None}}
    """
    plain: dict[str, Any] = _form().dump_python(replace(made, cached=False), mode="json", exclude_defaults=True)
    return plain | {"usage": _form().dump_python(made, mode="json")["usage"]}


def of_dict(plain: dict[str, Any]) -> Completion:
    """Return the completion that a JSON object stands for, marked as cached.

    Raises:
        ValueError: It stands for none.
    """
    return replace(_form().validate_python(plain), cached=True)


class AnswerCache:
    """A file of completions.

    Raises:
        StoreError: It cannot be read or written.
    """

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
        """Close the file."""
        self._db.close()

    def _failed(self, error: Exception) -> StoreError:
        full = "full" in str(error) or (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT))
        hint = "free some space, or set KGDX_CACHE to another disk" if full else "delete it, and try again"
        return StoreError(f"the cache of answers {self.path} cannot be used ({error})", hint=hint)


class Cached(Layer):
    """A model whose completions are kept: what was answered before costs nothing.

    Empty completions are asked for again, and so are those cut at a limit that is not the request's own.

    Args:
        model: The model that is asked for what is not in the cache.
        cache: Where completions are kept.
        meter: Counts those that were there.
        place: Tells apart models of one name, such as by the endpoint's address.
    """

    def __init__(self, model: ChatModel, cache: AnswerCache, meter: Meter, place: str = "") -> None:
        super().__init__(model)
        self.cache = cache
        self.meter = meter
        self.place = place

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Return one sample; see :meth:`kgdx.llm.protocol.ChatModel.complete`."""
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
