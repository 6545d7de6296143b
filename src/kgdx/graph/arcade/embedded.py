"""The embedded store: a directory with an ArcadeDB database that this process opens itself. No server, no port."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from kgdx.errors import StoreError
from kgdx.graph.arcade import arcade_engine
from kgdx.graph.protocol import Delta, GraphTable, NodeTable, RelationTable, Row, T, Transaction, plain
from kgdx.graph.tables import OwnStore, conformed_delta, ordered, wanted_columns
from kgdx.graph.templates import template
from kgdx.schema import Schema, kin, load_schema
from kgdx.schema.model import Property, PropertyType

_SQL_TYPES: Mapping[PropertyType, str] = {
    "string": "STRING",
    "integer": "LONG",
    "float": "DOUBLE",
    "boolean": "BOOLEAN",
    "strings": "LIST OF STRING",
    "floats": "LIST OF DOUBLE",
}
_NAMED = "name"  # indexed beside the key: people look things up by name
_MARKER = "kgdx-loading"  # a directory that holds this file was left in the middle of a bulk load


class _Transaction:
    def __init__(self, database: arcade_engine.Database) -> None:
        self._database = database

    def run(self, name: str, /, **parameters: Any) -> list[Row]:
        found = template(name)
        bound = found.bind(parameters)
        return [plain(row) for row in self._database.command(found.text, bound)]


class ArcadeStore(OwnStore):
    """A graph in a directory; implements :class:`kgdx.graph.protocol.Store`.

    Readers open it read-only, any number of processes at once. A writer must have it alone: the engine refuses a second
    writer, but lets a writer in where readers are, who would then see old and new pages mixed; the graph folder's lock
    keeps them apart.
    """

    def __init__(self, database: arcade_engine.Database, schema: Callable[[], Schema]) -> None:
        self._database = database
        self._schema = schema
        self._fresh = False

    @classmethod
    def create(cls, path: str | os.PathLike[str], schema: Schema | None = None) -> ArcadeStore:
        """Make an empty graph with the schema's types, keys and indexes, open for writing."""
        made = schema or load_schema()
        store = cls(arcade_engine.create(Path(path)), lambda: made)
        with store._database.transaction():  # thirty times as fast as one by one
            for statement in _definitions(made):
                store._database.command(statement, language="sql")
        store.write("set_build", schema_version=made.version, schema_checksum=made.checksum)
        store._fresh = True
        return store

    @classmethod
    def open(cls, path: str | os.PathLike[str], read_only: bool = True, *, earlier: bool = False) -> ArcadeStore:
        """Open a graph.

        One of an older version of the ontology with the same first number may lack classes, relations and properties;
        opened for writing, it is given the classes and relations. Of another first number it is opened only where
        ``earlier`` says so, for what users saved in it.
        """
        folder = Path(path)
        if not (folder / "schema.json").is_file():
            raise StoreError(f"no graph at {folder}", hint="build one with `kgdx build`")
        if (folder / _MARKER).exists():
            raise StoreError(f"the graph at {folder} is half-loaded", hint="build it again with `kgdx build`")
        with ExitStack() as opened:
            store = opened.enter_context(cls(arcade_engine.open_(folder, read_only=read_only), load_schema))
            store._check_version(earlier)
            opened.pop_all()
        return store

    @property
    def url(self) -> str:
        return str(self._database.path)

    @property
    def read_only(self) -> bool:
        return self._database.read_only

    def run(self, name: str, /, **parameters: Any) -> list[Row]:
        found = template(name, "read")
        return [plain(row) for row in self._database.query(found.text, found.bind(parameters))]

    def write(self, name: str, /, **parameters: Any) -> list[Row]:
        with self.transaction() as running:
            return running.run(name, **parameters)

    def transact(self, work: Callable[[Transaction], T]) -> T:
        with self.transaction() as running:
            return work(running)

    @contextmanager
    def transaction(self) -> Iterator[_Transaction]:
        self._refuse_readers()
        with self._database.transaction():
            yield _Transaction(self._database)

    def load(self, tables: Iterable[GraphTable]) -> Mapping[str, int]:
        """Bulk load tables, nodes before the edges that need them; returns rows per label and type.

        The road is fast and not atomic: until it is through, a marker in the directory keeps it from being opened, so
        that a load which was killed or failed is never taken for a whole graph. Live data is written by templates.
        """
        from kgdx.graph.arcade.bulk_load import BulkLoad  # polars: only a load needs it

        self._refuse_readers()
        fresh, self._fresh = self._fresh, False
        load = BulkLoad(self._database, self._schema(), fresh)
        with self._marked():
            load.run(tables)
            self._reopen()
            load.check(self._database)
        return load.loaded

    def apply(self, delta: Delta) -> None:
        """Turn the graph into another one: remove, add and change what the delta says.

        Like :meth:`load` it is not atomic, and the directory cannot be opened until it is through: apply it to a copy
        that nobody else has open.
        """
        from kgdx.graph.arcade import bulk_load

        self._refuse_readers()
        schema = self._schema()
        fitted = conformed_delta(delta, schema)
        load = bulk_load.BulkLoad(self._database, schema, fresh=False, log_ahead=False)
        with self._marked():
            load.expect(fitted.removed, -1)
            bulk_load.remove(self._database, fitted, schema)
            load.run(ordered(fitted.added))
            bulk_load.change(self._database, fitted, schema)
            self._reopen()
            load.check(self._database)

    def export_nodes(self, label: str, columns: Sequence[str]) -> pa.Table:
        from kgdx.graph.arcade import arcade_records

        wanted = wanted_columns(NodeTable(label, pa.table({})), columns, self._schema())
        return arcade_records.nodes(self._database, label, wanted).sort_by("id")

    def export_relations(self, type: str, start_label: str, end_label: str, columns: Sequence[str]) -> pa.Table:
        from kgdx.graph.arcade import arcade_records

        wanted = wanted_columns(RelationTable(type, start_label, end_label, pa.table({})), columns, self._schema())
        ids = {label: arcade_records.node_ids(self._database, label) for label in {start_label, end_label}}
        return arcade_records.relations(self._database, type, (ids[start_label], ids[end_label]), wanted)

    def counts(self) -> Mapping[str, int]:
        schema = self._schema()
        there = self._types()
        found = {}
        for name in (*schema.nodes, *schema.relations):
            if name in there:  # a graph may be older than a class that the ontology has gained
                n = self._database.query(f"SELECT count(*) AS n FROM `{name}`", language="sql")[0]["n"]
                if n:
                    found[name] = int(n)
        return found

    def close(self) -> None:
        self._database.close()

    def _check_version(self, earlier: bool) -> None:
        rows = self.run("build")
        if len(rows) != 1:
            raise StoreError(f"{self.url} is not a kgdx graph", hint="build one with `kgdx build`")
        if earlier and kin(rows[0]["schema_version"], saved=True):
            return
        if self._lacking(rows[0], "build it again with `kgdx build`") and not self.read_only:
            self._grow()

    def _grow(self) -> None:
        """Make the types that the ontology has gained since the graph was built: what they hold can then be written."""
        there = self._types()
        with self._database.transaction():
            for statement in _definitions(self._schema(), there):
                self._database.command(statement, language="sql")

    def _types(self) -> frozenset[str]:
        return frozenset(row["name"] for row in self._database.query("SELECT name FROM schema:types", language="sql"))

    @contextmanager
    def _marked(self) -> Iterator[None]:
        marker = self._database.path / _MARKER
        marker.touch()
        yield
        marker.unlink()

    def _reopen(self) -> None:
        path = self._database.path
        self._database.close()
        self._database = arcade_engine.open_(path, read_only=False)


def _definitions(schema: Schema, there: frozenset[str] = frozenset()) -> Iterator[str]:
    for label, node in schema.nodes.items():
        if label in there:
            continue
        yield f"CREATE VERTEX TYPE `{label}` BUCKETS 1"
        yield from _properties(label, {"id": Property("id", "string")} | dict(node.properties))
        yield f"CREATE INDEX ON `{label}` (id) UNIQUE"
        if _NAMED in node.properties:
            yield f"CREATE INDEX ON `{label}` ({_NAMED}) NOTUNIQUE"
    for type_, relation in schema.relations.items():
        if type_ in there:
            continue
        yield f"CREATE EDGE TYPE `{type_}` BUCKETS 1"
        yield from _properties(type_, relation.properties)


def _properties(owner: str, properties: Mapping[str, Property]) -> Iterator[str]:
    for name, property_ in properties.items():
        yield f"CREATE PROPERTY `{owner}`.`{name}` {_SQL_TYPES[property_.type]}"
