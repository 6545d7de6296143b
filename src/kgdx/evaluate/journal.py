"""A folder of finished pieces of work: each is a line that is on the disk before the next one begins.

Layout::

    evaluation.json   what is evaluated, and how
    journal.jsonl     a finished piece of work a line; a line that was cut off by a crash is dropped
    lock              held by the process that works
    answers.sqlite    every single answer of a language model, so that not even half a piece is asked for twice
    results.jsonl     a question a line, with both answers and their scores
    summary.json      the figures
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kgdx.case import Case, Failure
from kgdx.errors import StoreError, StoreLockedError, UsageError
from kgdx.files.known import add_to, write_whole
from kgdx.files.locks import take

FORMAT = 1
ABOUT = "evaluation.json"
JOURNAL = "journal.jsonl"
CACHE = "answers.sqlite"
RESULTS = "results.jsonl"
SUMMARY = "summary.json"

Record = Mapping[str, Any]


class Journal:
    """The folder of an evaluation; nothing is created until :meth:`working`.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    @property
    def cache(self) -> Path:
        """The file of single answers."""
        return self.path / CACHE

    def prepare(self) -> None:
        """Make the folder, if there is none.

        Raises:
            StoreError: It cannot be made.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error

    @contextmanager
    def working(self, about: Record) -> Iterator[Journal]:
        """Hold the folder alone, and read what is finished.

        Args:
            about: What is evaluated, and how; it has to be what it was before.

        Raises:
            StoreLockedError: Another process works in it.
            UsageError: It holds another evaluation; the message says what differs.
            StoreError: It cannot be written, or its journal is damaged.
        """
        self.prepare()
        try:
            handle = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            if not take(handle, wait_s=0.0):
                hint = "wait for it to finish, or choose another --out"
                raise StoreLockedError(f"another process evaluates into {self.path}", hint=hint)
            self._begin({"format": FORMAT, **about})
            self.records = self._read()
            yield self
        finally:
            os.close(handle)

    def add(self, record: Record) -> None:
        """Write a finished piece of work, on the disk when this returns; from any thread.

        Raises:
            StoreError: It cannot be written.
        """
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        try:
            with self._lock:
                add_to(self.path / JOURNAL, line)
                self.records.append(dict(record))
        except OSError as error:
            raise self._unwritable(error) from error

    def finish(self, results: Iterable[Record], summary: Record) -> None:
        """Write the results and the figures, each file whole or not at all.

        Raises:
            StoreError: They cannot be written.
        """
        lines = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in results)
        try:
            self._whole(RESULTS, lines)
            self._whole(SUMMARY, json.dumps(summary, ensure_ascii=False, indent=2) + "\n")
        except OSError as error:
            raise self._unwritable(error) from error

    def _begin(self, about: Record) -> None:
        try:
            before = json.loads((self.path / ABOUT).read_text("utf-8"))
        except FileNotFoundError:
            self._refuse_foreign()
            try:
                self._whole(ABOUT, json.dumps(about, ensure_ascii=False, indent=2) + "\n")
            except OSError as error:
                raise self._unwritable(error) from error
            return
        except (OSError, ValueError) as error:
            raise self._damaged(ABOUT, str(error)) from error
        now = json.loads(json.dumps(about))
        if not isinstance(before, dict):
            raise self._damaged(ABOUT, "no JSON object")
        if differing := sorted(key for key in {*before, *now} if before.get(key) != now.get(key)):
            key = differing[0]
            said = f"{key} was {_short(before.get(key))} and is {_short(now.get(key))}"
            raise UsageError(
                f"{self.path} holds another evaluation: {said}", hint="choose another --out, or give what it was"
            )

    def _refuse_foreign(self) -> None:
        """A folder with anything else in it is none of ours."""
        ours = ("lock", f"{ABOUT}.part", CACHE, f"{CACHE}-wal", f"{CACHE}-shm")
        if any(each.name not in ours for each in self.path.iterdir()):
            hint = "choose a new or empty folder"
            raise UsageError(f"{self.path} holds something that is no evaluation", hint=hint)

    def _read(self) -> list[dict[str, Any]]:
        """The journal's records; what follows the last whole line is cut off."""
        path = self.path / JOURNAL
        try:
            content = path.read_bytes() if path.exists() else b""
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                os.truncate(path, whole)
        except OSError as error:
            raise self._unwritable(error) from error
        records = []
        for number, line in enumerate(content[:whole].splitlines(), 1):
            try:
                record = json.loads(line)
            except ValueError as error:
                raise self._damaged(JOURNAL, f"line {number}") from error
            if not isinstance(record, dict):
                raise self._damaged(JOURNAL, f"line {number}")
            records.append(record)
        return records

    def _whole(self, name: str, content: str) -> None:
        write_whole(self.path / name, content.encode("utf-8", "replace"))

    def _damaged(self, name: str, where: str) -> StoreError:
        hint = "remove the line, or choose another --out"
        return StoreError(f"{self.path / name} is damaged ({where})", hint=hint)

    def _unwritable(self, error: OSError) -> StoreError:
        reason = error.strerror or str(error)
        hint = "free some space or choose another --out; what is finished stays"
        return StoreError(f"{self.path} cannot be written ({reason})", hint=hint)


def digest_of(cases: Iterable[Case | Failure]) -> str:
    """Return a digest of cases in their order: an evaluation that goes on is one of the same cases."""
    told = (case.message if isinstance(case, Failure) else f"{case.id} {case.digest}" for case in cases)
    return hashlib.sha256("\n".join(told).encode("utf-8", "replace")).hexdigest()


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"
