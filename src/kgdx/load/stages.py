"""Content-addressed results of a build's stages: each a folder named by a digest of what it was made from.

A result gets its name by one rename when it is complete, so what is there is whole: an interrupted build finds what it
had finished, and a build whose inputs did not change makes nothing again. What a disk or a hand has changed since shows
by the checksums that a result keeps of its files, and is made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from kgdx.errors import StoreError

FACTS = "facts.json"
_CHUNK_ROWS = 1 << 20
_BLOCK = 1 << 20
_TEMPORARY = ".making."


@dataclass(frozen=True, slots=True)
class Stage:
    """A finished result.

    Attributes:
        name: Kind and key, ``kind/key``.
        path: Its folder.
        facts: What is known of it without opening its tables.
        made: Whether it was made now; otherwise it was found.
    """

    name: str
    path: Path
    facts: Mapping[str, Any]
    made: bool = False

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Read one of its tables, or some of its columns.

        Raises:
            StoreError: It is damaged; it is taken away, so that the next build makes it again.
        """
        try:
            with pa.memory_map(str(self.path / f"{name}.arrow")) as source:
                if columns is None:
                    return pa.ipc.open_file(source).read_all()
                names = pa.ipc.open_file(source).schema.names
                options = pa.ipc.IpcReadOptions(included_fields=[names.index(column) for column in columns])
                return pa.ipc.open_file(source, options=options).read_all()
        except (OSError, ValueError, pa.ArrowException) as error:
            shutil.rmtree(self.path, ignore_errors=True)
            message = f"the stage {self.path} is damaged ({' '.join(str(error).split())})"
            raise StoreError(message, hint="it was removed: run the command again, which makes it anew") from error


class Stages:
    """The folder of all finished results of a graph; remembers which of them were used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.used: set[str] = set()
        self._sound: dict[str, Stage] = {}

    def find(self, name: str) -> Stage | None:
        """Return a finished result, or nothing where there is none or its files are not what they were.

        A result's files are read through once, to compare their checksums.
        """
        stage = self._sound.get(name) or _sound(name, self.path / name)
        if stage is None:
            return None
        self._sound[name] = stage
        self.used.add(name)
        return stage

    def get(self, kind: str, key: str, make: Callable[[Path], Mapping[str, Any]]) -> Stage:
        """Return a result, making it where it is not there.

        Args:
            kind: What it is, such as ``parsed``.
            key: Digest of all that it depends on.
            make: Writes its tables into an empty folder (:func:`write_table`), and returns its facts.
        """
        name = f"{kind}/{key}"
        if (found := self.find(name)) is not None:
            return found
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=target.parent))
        try:
            facts = json.loads(json.dumps(make(temporary)))
            files = {file.name: checksum(file) for file in temporary.iterdir()}
            content = {"facts": facts, "files": files, "checksum": key_of(facts, files)}
            (temporary / FACTS).write_text(json.dumps(content), "utf-8")
            shutil.rmtree(target, ignore_errors=True)
            os.rename(temporary, target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        self.used.add(name)
        self._sound[name] = Stage(name, target, facts)
        return Stage(name, target, facts, made=True)

    def sweep(self) -> None:
        """Remove what interrupted builds left unfinished."""
        for folder in self.path.glob(f"*/{_TEMPORARY}*"):
            shutil.rmtree(folder, ignore_errors=True)

    def clean(self, keep: Iterable[str]) -> None:
        """Remove all results but these."""
        kept = set(keep)
        for folder in self.path.glob("*/*"):
            if folder.is_dir() and f"{folder.parent.name}/{folder.name}" not in kept:
                shutil.rmtree(folder, ignore_errors=True)


def _sound(name: str, folder: Path) -> Stage | None:
    """Return the result in a folder, if its facts and files are as they were written."""
    try:
        content = json.loads((folder / FACTS).read_bytes())
        facts, files = content["facts"], content["files"]
        if content["checksum"] != key_of(facts, files):
            return None
        sizes = {file: (folder / file).stat().st_size for file in files}
        sound = all(sizes[file] == size for file, (size, _) in files.items()) and all(
            checksum(folder / file) == known for file, known in files.items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return Stage(name, folder, facts) if sound else None


def checksum(file: Path) -> list[int]:
    """Return a file's size and CRC-32, which is fast and shows damage, though not intent.

    Example:
        >>> file = Path(tempfile.mkdtemp()) / "a"
        >>> _ = file.write_bytes(b"kgdx")
        >>> checksum(file)
        [4, 3753125142]
    """
    size = code = 0
    with file.open("rb") as stream:
        while block := stream.read(_BLOCK):
            size += len(block)
            code = zlib.crc32(block, code)
    return [size, code]


def write_table(folder: Path, name: str, table: pa.Table) -> None:
    """Write one table of a result."""
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with (
        pa.OSFile(str(folder / f"{name}.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, table.schema, options=options) as writer,
    ):
        writer.write_table(table, max_chunksize=_CHUNK_ROWS)


def key_of(*parts: Any) -> str:
    """Return the digest of what a result depends on: any JSON values.

    Example:
        >>> key_of("a", ["b"]) == key_of("a", ("b",)), key_of("a") == key_of("b")
        (True, False)
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:40]


@cache
def code_digest(package: str) -> str:
    """Return the digest of a package's source files: what its code gives may change when they do.

    Example:
        >>> len(code_digest("kgdx.load"))
        64
    """
    spec = find_spec(package)
    # A path that Python searches twice gives a namespace package its folder twice.
    roots = dict.fromkeys(Path(root).resolve() for root in (spec and spec.submodule_search_locations) or ())
    if spec and not roots and spec.origin:
        files = [Path(spec.origin)]
    else:
        files = sorted(file for root in roots for file in root.rglob("*") if file.suffix in (".py", ".tsv", ".yaml"))
    digest = hashlib.sha256()
    for file in files:
        if file.is_file():
            digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()
