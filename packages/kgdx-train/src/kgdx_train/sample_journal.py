"""What a model wrote for pairs, sample by sample, in a file from which a killed run goes on: nothing is asked twice.

JSON lines: first what every sample depends on, then a sample a line, by the digest of its question, what it is, its
seed and its number. A line that was cut by a kill is dropped. Texts are kept as they were written: the file is private.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Literal

from kgdx.errors import StoreError, StoreLockedError, UsageError
from kgdx.files.known import sync_folder
from kgdx.files.locks import take
from kgdx.files.private import private_file

LONGEST = 20_000
"""Characters that are kept of a text; what is longer is an endless one, and no pair is made of it."""
Asked = Literal["thought", "direct", "retrieved", "answer"]
Key = tuple[str, Asked, int, int]
"""Digest of the question, what was asked for, seed, and number of the sample."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A text that a model wrote, or why there is none; left out of the representation."""

    text: str = field(repr=False)
    fault: str = ""


class SampleJournal:
    """The samples so far; nothing is created until :meth:`working`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._samples: dict[Key, Sample] = {}
        self._stream: TextIOWrapper | None = None

    def __len__(self) -> int:
        return len(self._samples)

    def get(self, key: Key) -> Sample | None:
        return self._samples.get(key)

    @contextmanager
    def working(self, about: Mapping[str, Any]) -> Iterator[SampleJournal]:
        """Hold the file alone, and read what it has."""
        try:
            stream = private_file(self.path).open("r+", encoding="utf-8", errors="surrogatepass", newline="\n")
        except OSError as error:
            raise self._unwritable(error) from error
        with stream:
            try:
                sync_folder(self.path.parent)
            except OSError as error:
                raise self._unwritable(error) from error
            if not take(stream.fileno(), wait_s=0.0):
                hint = "wait for it to finish, or name another file"
                raise StoreLockedError(f"another process makes pairs with {self.path}", hint=hint)
            self._read(stream, dict(about))
            self._stream = stream
            try:
                yield self
            finally:
                self._stream = None

    def add(self, key: Key, sample: Sample) -> None:
        """Write a sample, on the disk when this returns."""
        assert self._stream is not None
        digest, asked, seed, number = key
        row = {"question": digest, "asked": asked, "seed": seed, "sample": number, "text": sample.text}
        self._write(self._stream, row | ({"fault": sample.fault} if sample.fault else {}))
        self._samples[key] = sample

    def _read(self, stream: TextIOWrapper, about: dict[str, Any]) -> None:
        """Take up what is there; what follows the last whole line is cut off."""
        content = stream.read()
        whole = content.rfind("\n") + 1
        if whole < len(content):
            os.truncate(self.path, len(content[:whole].encode("utf-8", "surrogatepass")))
        stream.seek(0, os.SEEK_END)
        lines = content[:whole].splitlines()
        if not lines:
            self._write(stream, about)
            return
        try:
            before, *rows = (json.loads(line) for line in content[:whole].split("\n")[:-1])
            before = dict(before)
            for row in rows:
                key = (row["question"], row["asked"], row["seed"], row["sample"])
                self._samples[key] = Sample(row["text"], row.get("fault", ""))
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{self.path} is damaged", hint="remove it, and everything is asked again") from error
        now = json.loads(json.dumps(about))
        if differing := sorted(name for name in {*before, *now} if before.get(name) != now.get(name)):
            what = f"{self.path} has samples of another {differing[0]}"
            raise UsageError(what, hint="name another file, or give what it was")

    def _write(self, stream: TextIOWrapper, row: Mapping[str, Any]) -> None:
        try:
            stream.write(json.dumps(row, ensure_ascii=True) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> StoreError:
        hint = "make room, and run it again: nothing is asked twice"
        return StoreError(f"{self.path} cannot be written ({error.strerror or error})", hint=hint)
