"""Answers that were given before, on disk, by the content of the question; safe with several threads and processes.

Only the question's digest is kept, not its words; the answer is.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from kgdx.errors import StoreError
from kgdx.llm.accounting import Meter
from kgdx.llm.protocol import Answer, ChatModel, Request, Usage
from kgdx.store.shared_file import open_shared

WAIT_S = 60.0
_CREATE = (
    "create table if not exists answers "
    "(key text primary key, text text not null, model text not null, tokens_read integer, tokens_written integer)"
)


class AnswerCache:
    """A file of answers.

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
        except (OSError, sqlite3.Error) as error:
            raise self._failed(error) from error

    def get(self, key: str) -> Answer | None:
        """Return the answer to a question, if it is there."""
        select = "select text, model, tokens_read, tokens_written from answers where key = ?"
        try:
            with self._lock:
                row = self._db.execute(select, (key,)).fetchone()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return None if row is None else Answer(row[0], row[1], Usage(row[2], row[3]), cached=True)

    def put(self, key: str, answer: Answer) -> None:
        """Keep an answer; the first one to a question stays."""
        row = (key, answer.text, answer.model, answer.usage.read, answer.usage.written)
        try:
            with self._lock:
                self._db.execute("insert or ignore into answers values (?, ?, ?, ?, ?)", row)
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _failed(self, error: Exception) -> StoreError:
        full = "full" in str(error) or (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT))
        hint = "free some space, or set KGDX_CACHE to another disk" if full else "delete it, and try again"
        return StoreError(f"the cache of answers {self.path} cannot be used ({error})", hint=hint)


class Cached:
    """A model whose answers are kept: a question that was answered before costs nothing.

    Args:
        model: Who is asked what is not in the cache.
        cache: Where answers are kept.
        meter: Counts the answers that were there.
        place: Tells apart models of one name, such as by the endpoint's address.
    """

    def __init__(self, model: ChatModel, cache: AnswerCache, meter: Meter, place: str = "") -> None:
        self.model = model
        self.cache = cache
        self.meter = meter
        self.place = place

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    def ask(self, request: Request, on_text: Callable[[str], None] | None = None) -> Answer:
        """Return the answer; see :meth:`kgdx.llm.protocol.ChatModel.ask`."""
        key = request.key(self.place, self.name)
        found = self.cache.get(key)
        if found is None:
            answer = self.model.ask(request, on_text)
            with suppress(StoreError):  # an answer that cannot be kept, as on a full disk, is an answer all the same
                self.cache.put(key, replace(answer, cached=False))
            return answer
        self.meter.answered(found)
        if on_text is not None:
            on_text(found.text)
        return found
