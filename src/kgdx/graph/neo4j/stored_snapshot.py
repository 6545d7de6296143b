"""A compiled snapshot that is stored beside the graph in its database, so that clients fetch it and none exports.

It is made of nodes of two labels that no ontology has: parts, which hold compressed bytes, and, written last, the head
that makes it whole. The head says which state of the database it was made of; whoever fetches holds that against the
state that is there. Every write is counted as a save, so that storing a snapshot is not taken for an edit.
"""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgdx.errors import StoreError
from kgdx.files import known
from kgdx.files.private import private_file, private_folder
from kgdx.graph.neo4j.schema_statements import snapshot_names
from kgdx.graph.protocol import USER
from kgdx.graph.snapshot import DERIVED, FORMAT, LIST, TABLES, Snapshot, write_manifest
from kgdx.graph.templates import statement
from kgdx.lazy import lazy_pattern

if TYPE_CHECKING:
    import neo4j

    from kgdx.graph.neo4j.neo4j_store import Neo4jStore

ALONG = ("rank", "scorer", "text")
"""What is computed from a snapshot and stored with it, by the name of its part: what a first diagnosis waits for."""

_LAYOUT = 1
_CODEC = "zstd"
_PART = 2 * 2**20  # bytes before compression
_PARTS_AT_ONCE = 4  # in one transaction
_FILE = lazy_pattern(rf"(?P<table>\w+)\.arrow|{DERIVED}/(?P<part>\w+)-\w[\w.-]*/\w[\w.-]*")


def layout() -> str:
    """Return what a snapshot has to be of to be fetched: layouts, and the version of kgdx that compiled it."""
    return f"{_LAYOUT}/{FORMAT}/{version('kgdx')}"


@dataclass(frozen=True, slots=True)
class Stored:
    """What is said of a snapshot that is stored in a database.

    Attributes:
        snapshot: The snapshot's own fingerprint; another one where the graph was changed after it was copied there.
        content: Digest of what it holds (:attr:`kgdx.graph.snapshot.Snapshot.content`).
        files: Size and SHA-256 of each file, by its path within the snapshot.
    """

    id: str
    fingerprint: str
    saves: int
    serial: int
    snapshot: str
    content: str
    tables: Mapping[str, int]
    files: Mapping[str, tuple[int, str]]
    parts: int

    @classmethod
    def read(cls, document: object, checksum: object) -> Stored:
        stated = json.loads(str(document))
        if known.digest_of(stated) != checksum:
            raise ValueError("its head was changed")
        files = {name: (int(size), str(digest)) for name, (size, digest) in stated.pop("files").items()}
        for name in files:
            match = _FILE.fullmatch(name)
            if match is None or not (match["table"] in TABLES or match["part"] in ALONG):
                raise ValueError(f"it has a file {name}")
        found = cls(files=files, **stated)
        numbers = all(isinstance(number, int) for number in (found.saves, found.serial, found.parts))
        if not (numbers and str(found.snapshot).isalnum()):  # its fingerprint becomes the name of a folder
            raise ValueError("its head has other values")
        return found

    @property
    def bytes(self) -> int:
        return sum(size for size, _ in self.files.values())


def find(store: Neo4jStore) -> Stored | None:
    """Return what is said of the snapshot stored beside the graph; ``None`` where there is none of our layout."""

    def read(tx: neo4j.ManagedTransaction) -> list[tuple[Any, Any]]:
        return [(row["document"], row["checksum"]) for row in tx.run(statement("stored_snapshots"), layout=layout())]

    heads = store.reading(read)
    try:
        return Stored.read(*heads[0]) if heads else None
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(str(error)) from error


def fetch(store: Neo4jStore, stored: Stored, folder: Path) -> Snapshot:
    """Fetch a stored snapshot into a folder that is not there yet, and compare all of it with its digests."""
    for name, (size, _) in stored.files.items():
        private_folder((folder / name).parent)
        with private_file(folder / name).open("wb") as stream:
            stream.truncate(size)

    def read(tx: neo4j.ManagedTransaction) -> int:
        result = tx.run(statement("snapshot_parts"), id=stored.id)
        return sum(_placed(folder, stored, *record.values()) for record in result)

    there = store.reading(read)
    if there != stored.parts:
        raise _damaged(f"{there} of its {stored.parts} parts are there")
    listed = known.known(folder, stored.files)
    for name, (size, digest) in stored.files.items():
        if (listed[name].size, listed[name].sha256) != (size, digest):
            raise _damaged(f"{name} is not what was written")
    for part in {(folder / name).parent for name in stored.files if name.startswith(DERIVED)}:
        known.write_list(part / LIST, known.known(part, known.listed(part)))
    write_manifest(folder, stored.snapshot, stored.tables)
    found = Snapshot.open(folder, stored.snapshot)
    if found.content != stored.content:
        raise _damaged("it holds other things than its head says")
    for table in TABLES:
        found.table(table)
    return found


def prepare(store: Neo4jStore) -> None:
    """Make names known before the state of the database is looked at; needed once in a database."""
    store.counted(lambda tx: tx.run(*snapshot_names()).consume())


def keep(store: Neo4jStore, snapshot: Snapshot, fingerprint: str, saves: int, serial: int) -> Stored | None:
    """Store a snapshot of the state that the last three tell, in the place of the one before.

    Returns:
        ``None`` where the graph was replaced meanwhile, or somebody else stored one: theirs is as good.
    """
    with tempfile.TemporaryDirectory() as scratch:
        files = _files(snapshot, Path(scratch))
        about = {}
        for name, part in files.items():
            was = known.known(part.parent, [part.name])[part.name]
            about[name] = was.size, was.sha256
        tables = {name: _rows(file) for name in TABLES if (file := files.get(f"{name}.arrow"))}
        tables = {name: tables.get(name, 0) for name in TABLES}
        parts = sum(-(-size // _PART) for size, _ in about.values())
        id_, own = secrets.token_hex(8), (snapshot.fingerprint, snapshot.content)
        stored = Stored(id_, fingerprint, saves, serial, *own, tables, about, parts)
        every, whole = _parts(id_, files), True
        while whole and (batch := list(islice(every, _PARTS_AT_ONCE))):
            whole = _wrote(store, "put_snapshot_parts", fingerprint=fingerprint, parts=batch)
    if whole and _finished(store, stored):
        return stored
    store.counted(lambda tx: tx.run(statement("drop_snapshot_parts"), id=id_).consume())
    return None


def _wrote(store: Neo4jStore, name: str, **parameters: Any) -> bool:
    def write(tx: neo4j.ManagedTransaction) -> bool:
        row = tx.run(statement(name), parameters).single()
        return row is not None and bool(row["n"])

    return store.counted(write)


def _finished(store: Neo4jStore, stored: Stored) -> bool:
    """Write the head, and remove what it replaces; nothing of that where a part or the graph is gone."""
    document = json.dumps(asdict(stored), sort_keys=True)
    head = {name: getattr(stored, name) for name in ("id", "serial", "saves", "fingerprint", "parts")}
    head |= {"layout": layout(), "document": document, "checksum": known.digest_of(json.loads(document))}

    def write(tx: neo4j.ManagedTransaction) -> bool:
        row = tx.run(statement("put_snapshot"), head).single()
        if row is None or not row["n"]:
            return False
        age = stored.serial - stored.saves
        tx.run(statement("drop_snapshots"), id=stored.id, layout=layout(), age=age).consume()
        tx.run(statement("drop_snapshot_parts"), id=None).consume()
        return True

    return store.counted(write)


def _parts(id_: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    codec = pa.Codec(_CODEC)
    for name, file in files.items():
        with file.open("rb") as stream:
            at = 0
            while block := stream.read(_PART):
                yield {
                    "snapshot": id_,
                    "file": name,
                    "at": at,
                    "size": len(block),
                    "bytes": codec.compress(block, asbytes=True),
                }
                at += len(block)


def _placed(folder: Path, stored: Stored, file: Any, at: Any, size: Any, content: Any) -> int:
    end = stored.files.get(file, (0, ""))[0]
    if not (isinstance(at, int) and isinstance(size, int) and at >= 0 and 0 < size <= _PART and at + size <= end):
        raise _damaged(f"a part of {file} does not fit")
    try:
        block = pa.Codec(_CODEC).decompress(content, size, asbytes=True)
    except (OSError, TypeError, ValueError, pa.ArrowException) as error:
        raise _damaged(f"a part of {file} cannot be read") from error
    if len(block) != size:
        raise _damaged(f"a part of {file} has another length")
    with (folder / file).open("r+b") as stream:
        stream.seek(at)
        stream.write(block)
    return 1


def _files(snapshot: Snapshot, scratch: Path) -> dict[str, Path]:
    found = {f"{name}.arrow": snapshot.path / f"{name}.arrow" for name in TABLES if snapshot.rows(name)}
    for name, table in _without_saved(snapshot).items():
        del found[f"{name}.arrow"]
        if table.num_rows:
            found[f"{name}.arrow"] = file = scratch / f"{name}.arrow"
            with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table.combine_chunks(), max_chunksize=table.num_rows)
    for part in sorted((snapshot.path / DERIVED).glob("*-*")):
        listed = known.read_list(part / LIST) if part.name.split("-")[0] in ALONG else None
        if listed is not None and not known.faults(part, listed, whole=True):
            found |= {f"{DERIVED}/{part.name}/{name}": part / name for name in listed}
    return found


def _without_saved(snapshot: Snapshot) -> dict[str, pa.Table]:
    if not snapshot.rows("patient_case"):
        return {}
    cases = snapshot.table("patient_case")
    stays = pc.fill_null(pc.not_equal(cases.column("source"), USER), True).combine_chunks()
    if pc.all(stays).as_py():
        return {}
    number = np.cumsum(stays.to_numpy(zero_copy_only=False)) - 1
    tables = {"patient_case": cases.filter(stays)}
    for name in ("observed", "excluded"):
        if snapshot.rows(name):
            rows = snapshot.table(name)
            rows = rows.filter(stays.take(rows.column("case")))
            case = pa.array(number[rows.column("case").to_numpy()], rows.schema.field("case").type)
            tables[name] = rows.set_column(rows.schema.get_field_index("case"), rows.schema.field("case"), case)
    return tables


def _rows(file: Path) -> int:
    with pa.memory_map(str(file)) as source:
        return int(pa.ipc.open_file(source).read_all().num_rows)


def _damaged(why: str) -> StoreError:
    return StoreError(f"the snapshot that is stored beside the graph is damaged: {why}", hint="`kgdx push` it again")
