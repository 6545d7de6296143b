"""The journal of work that can be resumed: one file of finished pieces, from which a killed run goes on.

JSON lines: the first says what every piece depends on, each further one is a finished piece, on the disk when
:meth:`Journal.add` returns. What follows the last whole line was cut off by a kill and is dropped. The file is private,
one process at a time holds it, and one of other settings is refused, so that no run mixes the work of two.

A run reads what is there, does the rest, and adds each piece as it is finished::

    with Journal.open(folder / "journal.jsonl", {"model": "m", "seed": 0}) as journal:
        done = {record["id"] for record in journal.records if "error" not in record}
        for item in items:
            if item.id not in done:
                journal.add({"id": item.id, "text": model.ask(item)})

What failed may be added with its reason: whoever reads the records decides whether it is tried again. A piece too large
for a line is a file of its own, written whole (:func:`kgdx.files.known.write_whole`) before the line that names it.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kgdx.errors import StoreError, StoreLockedError, UsageError
from kgdx.files.known import sync_folder
from kgdx.files.locks import take
from kgdx.files.private import private_file

Record = Mapping[str, Any]


class Journal:
    """An open journal; :meth:`open` gives one."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self.records: list[dict[str, Any]] = []
        self._handle = handle
        self._lock = threading.Lock()

    @classmethod
    @contextmanager
    def open(cls, path: Path, about: Record) -> Iterator[Journal]:
        """Hold a journal alone, made where there is none, and read what is finished.

        Args:
            path: The file; folders above it are made.
            about: What every piece depends on, as JSON values; it has to be what it was before.

        Example:
            >>> import tempfile
            >>> path = Path(tempfile.mkdtemp()) / "journal.jsonl"
            >>> with Journal.open(path, {"seed": 0}) as journal:
            ...     journal.add({"id": "a"})
            >>> with Journal.open(path, {"seed": 0}) as journal:
            ...     journal.records
            [{'id': 'a'}]
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(private_file(path), os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise _unwritable(path, error) from error
        try:
            if not take(handle, wait_s=0.0):
                hint = "wait for it to finish, or name another place"
                raise StoreLockedError(f"another process writes {path}", hint=hint)
            journal = cls(path, handle)
            journal._resume(dict(about))
            yield journal
        finally:
            os.close(handle)

    def add(self, *records: Record) -> None:
        """Write finished pieces, on the disk when this returns; from any thread."""
        lines = "".join(json.dumps(record) + "\n" for record in records).encode()  # ASCII: any text can be kept
        with self._lock:
            end = os.fstat(self._handle).st_size
            try:
                left = memoryview(lines)
                while left:
                    left = left[os.write(self._handle, left) :]
                os.fsync(self._handle)
            except OSError as error:
                os.ftruncate(self._handle, end)
                raise _unwritable(self.path, error) from error
            self.records += map(dict, records)

    def _resume(self, about: dict[str, Any]) -> None:
        try:
            content = self.path.read_bytes()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                os.ftruncate(self._handle, whole)
            sync_folder(self.path.parent)
        except OSError as error:
            raise _unwritable(self.path, error) from error
        lines = [_record(self.path, number, line) for number, line in enumerate(content[:whole].splitlines(), 1)]
        if not lines:
            self.add(about)
            lines, self.records = self.records, []
        before, now = lines[0], json.loads(json.dumps(about))
        if differing := sorted(key for key in {*before, *now} if before.get(key) != now.get(key)):
            key = differing[0]
            what = f"{self.path} is of another run: {key} was {_short(before.get(key))} and is {_short(now.get(key))}"
            raise UsageError(what, hint="choose another place, or remove that file to begin anew")
        self.records = lines[1:]


def _record(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
        if isinstance(record, dict):
            return record
    except ValueError:
        pass
    raise StoreError(f"{path} is damaged (line {number})", hint="remove the line, or choose another place")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _unwritable(path: Path, error: OSError) -> StoreError:
    hint = "free some space or choose another place; what is finished stays"
    return StoreError(f"{path} cannot be written ({error.strerror or error})", hint=hint)
