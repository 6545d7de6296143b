"""Neo4j's offline import into the local server: the graph as CSV files, the server stopped meanwhile.

The database of before is set aside first and put back when the import fails, or at the next start when all of it was
killed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from kgdx.config import Settings
from kgdx.errors import StoreError
from kgdx.graph.neo4j import local_server
from kgdx.graph.neo4j.local_runtime import Progress, Runtime, find_runtime
from kgdx.graph.protocol import GraphTable, NodeTable
from kgdx.graph.tables import conformed, title
from kgdx.schema import Schema, load_schema

_BETWEEN = "\x1f"  # ASCII's unit separator: between the elements of a list
_HEAP = "1g"


def fits(tables: Sequence[GraphTable]) -> bool:
    """Whether CSV can hold the tables: no list has the separator in an element, or is one empty string.

    Example:
        >>> from kgdx.graph.protocol import NodeTable
        >>> fits([NodeTable("Disease", pa.table({"id": ["OMIM:1"], "synonyms": [["a", "b;c"]]}))])
        True
        >>> fits([NodeTable("Disease", pa.table({"id": ["OMIM:1"], "synonyms": [[""]]}))])
        False
    """
    for table in tables:
        for column in table.rows.itercolumns():
            if not pa.types.is_list(column.type) or not pa.types.is_string(column.type.value_type):
                continue
            lone = pc.and_(pc.equal(pc.list_value_length(column), 1), pc.equal(pc.binary_join(column, ""), ""))
            if pc.any(pc.match_substring(pc.list_flatten(column), _BETWEEN)).as_py() or pc.any(lone).as_py():
                return False
    return True


def import_offline(
    settings: Settings, running: local_server.ServerInfo, tables: Sequence[GraphTable], progress: Progress
) -> None:
    """Replace what the local server's database holds by the tables; the server runs again afterwards.

    Raises:
        StoreError: The import failed; the database of before is back in its place.
    """
    runtime = find_runtime(settings, progress)
    home = running.home
    with local_server.locked(home), tempfile.TemporaryDirectory(dir=home / "import", prefix="push-") as temporary:
        progress("Writing the files for Neo4j's import")
        files = write_csv(tables, Path(temporary))
        progress("Stopping the local server for the import")
        local_server.stop(running)
        try:
            _set_aside(home)
            progress("Importing")
            _import(home, runtime, files, Path(temporary))
            local_server.discard_old(home)
        except BaseException:
            local_server.restore_interrupted_import(home)
            raise
        finally:
            ports = tuple(int(address.rpartition(":")[2]) for address in (running.bolt, running.http))
            local_server.start(settings, runtime, (ports[0], ports[1]), running.heap, progress)


def write_csv(tables: Sequence[GraphTable], folder: Path) -> list[str]:
    """Write one file for each table; returns the import's ``--nodes`` and ``--relationships`` options."""
    from pyarrow import csv

    schema = load_schema()
    options = []
    for number, table in enumerate(tables):
        path = folder / f"{number}.csv"
        try:
            csv.write_csv(_columns(table, schema), path, csv.WriteOptions(include_header=True, quoting_style="needed"))
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror or error}", hint="nothing was changed") from error
        kind, name = ("nodes", table.label) if isinstance(table, NodeTable) else ("relationships", table.type)
        options.append(f"--{kind}={name}={path}")
    return options


def _columns(table: GraphTable, schema: Schema) -> pa.Table:
    rows = conformed(table, schema)
    if isinstance(table, NodeTable):
        headers = {"id": f"id:ID({table.label})"}
    else:
        headers = {"start": f":START_ID({table.start_label})", "end": f":END_ID({table.end_label})"}
    columns = {}
    for name in rows.column_names:
        column = rows.column(name)
        if pa.types.is_list(column.type):
            columns[f"{name}:{_type(column.type.value_type)}[]"] = _joined(column)
        else:
            columns[headers.get(name, f"{name}:{_type(column.type)}")] = column
    if not columns:
        raise StoreError(f"{title(table)} has no column")
    return pa.table(columns)


def _joined(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A list column as text; an empty list is absent."""
    present = pc.greater(pc.fill_null(pc.list_value_length(column), 0), 0)
    if not pa.types.is_string(column.type.value_type):
        column = column.cast(pa.list_(pa.string()))
    return pc.if_else(present, pc.binary_join(column, _BETWEEN), pa.scalar(None, pa.string()))


def _type(type_: pa.DataType) -> str:
    if pa.types.is_boolean(type_):
        return "boolean"
    if pa.types.is_integer(type_):
        return "long"
    return "double" if pa.types.is_floating(type_) else "string"


def _set_aside(home: Path) -> None:
    aside = home / "data" / "before-import"
    aside.mkdir()
    for kind in ("databases", "transactions"):
        folder = home / "data" / kind / "neo4j"
        if folder.exists():
            folder.rename(aside / kind)


def _import(home: Path, runtime: Runtime, files: list[str], folder: Path) -> None:
    local_server.administer(
        home,
        runtime,
        _HEAP,
        *("database", "import", "full", "neo4j"),
        f"--array-delimiter=U+{ord(_BETWEEN):04X}",
        "--multiline-fields=true",
        "--bad-tolerance=0",
        "--max-off-heap-memory=1g",
        f"--report-file={folder / 'report'}",
        *files,
    )
