"""The Neo4j store: the same graph and templates as the embedded one, on a server over Bolt.

A graph counts as whole when it has its Build node. Whatever takes more than one transaction (a bulk load, the removal
of a large source) takes that node away first and puts it back last, so that what was interrupted never opens as whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kgdx.config import Neo4jAccess
from kgdx.errors import StoreError
from kgdx.schema import Schema, fits, load_schema
from kgdx.store._bolt import connect, translated
from kgdx.store.protocol import GraphTable, NodeTable, RelationTable, Row
from kgdx.store.rows import plain
from kgdx.store.statements import statement
from kgdx.store.tables import columns_of, conformed, title, whole
from kgdx.store.templates import template

if TYPE_CHECKING:
    import neo4j

_LOAD_ROWS = 10_000
_DELETE_ROWS = 20_000
_ONE_TRANSACTION = 50_000  # up to this many edges of a source go in one transaction
_FETCH_ROWS = 5_000
_INCOMPLETE = "the graph there is incomplete now; mend the cause and replace it with `kgdx push --force`"
_BUILD_FIELDS = ("fingerprint", "schema_version", "schema_checksum", "kgdx_version", "created")


class Neo4jStore:
    """A graph in a Neo4j database; implements :class:`kgdx.store.protocol.Store`.

    Reads, and writes that the driver runs as managed transactions, are tried again for some seconds when the server
    goes away. A transaction of the caller's own is not: it is rolled back, and the error says so.
    """

    def __init__(
        self, driver: neo4j.Driver, access: Neo4jAccess, read_only: bool, schema: Callable[[], Schema]
    ) -> None:
        self._driver = driver
        self._access = access
        self._read_only = read_only
        self._schema = schema

    @classmethod
    def open(
        cls, uri: str, user: str, password: str | None, database: str | None = None, read_only: bool = True
    ) -> Neo4jStore:
        """Open the graph of a server; a password of ``None`` is for a server that asks for none.

        Raises:
            StoreError: The server is down or refuses the user, or the database holds no whole graph of this version.
        """
        return cls.connect(Neo4jAccess(uri, user, password, database), read_only=read_only)

    @classmethod
    def connect(cls, access: Neo4jAccess, *, read_only: bool = True) -> Neo4jStore:
        """Like :meth:`open`, from what :meth:`kgdx.config.Settings.neo4j` returns."""
        store = cls(connect(access), access, read_only, load_schema)
        try:
            store._check_version()
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def create(cls, access: Neo4jAccess, *, schema: Schema | None = None, clear: bool = False) -> Neo4jStore:
        """Make an empty graph with the schema's keys and indexes, open for writing.

        Args:
            access: The server and database.
            schema: The ontology; the shipped one by default.
            clear: Remove what the database holds, whatever it is.

        Raises:
            StoreError: The database is not empty and ``clear`` was not asked for.
        """
        made = schema or load_schema()
        store = cls.unchecked(access, schema=made)
        try:
            if clear:
                store.clear()
            elif not store.is_empty():
                raise StoreError(
                    f"the database at {access.uri} is not empty",
                    hint="use an empty one, or replace what it holds with --force",
                )
            store.define()
            store.write("set_build", schema_version=made.version, schema_checksum=made.checksum)
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def unchecked(cls, access: Neo4jAccess, *, schema: Schema | None = None) -> Neo4jStore:
        """Open a database for writing whatever it holds: for those who make or mend a graph."""
        return cls(connect(access), access, False, lambda: schema or load_schema())

    @property
    def url(self) -> str:
        """The Bolt address, without credentials."""
        return self._access.uri

    @property
    def read_only(self) -> bool:
        """Whether writes are refused."""
        return self._read_only

    def run(self, name: str, /, **parameters: Any) -> list[Row]:
        """Run a read template.

        Raises:
            TemplateError: Unknown template, or parameters that do not fit its header.
            StoreError: The store failed.
        """
        found = template(name, "read", "neo4j")
        bound = found.bind(parameters)
        with self._session(read=True) as session, translated(self._access):
            return session.execute_read(_rows, found.text, bound)

    def write(self, name: str, /, **parameters: Any) -> list[Row]:
        """Run one template in a write transaction of its own; raises like :meth:`run`."""
        self._refuse_readers()
        found = template(name, None, "neo4j")
        bound = found.bind(parameters)
        with self._session() as session, translated(self._access, writing=True):
            return session.execute_write(_rows, found.text, bound)

    @contextmanager
    def transaction(self) -> Iterator[_Transaction]:
        """Several templates, all or nothing: leaving the block normally commits, an exception rolls back."""
        self._refuse_readers()
        with self._session() as session:
            with translated(self._access):
                running = session.begin_transaction()
            try:
                yield _Transaction(running, self._access)
                with translated(self._access, writing=True):
                    running.commit()
            finally:
                with suppress(Exception):  # closing rolls back what was not committed; a lost server did so itself
                    running.close()

    def load(self, tables: Iterable[GraphTable]) -> Mapping[str, int]:
        """Bulk load tables in batches, nodes before the edges that need them; returns rows per label and type.

        It takes several transactions, so the graph counts as incomplete until the last one is through.

        Raises:
            StoreError: A table that does not fit the schema, an id that is there twice, an edge to an unknown node.
        """
        self._refuse_readers()
        loaded: dict[str, int] = {}
        with self.incomplete(), self._session() as session:
            for table in tables:
                name = table.label if isinstance(table, NodeTable) else table.type
                loaded[name] = loaded.get(name, 0) + self._load_table(session, table)
        return loaded

    def delete_source(self, source: str) -> Mapping[str, int]:
        """Remove a source's edges, and its nodes that no other source's edge touches.

        A source of up to 50,000 edges goes in one transaction. A larger one goes in batches, while the graph counts as
        incomplete.
        """
        self._refuse_readers()
        schema = self._schema()
        counts = self.counts()
        relations = [name for name in schema.relations if name in counts]
        labels = [name for name in schema.nodes if name in counts]
        edges = sum(self._read("count_of_source", {"source": source}, type=name)[0]["n"] for name in relations)
        steps = [("delete_relations", {"type": name}) for name in relations]
        steps += [("delete_nodes", {"label": name}) for name in labels]
        if edges <= _ONE_TRANSACTION:
            with self._session() as session, translated(self._access, writing=True):
                return session.execute_write(lambda tx: _removed(tx.run, steps, schema, source))
        with self.incomplete(), self._session() as session, translated(self._access, writing=True):

            def run(text: str, parameters: dict[str, Any]) -> list[Row]:
                return session.execute_write(_rows, text, parameters)

            return _removed(run, steps, schema, source)

    def export_nodes(self, label: str, columns: Sequence[str]) -> pa.Table:
        """All nodes of one class: ``id`` and ``columns``, sorted by id; absent values are null, absent lists empty."""
        types = columns_of(NodeTable(label, pa.table({})), self._schema())
        return self._export("export_nodes", types, ("id",), columns, label=label).sort_by("id")

    def export_relations(self, type: str, start_label: str, end_label: str, columns: Sequence[str]) -> pa.Table:
        """All edges of one type between two classes: ``start``, ``end`` and ``columns``, in no particular order."""
        types = columns_of(RelationTable(type, start_label, end_label, pa.table({})), self._schema())
        return self._export(
            "export_relations", types, ("start", "end"), columns, type=type, start=start_label, end=end_label
        )

    def counts(self) -> Mapping[str, int]:
        """Nodes per label and edges per type; only what is there."""
        schema = self._schema()

        def read(tx: Any) -> dict[str, int]:
            found = {}
            for name in schema.nodes:
                found[name] = tx.run(statement("count_nodes", schema, label=name)).single()["n"]
            for name in schema.relations:
                found[name] = tx.run(statement("count_relations", schema, type=name)).single()["n"]
            return {name: n for name, n in found.items() if n}

        with self._session(read=True) as session, translated(self._access):
            return session.execute_read(read)

    def tables(self) -> Iterator[GraphTable]:
        """The whole graph but the Build node, as tables with every property: what a copy or a fingerprint reads."""
        return whole(self, self._schema())

    def fingerprint(self) -> str:
        """SHA-256 over the whole content; see :mod:`kgdx.store.fingerprint`."""
        from kgdx.store.fingerprint import fingerprint

        return fingerprint(self.tables())

    def close(self) -> None:
        """Close it; closing twice does nothing."""
        self._driver.close()

    def __enter__(self) -> Neo4jStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def is_empty(self) -> bool:
        """Whether the database holds no node at all, of ours or of anybody's."""
        return bool(self._read("empty")[0]["empty"])

    def clear(self) -> None:
        """Remove everything that the database holds, in parts."""
        self._refuse_readers()
        self._administer("clear_relations")
        self._administer("clear_nodes")

    def define(self) -> None:
        """Make the schema's keys and indexes where they are missing, and wait until they are filled."""
        self._refuse_readers()
        schema = self._schema()
        for label, node in schema.nodes.items():
            self._administer("constraint", label=label)
            if "name" in node.properties and node.prefixes:  # free phrases can be longer than an index entry may be
                self._administer("index", label=label)
        self._administer("await_indexes")

    @contextmanager
    def incomplete(self) -> Iterator[None]:
        """Let the graph count as incomplete until the block has ended normally; it keeps its Build node's properties.

        The block may write the Build node itself, as its last step.
        """
        self._refuse_readers()
        before = self.run("build")
        self._administer("drop_build")
        yield
        if before and not self.run("build"):
            self.write("set_build", **{name: before[0][name] for name in _BUILD_FIELDS})

    def _check_version(self) -> None:
        rows = self.run("build")
        if len(rows) != 1:
            raise self._no_graph()
        built = rows[0]
        if not fits(built["schema_version"], built["schema_checksum"]):
            raise StoreError(
                f"the graph at {self.url} has schema version {built['schema_version']}, this kgdx has "
                f"{self._schema().version}",
                hint="push it again with `kgdx push --force`",
            )

    def _no_graph(self) -> StoreError:
        if self.is_empty():
            return StoreError(f"no graph in the database at {self.url}", hint="copy one there with `kgdx push`")
        if self._read("constraints"):
            return StoreError(
                f"the graph at {self.url} is incomplete: a load or removal was interrupted",
                hint="replace it with `kgdx push --force`",
            )
        return StoreError(
            f"the database at {self.url} is not a kgdx graph", hint="use an empty database for `kgdx push`"
        )

    def _refuse_readers(self) -> None:
        if self._read_only:
            raise StoreError(f"the graph at {self.url} is open for reading only", hint="open it with read_only=False")

    @contextmanager
    def _session(self, *, read: bool = False) -> Iterator[neo4j.Session]:
        mode = "READ" if read else "WRITE"
        with translated(self._access):
            session = self._driver.session(
                database=self._access.database, default_access_mode=mode, fetch_size=_FETCH_ROWS
            )
        try:
            yield session
        finally:
            with suppress(Exception):  # the block's own error is the one to see
                session.close()

    def _read(self, name: str, parameters: Mapping[str, Any] | None = None, /, **names: str) -> list[Row]:
        text = statement(name, self._schema() if names else None, **names)
        with self._session(read=True) as session, translated(self._access):
            return session.execute_read(_rows, text, parameters or {})

    def _administer(self, name: str, /, **names: str) -> None:
        """Run a statement that has to be a transaction of its own (keys and indexes; ``IN TRANSACTIONS``)."""
        text = statement(name, self._schema() if names else None, **names)
        with self._session() as session, translated(self._access, writing=True):
            session.run(text).consume()

    def _load_table(self, session: neo4j.Session, table: GraphTable) -> int:
        schema = self._schema()
        rows = conformed(table, schema)
        if isinstance(table, NodeTable):
            text = statement("load_nodes", schema, label=table.label)
        else:
            text = statement("load_relations", schema, type=table.type, start=table.start_label, end=table.end_label)
        for at in range(0, rows.num_rows, _LOAD_ROWS):
            part = [_present(row) for row in rows.slice(at, _LOAD_ROWS).to_pylist()]
            if isinstance(table, RelationTable):
                part = [{"start": row.pop("start"), "end": row.pop("end"), "properties": row} for row in part]
            try:
                with translated(self._access, writing=True):
                    session.execute_write(_load_part, text, part)
            except _MissingEnd:
                raise self._missing_end(table, part) from None
            except StoreError as error:
                raise StoreError(f"{title(table)}: {error.message}", hint=_INCOMPLETE) from error
        return int(rows.num_rows)

    def _missing_end(self, table: GraphTable, part: list[dict[str, Any]]) -> StoreError:
        assert isinstance(table, RelationTable)
        for end, label in (("start", table.start_label), ("end", table.end_label)):
            ids = {row[end] for row in part}
            known = {row["id"] for row in self._read("known_ids", {"ids": sorted(ids)}, label=label)}
            for id_ in sorted(ids - known):
                return StoreError(
                    f"{title(table)}: no {label} {id_}", hint="load the nodes first, or quarantine the row"
                )
        return StoreError(f"{title(table)}: not every edge was made", hint="the graph changed meanwhile; load it again")

    def _export(
        self,
        name: str,
        types: Mapping[str, pa.DataType],
        keys: tuple[str, ...],
        columns: Sequence[str],
        /,
        **names: str,
    ) -> pa.Table:
        for column in columns:
            if column not in types:
                raise StoreError(
                    f"{'-'.join(names.values())} has no property {column!r} in the ontology",
                    hint="`kgdx schema` lists them",
                )
        wanted = [column for column in dict.fromkeys(columns) if column not in keys]
        text = statement(name, self._schema(), **names)

        def read(tx: Any) -> pa.Table:
            parts = []
            result = tx.run(text, {"columns": wanted})
            while batch := result.fetch(_FETCH_ROWS * 4):
                parts.append(_arrow(batch, keys, wanted, types))
            return pa.concat_tables(parts or [_arrow([], keys, wanted, types)])

        with self._session(read=True) as session, translated(self._access):
            return session.execute_read(read).combine_chunks()


class _Transaction:
    """A running transaction; read and write templates see what it wrote."""

    def __init__(self, running: neo4j.Transaction, access: Neo4jAccess) -> None:
        self._running = running
        self._access = access

    def run(self, name: str, /, **parameters: Any) -> list[Row]:
        """Run a template of either kind."""
        found = template(name, None, "neo4j")
        bound = found.bind(parameters)
        with translated(self._access, writing=True):
            return _rows(self._running, found.text, bound)


class _MissingEnd(Exception):
    """An edge whose end is not among the nodes; the batch is rolled back."""


def _rows(tx: Any, text: str, parameters: Mapping[str, Any]) -> list[Row]:
    result = tx.run(text, parameters)
    return [{key: plain(value) for key, value in record.items()} for record in result]


def _load_part(tx: Any, text: str, part: list[dict[str, Any]]) -> None:
    if tx.run(text, {"rows": part}).single()["n"] != len(part):
        raise _MissingEnd


def _removed(
    run: Callable[[str, dict[str, Any]], Any], steps: list[tuple[str, dict[str, str]]], schema: Schema, source: str
) -> dict[str, int]:
    """Run each removal until nothing is left; rows per label and type, only what there was."""
    removed: dict[str, int] = {}
    for name, names in steps:
        text = statement(name, schema, **names)
        while n := next(iter(run(text, {"source": source, "limit": _DELETE_ROWS})))["n"]:
            (key,) = names.values()
            removed[key] = removed.get(key, 0) + n
    return removed


def _present(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None and value != []}


def _arrow(
    records: Sequence[Any], keys: tuple[str, ...], columns: Sequence[str], types: Mapping[str, pa.DataType]
) -> pa.Table:
    out = {key: pa.array([record[at] for record in records], pa.string()) for at, key in enumerate(keys)}
    rows = [record[len(keys)] for record in records]
    for at, column in enumerate(columns):
        absent: Any = [] if pa.types.is_list(types[column]) else None
        out[column] = pa.array([absent if row[at] is None else row[at] for row in rows], types[column])
    return pa.table(out)
