"""A graph as the files that ``neo4j-admin database import full`` reads: for the local server, and for those of others.

The files for others lie in a folder with a script, the statements that make keys and indexes, a page that tells what to
do, and digests. The Build node is among them, so that kgdx opens what was imported as a graph of its own. The local
server is stopped for an import; its database of before is set aside first and put back when the import fails, or at the
next start when all of it was killed.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from kgdx.config import Settings
from kgdx.errors import StoreError, UsageError, refusing
from kgdx.files import known
from kgdx.files.private import private_file, private_folder
from kgdx.graph.neo4j import local_server
from kgdx.graph.neo4j.local_runtime import Progress, Runtime, find_runtime
from kgdx.graph.neo4j.schema_statements import naming_statements, schema_statements
from kgdx.graph.protocol import GraphTable, NodeTable, Row
from kgdx.graph.tables import conformed, title, told
from kgdx.schema import Schema, load_schema

SCRIPT, STATEMENTS, ABOUT, DIGESTS = "import.sh", "schema.cypher", "README.md", "SHA256SUMS"

_DELIMITERS = "\x1f\x1e\x1d\x1c\x1b\x1a\x19\x18\x17\x16\x15\x14\x13\x12\x11\x10\x0f\x0e\x07\x06\x05\x04\x03\x02\x01"
"""Between the elements of a list: ASCII's unit separator, or the first control character that no element has."""

_UNFINISHED_S = 86_400.0
_HEAP = "1g"


@dataclass(frozen=True, slots=True)
class Exported:
    folder: Path
    counts: Mapping[str, int]
    fingerprint: str
    bytes: int
    seconds: float


def delimiter(tables: Sequence[GraphTable]) -> str | None:
    r"""Return what can stand between elements of lists; ``None`` where CSV cannot hold the tables.

    It cannot where a list has an empty string as its only element, or where its elements have all that could stand
    between them.
    """
    left = list(_DELIMITERS)
    for _, column in _texts(tables):
        if _lone(column):
            return None
        elements = pc.list_flatten(column)
        left = [each for each in left if not pc.any(pc.match_substring(elements, each)).as_py()]
    return left[0] if left else None


def write_csv(tables: Sequence[GraphTable], folder: Path, between: str) -> list[str]:
    """Write one file for each table; returns the import's options, with paths within the folder."""
    from pyarrow import csv

    schema = load_schema()
    quoted = csv.WriteOptions(include_header=True, quoting_style="needed")
    options = [
        f"--array-delimiter=U+{ord(between):04X}",
        "--multiline-fields=true",
        "--bad-tolerance=0",
    ]
    for table in tables:
        name = title(table).replace("->", "-")
        kind = "nodes" if isinstance(table, NodeTable) else "relationships"
        path = folder / f"{kind}-{name}.csv"
        with (
            refusing(StoreError, f"{path} cannot be written", "nothing was changed"),
            private_file(path).open("wb") as stream,
        ):
            csv.write_csv(_columns(table, schema, between), stream, quoted)
        options.append(f"--{kind}={table.name}={path.name}")
    return options


def import_offline(
    settings: Settings, running: local_server.ServerInfo, tables: Sequence[GraphTable], between: str, progress: Progress
) -> None:
    """Replace what the local server's database holds by the tables; the server runs again afterwards."""
    runtime = find_runtime(settings, progress)
    home = running.home
    with local_server.locked(home), tempfile.TemporaryDirectory(dir=home / "import", prefix="push-") as temporary:
        progress("Writing the files for Neo4j's import")
        options = write_csv(tables, Path(temporary), between)
        progress("Stopping the local server for the import")
        local_server.stop(running)
        try:
            _set_aside(home)
            progress("Importing")
            _import(home, runtime, options, Path(temporary))
            local_server.discard_old(home)
        except BaseException:
            local_server.restore_interrupted_import(home)
            raise
        finally:
            ports = tuple(int(address.rpartition(":")[2]) for address in (running.bolt, running.http))
            local_server.start(settings, runtime, (ports[0], ports[1]), running.heap, progress)


def _set_aside(home: Path) -> None:
    aside = home / "data" / "before-import"
    aside.mkdir()
    for kind in ("databases", "transactions"):
        folder = home / "data" / kind / "neo4j"
        if folder.exists():
            folder.rename(aside / kind)


def _import(home: Path, runtime: Runtime, options: Sequence[str], folder: Path) -> None:
    local_server.administer(
        home,
        runtime,
        _HEAP,
        *("database", "import", "full", "neo4j"),
        "--max-off-heap-memory=1g",
        f"--report-file={folder / 'report'}",
        *options,
        folder=folder,
    )


def export(tables: Sequence[GraphTable], build: Row, target: Path, *, force: bool, progress: Progress) -> int:
    """Write a graph as files for an import elsewhere: all of the folder, or nothing; returns the number of bytes.

    With ``force`` an export that is there is replaced; what kgdx has not written never is.
    """
    refuse(target, force=force)
    between = delimiter(tables)
    if between is None:
        raise StoreError(_unfit(tables), hint="copy the graph with `kgdx push` instead")
    hint = "free some disk space, or name another folder; nothing was left there"
    with refusing(StoreError, f"the export cannot be written to {target}", hint):
        private_folder(target.parent)
        _clean(target)
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            node = NodeTable("Build", pa.Table.from_pylist([build]))
            options = write_csv(list(told([node, *tables], progress)), temporary, between)
            size = _completed(temporary, options, build, sum(table.rows.num_rows for table in tables))
            if target.exists():
                os.rename(target, aside := temporary.with_name(f"{temporary.name}.old"))
                os.rename(temporary, target)
                shutil.rmtree(aside, ignore_errors=True)
            else:
                os.rename(temporary, target)
            known.sync_folder(target.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return size


def refuse(target: Path, *, force: bool) -> None:
    """Refuse a folder that must not be written."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not (target / SCRIPT).is_file() or not (target / DIGESTS).is_file():
        raise UsageError(f"{target} is there, and is no export of kgdx", hint="name a folder that is not there yet")
    if not force:
        raise UsageError(f"{target} holds an export already", hint="replace it with --force, or name another folder")


def statements(schema: Schema) -> Iterator[str]:
    """Yield what makes keys, indexes and names in a database, as ``cypher-shell`` reads it."""
    for text in schema_statements(schema):
        yield f"{text};"
    for text, names in naming_statements(schema):
        for parameter, value in names.items():
            text = text.replace(f"${parameter}", json.dumps(value))
        yield f"{text};"


def _completed(folder: Path, options: Sequence[str], build: Mapping[str, object], count: int) -> int:
    given = " \\\n  ".join(["", *options]).strip()
    names = {"script": SCRIPT, "statements": STATEMENTS, "digests": DIGESTS}
    about = (
        Path(__file__)
        .with_name("import_about.md")
        .read_text(encoding="utf-8")
        .format(count=f"{count:,}", fingerprint=build["fingerprint"], options=given, **names)
    )
    texts = {
        SCRIPT: Path(__file__).with_name("import_script.sh").read_text(encoding="utf-8").replace("{options}", given),
        STATEMENTS: "\n".join(statements(load_schema())) + "\n",
        ABOUT: about,
    }
    for name, text in texts.items():
        private_file(folder / name).write_text(text, "utf-8")
    listed = known.known(folder, known.listed(folder))
    known.write_whole(folder / DIGESTS, "".join(f"{was.sha256}  {name}\n" for name, was in listed.items()))
    return sum(was.size for was in listed.values())


def _clean(target: Path) -> None:
    for left in target.parent.glob(f".{target.name}.*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _UNFINISHED_S:
                shutil.rmtree(left, ignore_errors=True)


def _unfit(tables: Sequence[GraphTable]) -> str:
    for name, column in _texts(tables):
        if _lone(column):
            return f"{name} has an empty text as the only element of a list, which the files of an import cannot hold"
    return "the texts in lists have all characters that could stand between them in the files of an import"


def _texts(tables: Sequence[GraphTable]) -> Iterator[tuple[str, pa.ChunkedArray]]:
    for table in tables:
        for name in table.rows.column_names:
            column = table.rows.column(name)
            if pa.types.is_list(column.type) and pa.types.is_string(column.type.value_type):
                yield f"{title(table)}.{name}", column


def _lone(column: pa.ChunkedArray) -> bool:
    lone = pc.and_(pc.equal(pc.list_value_length(column), 1), pc.equal(pc.binary_join(column, ""), ""))
    return bool(pc.any(lone).as_py())


def _columns(table: GraphTable, schema: Schema, between: str) -> pa.Table:
    rows = conformed(table, schema)
    if isinstance(table, NodeTable):
        headers = {"id": f"id:ID({table.label})"}
    else:
        headers = {"start": f":START_ID({table.start_label})", "end": f":END_ID({table.end_label})"}
    columns = {}
    for name in rows.column_names:
        column = rows.column(name)
        if pa.types.is_list(column.type):
            columns[f"{name}:{_type(column.type.value_type)}[]"] = _joined(column, between)
        else:
            columns[headers.get(name, f"{name}:{_type(column.type)}")] = column
    if not columns:
        raise StoreError(f"{title(table)} has no column")
    return pa.table(columns)


def _joined(column: pa.ChunkedArray, between: str) -> pa.ChunkedArray:
    present = pc.greater(pc.fill_null(pc.list_value_length(column), 0), 0)
    if not pa.types.is_string(column.type.value_type):
        column = column.cast(pa.list_(pa.string()))
    return pc.if_else(present, pc.binary_join(column, between), pa.scalar(None, pa.string()))


def _type(type_: pa.DataType) -> str:
    if pa.types.is_boolean(type_):
        return "boolean"
    if pa.types.is_integer(type_):
        return "long"
    return "double" if pa.types.is_floating(type_) else "string"
