"""Content-addressed results of a build's stages, kept as files.

A result gets its name by one rename when it is complete, so what is there is whole: an interrupted build finds what it
had finished, and a build whose inputs did not change makes nothing again. What a disk or a hand has changed since shows
by the checksums that a result keeps of its files, and is made again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from kgdx.errors import StoreError
from kgdx.files.known import place
from kgdx.files.private import private_folder

FACTS = "facts.json"
PART_ROWS = 1 << 20
"""Rows of a table that are worked on together."""
_BLOCK = 1 << 20
_TEMPORARY = ".making."


@dataclass(frozen=True, slots=True)
class Stage:
    name: str
    path: Path
    facts: Mapping[str, Any]
    made: bool = False

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
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

    def frame(self, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        return pl.DataFrame(pl.from_arrow(self.table(name, columns)))


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
        name = f"{kind}/{key}"
        if (found := self.find(name)) is not None:
            return found
        target = self.path / name
        private_folder(self.path)
        private_folder(target.parent)
        temporary = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=target.parent))
        try:
            facts = json.loads(json.dumps(make(temporary)))
            files = {file.name: checksum(file) for file in temporary.iterdir()}
            content = {"facts": facts, "files": files, "checksum": key_of(facts, files)}
            (temporary / FACTS).write_text(json.dumps(content), "utf-8")
            shutil.rmtree(target, ignore_errors=True)
            place(temporary, target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        self.used.add(name)
        self._sound[name] = Stage(name, target, facts)
        return Stage(name, target, facts, made=True)

    def sweep(self) -> None:
        for folder in self.path.glob(f"*/{_TEMPORARY}*"):
            shutil.rmtree(folder, ignore_errors=True)

    def clean(self, keep: Iterable[str]) -> None:
        kept = set(keep)
        for folder in self.path.glob("*/*"):
            if folder.is_dir() and f"{folder.parent.name}/{folder.name}" not in kept:
                shutil.rmtree(folder, ignore_errors=True)


def _sound(name: str, folder: Path) -> Stage | None:
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
    """Return a file's size and CRC-32, which is fast and shows damage, though not intent."""
    size = code = 0
    with file.open("rb") as stream:
        while block := stream.read(_BLOCK):
            size += len(block)
            code = zlib.crc32(block, code)
    return [size, code]


def write_table(folder: Path, name: str, table: pa.Table) -> None:
    for _part in written(folder, name, [table]):
        pass


def written(folder: Path, name: str, parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Write one table of a result that comes in parts, at least one, and yield each part when it is written."""
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    writer = None
    with pa.OSFile(str(folder / f"{name}.arrow"), "wb") as sink:
        for part in parts:
            writer = writer or pa.ipc.new_file(sink, part.schema, options=options)
            writer.write_table(part, max_chunksize=PART_ROWS)
            yield part
        if writer is not None:
            writer.close()


def key_of(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:40]


@cache
def code_digest(package: str) -> str:
    """Return the digest of a package's source files: what its code gives may change when they do."""
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
