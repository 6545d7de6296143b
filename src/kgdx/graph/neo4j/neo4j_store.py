"""The Neo4j store: the same graph and templates as the embedded one, on a server over Bolt.

A graph counts as whole when it has its Build node. Whatever takes more than one transaction (a bulk load, the removal
of a large source) takes that node away first and puts it back last, so that what was interrupted never opens as whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kgdx.config import Neo4jAccess
from kgdx.errors import StoreError
from kgdx.graph.neo4j.bolt import bookmarks, connect, rows_of, serial_of, session_of, translated
from kgdx.graph.neo4j.bulk_tables import change_nodes, export_table, load_table, remove_rows
from kgdx.graph.neo4j.schema_statements import (
    Misfit,
    misfits,
    naming_statements,
    required_statements,
    schema_statements,
)
from kgdx.graph.protocol import Delta, GraphTable, NodeTable, RelationTable, Row, T, Transaction
from kgdx.graph.tables import OwnStore, conformed_delta, ordered, refuse_other_counts
from kgdx.graph.templates import statement, template
from kgdx.schema import Schema, load_schema

if TYPE_CHECKING:
    import neo4j
    import pyarrow as pa

_EARLIER = "replace it with `kgdx push --force`, which carries over what was saved there"
_STATE_READS = 5  # at most; two where nobody writes
_BUILD_FIELDS = ("fingerprint", "schema_version", "schema_checksum", "kgdx_version", "created")


@dataclass(frozen=True, slots=True)
class _Transaction:
    """A running transaction; one without ``access`` is run again by the driver, which needs its own errors."""

    running: neo4j.Transaction | neo4j.ManagedTransaction
    access: Neo4jAccess | None = None

    def run(self, name: str, /, **parameters: Any) -> list[Row]:
        found = template(name, None, "neo4j")
        bound = found.bind(parameters)
        with nullcontext() if self.access is None else translated(self.access, writing=True):
            return rows_of(self.running, found.text, bound)


@dataclass(frozen=True, slots=True)
class ServerState:
    """What a server says of its graph without reading it.

    Attributes:
        content: Of the snapshot of that graph; ``None`` where the Build node does not state it.
        serial: Number of the last transaction of any kind; ``None`` where the server does not tell.
    """

    fingerprint: str
    content: str | None
    saves: int
    serial: int | None


class Neo4jStore(OwnStore):
    """A graph in a Neo4j database; implements :class:`kgdx.graph.protocol.Store`.

    Reads, and writes that the driver runs as managed transactions, are tried again for some seconds when the server
    goes away. A transaction of the caller's own is not: it is rolled back, and the error says so.
    """

    def __init__(
        self,
        driver: neo4j.Driver,
        access: Neo4jAccess,
        read_only: bool,
        schema: Callable[[], Schema],
        seen: neo4j.BookmarkManager | None = None,
        sessions: int = 1,
    ) -> None:
        self._driver = driver
        self._access = access
        self._read_only = read_only
        self._schema = schema
        self._seen = seen or bookmarks(access)
        self._sessions = sessions

    @classmethod
    def connect(
        cls, access: Neo4jAccess, *, read_only: bool = True, seen: neo4j.BookmarkManager | None = None
    ) -> Neo4jStore:
        """Open the graph of a server, as :meth:`kgdx.config.Settings.neo4j` says.

        Stores that share ``seen`` (:func:`kgdx.graph.neo4j.bolt.bookmarks`) read what any of them wrote.
        """
        with ExitStack() as opened:
            store = opened.enter_context(cls(connect(access), access, read_only, load_schema, seen))
            store._check_version()
            opened.pop_all()
        return store

    @classmethod
    def create(
        cls, access: Neo4jAccess, *, schema: Schema | None = None, clear: bool = False, sessions: int = 1
    ) -> Neo4jStore:
        """Make an empty graph with the schema's keys and indexes, open for writing."""
        made = schema or load_schema()
        with ExitStack() as opened:
            store = opened.enter_context(cls(connect(access), access, False, lambda: made, sessions=sessions))
            if clear:
                store.clear(saved=False)
            elif not store.is_empty():
                raise StoreError(
                    f"the database at {access.uri} is not empty",
                    hint="use an empty one, or replace what it holds with --force",
                )
            store.define()
            store.write("set_build", schema_version=made.version, schema_checksum=made.checksum)
            opened.pop_all()
        return store

    @classmethod
    def unchecked(cls, access: Neo4jAccess, *, schema: Schema | None = None) -> Neo4jStore:
        """Open a database for writing whatever it holds: for those who make or mend a graph."""
        return cls(connect(access), access, False, lambda: schema or load_schema())

    @property
    def url(self) -> str:
        return self._access.uri

    @property
    def read_only(self) -> bool:
        return self._read_only

    @property
    def bookmarks(self) -> tuple[str, ...]:
        """What a store of another process needs to read what was written here (``KGDX_NEO4J_BOOKMARKS``)."""
        return tuple(sorted(self._seen.get_bookmarks()))

    def run(self, name: str, /, **parameters: Any) -> list[Row]:
        found = template(name, "read", "neo4j")
        bound = found.bind(parameters)
        return self.reading(lambda running: rows_of(running, found.text, bound))

    def write(self, name: str, /, **parameters: Any) -> list[Row]:
        self._refuse_readers()
        found = template(name, None, "neo4j")
        bound = found.bind(parameters)
        with self._session() as session, translated(self._access, writing=True):
            return session.execute_write(rows_of, found.text, bound)

    def transact(self, work: Callable[[Transaction], T]) -> T:
        """Run what ``work`` does with a transaction, all or nothing; it is run again where the server asks for that.

        Transactions of this kind are counted in the Build node, and take turns.
        """
        return self.counted(lambda running: work(_Transaction(running)))

    def counted(self, work: Callable[[neo4j.ManagedTransaction], T]) -> T:
        """Like :meth:`transact`, for statements of the database's own."""
        self._refuse_readers()
        count = statement("count_save")

        def run(running: neo4j.ManagedTransaction) -> T:
            running.run(count).consume()
            return work(running)

        with self._session() as session, translated(self._access, writing=True):
            return session.execute_write(run)

    def reading(self, work: Callable[[neo4j.ManagedTransaction], T]) -> T:
        with self._session(read=True) as session, translated(self._access):
            return session.execute_read(work)

    def serial(self) -> int | None:
        """Return the number of the database's last transaction; ``None`` where the server does not tell."""
        with self._session(read=True) as session, translated(self._access):
            session.execute_read(rows_of, statement("empty"), {})
            return serial_of(session.last_bookmarks().raw_values)

    def state(self) -> ServerState:
        """Return what the server says of its graph; a few milliseconds."""
        text = statement("build_state")
        before: int | None = None
        for _ in range(_STATE_READS):
            with self._session(read=True) as session, translated(self._access):
                rows = session.execute_read(rows_of, text, {})
                serial = serial_of(session.last_bookmarks().raw_values)
            if len(rows) != 1 or not rows[0]["fingerprint"]:
                raise StoreError(f"no finished graph at {self.url}", hint="copy one there with `kgdx push`")
            if serial is None or serial == before:  # nothing was written between both reads
                break
            before = serial
        return ServerState(**rows[0], serial=serial)

    def state_content(self, content: str) -> None:
        """Write into the Build node what the graph's snapshot holds: :attr:`kgdx.graph.snapshot.Snapshot.content`."""
        self.counted(lambda running: running.run(statement("set_content"), content=content).consume())

    @contextmanager
    def transaction(self) -> Iterator[_Transaction]:
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
        """
        self._refuse_readers()
        loaded: dict[str, int] = {}
        with self.incomplete():
            for table in tables:
                made = load_table(self._session, table, self._schema(), self._access, self._sessions)
                loaded[table.name] = loaded.get(table.name, 0) + made
        return loaded

    def apply(self, delta: Delta) -> None:
        """Turn the graph into another one, in batches, while it counts as incomplete."""
        self._refuse_readers()
        schema = self._schema()
        fitted = conformed_delta(delta, schema)
        before = self.counts()
        with self.incomplete():
            with self._session() as session:
                remove_rows(session, fitted, schema, self._access)
                for table in ordered(fitted.added):
                    load_table(self._session, table, schema, self._access)
                for node in fitted.changed:
                    change_nodes(session, node, schema, self._access)
            refuse_other_counts(before, self.counts(), fitted)

    def export_nodes(self, label: str, columns: Sequence[str]) -> pa.Table:
        return self._export(partial(NodeTable, label), columns).sort_by("id")

    def export_relations(self, type: str, start_label: str, end_label: str, columns: Sequence[str]) -> pa.Table:
        return self._export(partial(RelationTable, type, start_label, end_label), columns)

    def export_relations_of(self, table: RelationTable, starts: Sequence[str], columns: Sequence[str]) -> pa.Table:
        """The edges of some start nodes; of ``table`` only the names count."""
        return self.reading(lambda running: export_table(running, table, columns, self._schema(), starts))

    def summarise(self, table: RelationTable, columns: Sequence[str]) -> list[Row]:
        """By ``source`` the number ``n`` of edges and of values ``present`` among ``columns``; names as above."""
        names = {"type": table.type, "start": table.start_label, "end": table.end_label}
        return self._read("summarise_relations", {"columns": list(columns)}, **names)

    def counts(self) -> Mapping[str, int]:
        schema = self._schema()

        def read(tx: Any) -> dict[str, int]:
            found = {}
            for name in schema.nodes:
                found[name] = tx.run(statement("count_nodes", schema, label=name)).single()["n"]
            for name in schema.relations:
                found[name] = tx.run(statement("count_relations", schema, type=name)).single()["n"]
            return {name: n for name, n in found.items() if n}

        return self.reading(read)

    def misfits(self) -> tuple[Misfit, ...]:
        """Return what the database holds that the ontology does not allow; all of it is read on the server."""
        return tuple(misfits(self._read, self._schema()))

    def close(self) -> None:
        self._driver.close()

    def is_empty(self) -> bool:
        return bool(self._read("empty")[0]["empty"])

    def clear(self, *, saved: bool = True) -> None:
        """Remove everything that the database holds, in parts; of what is kept aside only where ``saved`` says so."""
        self._refuse_readers()
        self._run_alone(statement("clear_relations"))
        self._run_alone(statement("clear_nodes"))
        if saved:
            self.alone("keep_aside", documents=[])

    def define(self) -> None:
        """Make the schema's keys, indexes and, where the edition can, constraints; wait until indexes are filled."""
        self._refuse_readers()
        schema = self._schema()
        for text in schema_statements(schema):
            self._run_alone(text)
        if self._read("edition")[0]["edition"] == "enterprise":
            for text in required_statements(schema):
                self._run_alone(text)
        with self._session() as session, translated(self._access, writing=True):
            for text, names in naming_statements(schema):
                session.execute_write(rows_of, text, names)

    @contextmanager
    def incomplete(self) -> Iterator[None]:
        """Let the graph count as incomplete until the block has ended normally; it keeps its Build node's properties.

        The block may write the Build node itself, as its last step.
        """
        self._refuse_readers()
        before = self.run("build")
        self._run_alone(statement("drop_build"))
        yield
        if before and not self.run("build"):
            self.write("set_build", **{name: before[0][name] for name in _BUILD_FIELDS})

    def _check_version(self) -> None:
        rows = self.run("build")
        if len(rows) != 1:
            raise self._no_graph()
        if self._lacking(rows[0], _EARLIER) and not self.read_only:
            self.define()

    def _no_graph(self) -> StoreError:
        if self.is_empty():
            return StoreError(f"no graph in the database at {self.url}", hint="copy one there with `kgdx push`")
        if self._read("constraints"):
            return StoreError(
                f"the graph at {self.url} is incomplete: a load or removal was interrupted",
                hint="replace it with `kgdx push --force`",
            )
        return StoreError(
            f"the database at {self.url} is not a kgdx graph",
            hint="ask it through a mapping (`kgdx neo4j mapping new`), or `kgdx push` a graph into an empty one",
        )

    def _session(self, *, read: bool = False) -> AbstractContextManager[neo4j.Session]:
        return session_of(self._driver, self._access, self._seen, "READ" if read else "WRITE")

    def _read(self, name: str, parameters: Mapping[str, Any] | None = None, /, **names: str) -> list[Row]:
        text = statement(name, self._schema() if names else None, **names)
        return self.reading(lambda running: rows_of(running, text, parameters or {}))

    def alone(self, name: str, **parameters: Any) -> None:
        """Run a statement of the database's own in a write transaction that is not counted as a save."""
        with self._session() as session, translated(self._access, writing=True):
            session.execute_write(rows_of, statement(name), parameters)

    def _run_alone(self, text: str) -> None:
        with self._session() as session, translated(self._access, writing=True):
            session.run(text).consume()

    def _export(self, named: Callable[[pa.Table], GraphTable], columns: Sequence[str]) -> pa.Table:
        import pyarrow as pa

        table = named(pa.table({}))
        return self.reading(lambda running: export_table(running, table, columns, self._schema()))
