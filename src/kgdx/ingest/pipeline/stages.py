"""Content-addressed results of a build's stages, and the tables of a build as files.

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
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from kgdx.errors import StoreError
from kgdx.files.known import place
from kgdx.files.private import private_folder
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.graph.tables import Digest, Part, combine, digests

FACTS = "facts.json"
PART_ROWS = 1 << 20
"""Rows of a table that are worked on together."""
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
        >>> len(code_digest("kgdx.ingest"))
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


# The tables of a build as files: what the graph holds, part by part, without opening the store.


LAYOUT = 2
"""Changes with the form of the file; a build with another one is no base for an update."""
TABLE = "table"


@dataclass(frozen=True, slots=True)
class BuiltTable:
    """One table of a build: nodes of a class, or the relations of one type, one pair of ends and one source.

    Attributes:
        name: Node class or relation type.
        ends: Classes of a relation's ends; ``None`` for nodes.
        stage: The stage whose file holds it.
        parts: Source → number of rows and digest.
        file: Name of the table in the stage.
    """

    name: str
    ends: tuple[str, str] | None
    stage: str
    parts: Mapping[str, Digest]
    file: str = TABLE

    @property
    def title(self) -> str:
        """How it is called: ``Disease``, or ``Disease-HAS_PHENOTYPE->Phenotype``."""
        return self.name if self.ends is None else f"{self.ends[0]}-{self.name}->{self.ends[1]}"

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return sum(rows for rows, _ in self.parts.values())


@dataclass(frozen=True, slots=True)
class BuiltSource:
    """A source of a build: where it was read from, and the stage that holds what was read.

    Attributes:
        origin: Path, URL or ``package:file``.
        path: The file on this machine.
        checksum: SHA-256 of the file.
        parsed: The stage with its tables.
        recipe: Digest of the software and the ontology by which it was read.
        mapping: Digest of its manifest.
        stated: How many rows it stated, by table; for nodes whatever other sources state of them.
    """

    origin: str
    path: str
    checksum: str
    parsed: str
    recipe: str
    mapping: str
    stated: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class BuiltGraph:
    """All tables and sources of a build, and which stages its snapshot was made from."""

    tables: Sequence[BuiltTable] = ()
    sources: Mapping[str, BuiltSource] = field(default_factory=dict)
    snapshot: str = ""

    @property
    def parts(self) -> dict[Part, Digest]:
        """The digests of which the fingerprint is made."""
        return {(table.title, source): digest for table in self.tables for source, digest in table.parts.items()}

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the whole content."""
        return combine(self.parts)

    @property
    def stages(self) -> set[str]:
        """The stages that it is made of."""
        return {table.stage for table in self.tables} | {source.parsed for source in self.sources.values()}

    def totals(self) -> tuple[dict[str, int], dict[str, int]]:
        """Count nodes by class and relations by type."""
        nodes: dict[str, int] = {}
        relations: dict[str, int] = {}
        for table in self.tables:
            counts = nodes if table.ends is None else relations
            counts[table.name] = counts.get(table.name, 0) + table.rows
        return nodes, relations

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        content = asdict(self)
        known = {"layout": LAYOUT, "checksum": key_of(content), **content}
        path.write_text(json.dumps(known, ensure_ascii=False), "utf-8")


def read_graph(path: Path, stages: Stages) -> BuiltGraph | None:
    """Read what :meth:`BuiltGraph.write` wrote; nothing where it is missing or damaged, or lacks a stage."""
    try:
        content = json.loads(path.read_bytes())
        if content.pop("layout") != LAYOUT or content.pop("checksum") != key_of(content):
            return None
        graph = BuiltGraph(
            tuple(_table(each) for each in content["tables"]),
            {name: BuiltSource(**source) for name, source in content["sources"].items()},
            content["snapshot"],
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    used = set(stages.used)
    whole = all(stages.find(table.stage) is not None for table in graph.tables)
    stages.used = used
    return graph if whole else None


def _table(content: Mapping[str, Any]) -> BuiltTable:
    ends = content["ends"]
    parts = {source: (int(rows), str(digest)) for source, (rows, digest) in content["parts"].items()}
    pair = None if ends is None else (ends[0], ends[1])
    return BuiltTable(content["name"], pair, content["stage"], parts, content["file"])


def keep_table(folder: Path, file: str, table: GraphTable) -> dict[str, Any]:
    """Write a table into a stage that is being made, and return what its facts must say of it (:func:`built`)."""
    ends = None if isinstance(table, NodeTable) else (table.start_label, table.end_label)
    return keep_parts(folder, file, name_of(table), ends, [table.rows])


def keep_parts(
    folder: Path, file: str, name: str, ends: tuple[str, str] | None, parts: Iterable[pa.Table]
) -> dict[str, Any]:
    """Do what :func:`keep_table` does with rows that come in parts, at least one, of which one is in memory."""
    found = digests(graph_table(name, ends, part) for part in written(folder, file, parts))
    of_sources = {source: digest for (_, source), digest in found.items()}
    return {"name": name, "ends": ends, "parts": of_sources, "file": file}


def built(stage: Stage, facts: Mapping[str, Any]) -> BuiltTable:
    """Return a table that a stage holds, by what :func:`keep_table` said of it."""
    return _table({**facts, "stage": stage.name})


def name_of(table: GraphTable) -> str:
    """Return a table's node class or relation type."""
    return table.label if isinstance(table, NodeTable) else table.type


def load_table(table: BuiltTable, stages: Stages) -> GraphTable:
    """Read a table of a build.

    Raises:
        StoreError: Its file is missing or damaged.
    """
    stage = stages.find(table.stage)
    if stage is None:
        raise StoreError(f"the stage {stages.path / table.stage} is gone", hint="build again with `kgdx build`")
    return graph_table(table.name, table.ends, stage.table(table.file))


def load_tables(tables: Iterable[BuiltTable], stages: Stages) -> Iterator[GraphTable]:
    """Read tables one by one, so that only one is in memory."""
    for table in tables:
        yield load_table(table, stages)


def graph_table(name: str, ends: tuple[str, str] | None, rows: pa.Table) -> GraphTable:
    """Return rows as a table of nodes or of relations."""
    return NodeTable(name, rows) if ends is None else RelationTable(name, *ends, rows)
