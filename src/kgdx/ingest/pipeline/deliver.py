"""The tables of a graph → its snapshot and its store; what is ordered of a build."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

import pyarrow as pa

from kgdx.errors import StoreError
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.protocol import Delta, Exports, GraphTable
from kgdx.graph.snapshot import FORMAT, Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot, link_snapshot, reads
from kgdx.graph.tables import BOOKKEEPING, columns_of, conformed
from kgdx.ingest.fetch import Digests
from kgdx.ingest.pipeline import build_files
from kgdx.ingest.pipeline.build_report import Clock, Progress, StageReport
from kgdx.ingest.pipeline.derive import Derive
from kgdx.ingest.pipeline.graph_folder import BuildFolder, GraphFolder
from kgdx.ingest.pipeline.snapshot_hooks import Hook
from kgdx.ingest.pipeline.stages import (
    BuiltGraph,
    BuiltSource,
    BuiltTable,
    Stages,
    code_digest,
    graph_table,
    key_of,
    load_table,
    load_tables,
)
from kgdx.ingest.source_choice import Wanted
from kgdx.ingest.sources import Reader
from kgdx.schema import Schema

Index = Callable[[Snapshot, Callable[[], Exports], Callable[[str], None]], None]
"""Makes an index beside the snapshot, from the tables that it asks for where it has to; says in words what takes long.
"""


@dataclass(frozen=True, slots=True)
class Before:
    """The build before: its folder, the tables that its store holds now, and the checksum of its ontology."""

    folder: BuildFolder
    graph: BuiltGraph
    schema: str


_BESIDE: frozenset[tuple[str, tuple[str, str] | None]] = frozenset(
    {("MeshDescriptor", None), ("MAPPED_TO", ("Symptom", "Phenotype"))}
)
"""Tables that are not in the snapshot, but in the indexes that are kept beside it (:mod:`kgdx.terms.names`)."""


def snapshot_key(tables: Iterator[BuiltTable] | tuple[BuiltTable, ...]) -> str:
    """Return the digest of what a snapshot, and what is kept beside it, is made from."""
    wanted = [table for table in tables if reads(table.name, table.ends) or (table.name, table.ends) in _BESIDE]
    parts = sorted([table.title, sorted(table.parts.items())] for table in wanted)
    return key_of(FORMAT, code_digest("kgdx.graph.snapshot_compile"), code_digest("kgdx.graph.snapshot"), parts)


def make_snapshot(made: BuildFolder, graph: BuiltGraph, before: Before | None, stages: Stages) -> bool:
    """Compile the snapshot, or link that of the build before where it would be the same; returns whether it was linked.

    Args:
        made: The new build.
        graph: What the snapshot is of.
        before: The build before, if its snapshot may be linked.
        stages: Where the tables are.
    """
    linked = before is not None and before.graph.snapshot == graph.snapshot
    if before is not None and linked and build_files.whole(before.folder.path, "snapshot"):
        try:
            link_snapshot(before.folder.snapshot, made.snapshot, graph.fingerprint)
        except (OSError, StoreError):
            shutil.rmtree(made.snapshot, ignore_errors=True)
        else:
            return True
    wanted = [table for table in graph.tables if reads(table.name, table.ends)]
    compile_snapshot(load_tables(wanted, stages), made.snapshot, graph.fingerprint)
    return False


class StoreLoad:
    """A new store, filled in a second thread while the build goes on.

    Most of a load is done outside Python, so the tables that are complete are loaded while others are inferred.
    """

    def __init__(self, made: BuildFolder, stages: Stages, clock: Clock) -> None:
        self._made, self._stages, self._clock = made, stages, clock
        self._build: Mapping[str, str] = {}
        self._added: list[BuiltTable] = []
        self._tables: SimpleQueue[BuiltTable | None] = SimpleQueue()
        self._begun: SimpleQueue[BuiltTable | None] = SimpleQueue()
        self._stopped = False
        self._pool = ThreadPoolExecutor(1)
        self._loading: Future[None] | None = None

    def add(self, tables: Iterable[BuiltTable]) -> None:
        """Load the tables that were not added before, nodes first."""
        new = sorted((table for table in tables if table not in self._added), key=lambda table: table.ends is not None)
        self._added += new
        for table in new:
            self._tables.put(table)
        if self._loading is None:
            self._loading = self._pool.submit(self._load)

    def finish(self, build: Mapping[str, str]) -> None:
        """Wait until the store holds all tables, telling how far it is.

        Args:
            build: What the store is to know of its build.

        Raises:
            StoreError: The tables cannot be loaded.
        """
        self._build = build
        self._tables.put(None)
        total = sum(table.rows for table in self._added) or 1
        done = 0
        while (table := self._begun.get()) is not None:
            self._clock.tell("load", f"{table.rows:,} {table.name}", done / total, rows=done, total=total)
            done += table.rows
        if self._loading is not None:
            self._loading.result()

    def close(self) -> None:
        """Stop after the table that is being loaded, and wait for that."""
        self._stopped = True
        self._tables.put(None)
        self._pool.shutdown()

    def _load(self) -> None:
        try:
            with ArcadeStore.create(self._made.store) as store:
                store.load(self._given())
                store.write("set_build", **self._build)
        finally:
            self._begun.put(None)

    def _given(self) -> Iterator[GraphTable]:
        while (table := self._tables.get()) is not None and not self._stopped:
            self._begun.put(table)
            yield load_table(table, self._stages)
        if self._stopped:
            raise StoreError("the load was stopped", hint="build again with `kgdx build`")


def fill_store(
    load: StoreLoad,
    made: BuildFolder,
    graph: BuiltGraph,
    before: Before | None,
    delta: Delta | None,
    clock: Clock,
    build: Mapping[str, str],
    *,
    proven: bool,
) -> str:
    """Fill the store; returns how: ``changed`` from a copy of the one before, or ``loaded`` anew.

    Args:
        load: Loads the store anew; it may have begun.
        made: The new build.
        graph: What the store is to hold.
        before: The build before, if its store may be brought to the new state.
        delta: What differs; ``None`` to load the store anew.
        clock: Told how far it is.
        build: What the store is to know of its build.
        proven: Whether a changed copy has to show by its fingerprint that it holds the tables: whoever builds again may
            do so because the store is damaged.
    """
    if before is not None and delta is not None and build_files.whole(before.folder.path, "store"):
        clock.tell("load", f"changing {delta.rows:,} rows in a copy of the store")
        try:
            shutil.copytree(before.folder.store, made.store)
            with ArcadeStore.open(made.store, read_only=False) as store:
                store.apply(delta)
                store.write("set_build", **build)
                if _holds(store, graph, proven):
                    return "changed"
        except (StoreError, OSError):  # the store before is not what its build says, or a copy does not fit on the disk
            pass
        shutil.rmtree(made.store, ignore_errors=True)
    load.add(graph.tables)
    load.finish(build)
    return "loaded"


def _holds(store: ArcadeStore, graph: BuiltGraph, proven: bool) -> bool:
    counts = {name: n for name, n in store.counts().items() if name not in BOOKKEEPING}
    nodes, relations = graph.totals()
    return counts == {**nodes, **relations} and (not proven or store.fingerprint() == graph.fingerprint)


class BuiltTables:
    """Hands out the tables of a graph that is being built as a store would.

    Args:
        graph: The graph.
        stages: Where its tables are.
        schema: Their columns and types.
    """

    def __init__(self, graph: BuiltGraph, stages: Stages, schema: Schema) -> None:
        self._graph, self._stages, self._schema = graph, stages, schema

    def export_nodes(self, label: str, columns: Sequence[str]) -> pa.Table:
        """Return all nodes of one class: ``id`` and ``columns``, sorted by id."""
        return self._read(label, None, ("id", *columns)).sort_by("id")

    def export_relations(self, type: str, start_label: str, end_label: str, columns: Sequence[str]) -> pa.Table:
        """Return all edges of one type between two classes: ``start``, ``end`` and ``columns``."""
        return self._read(type, (start_label, end_label), ("start", "end", *columns))

    def _read(self, name: str, ends: tuple[str, str] | None, columns: Sequence[str]) -> pa.Table:
        types = columns_of(graph_table(name, ends, pa.table({})), self._schema)
        schema = pa.schema([(column, types[column]) for column in columns])
        wanted = [table for table in self._graph.tables if (table.name, table.ends) == (name, ends)]
        found = [conformed(load_table(table, self._stages), self._schema) for table in wanted]
        chosen = [rows.select([each for each in columns if each in rows.column_names]) for rows in found]
        return pa.concat_tables([schema.empty_table(), *chosen], promote_options="default")


def index(snapshot: Path, tables: Exports, indexes: Sequence[Index], tell: Callable[[str], None]) -> None:
    """Make what is looked up beside a snapshot."""
    opened = Snapshot.open(snapshot)
    for make in indexes:
        make(opened, lambda: tables, tell)


@dataclass(frozen=True, slots=True)
class Choice:
    """The sources that a graph is to have, and those of them that are taken as they were read before."""

    wanted: Mapping[str, Wanted]
    kept: Mapping[str, BuiltSource] = field(default_factory=dict)


# The settings of a build, and the state that its stages share.


@dataclass(frozen=True, slots=True)
class Order:
    """Settings of a build.

    Attributes:
        folder: The graph folder.
        kind: ``build``, ``update`` or ``remove``.
        choose: Says which sources the graph is to have, from what it has.
        derive: Steps that infer further tables.
        compile: Functions that compute something from the finished snapshot; they run in a second process.
        index: Functions that make what is looked up beside the snapshot, once the store is filled.
        readers: Readers of formats that live elsewhere.
        cache: Where downloads are kept.
        progress: Called as the build goes on.
        keep_cases: Whether what users saved is carried over.
        force: Whether a source may lose half of its rows.
        first: Whether to build only where there is no graph yet, and to wait a second for another builder.
    """

    folder: GraphFolder
    kind: str
    choose: Callable[[BuiltGraph | None], Choice]
    cache: Path
    derive: Sequence[Derive] = ()
    compile: Sequence[Hook] = ()
    index: Sequence[Index] = ()
    readers: Mapping[str, Reader] = field(default_factory=dict)
    progress: Callable[[Progress], None] | None = None
    keep_cases: bool = True
    force: bool = False
    first: bool = False


@dataclass(slots=True)
class Work:
    """State that the stages of one build share.

    Attributes:
        order: What to build.
        made: The folder of the new build.
        stages: Results that are kept by content.
        digests: Of files, by what tells whether they changed.
        schema: The ontology.
        clock: Times the stages, and tells of them.
        before: The build before, where its tables are known.
        done: What each stage made, and found made.
        remarks: What goes among the report's warnings.
    """

    order: Order
    made: BuildFolder
    stages: Stages
    digests: Digests
    schema: Schema
    clock: Clock
    before: Before | None
    done: list[StageReport] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def note(self, stage: str, what: str, made: int, found: int, seconds: float) -> None:
        """Record what a stage made, what it found made, and how long it took."""
        self.done.append(StageReport(stage, what, made, found, round(seconds, 3)))
