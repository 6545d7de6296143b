"""The store of a build: filled anew in a second thread, or made of a copy of the one before."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue

from kgdx.errors import StoreError
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.protocol import Delta, GraphTable
from kgdx.graph.tables import BOOKKEEPING
from kgdx.ingest.pipeline import build_files
from kgdx.ingest.pipeline.build_report import Clock
from kgdx.ingest.pipeline.built_graph import BuiltGraph, BuiltTable, load_table, totals
from kgdx.ingest.pipeline.graph_folder import BuildFolder
from kgdx.ingest.pipeline.stages import Stages


class StoreLoad:
    """A new store, filled in a second thread while the build goes on.

    Most of a load is done outside Python, so the tables that are complete are loaded while others are inferred.
    """

    def __init__(self, made: BuildFolder, stages: Stages, clock: Clock, wanted: bool = True) -> None:
        self._made, self._stages, self._clock, self._wanted = made, stages, clock, wanted
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
        if self._loading is None and self._wanted:
            self._loading = self._pool.submit(self._load)

    def finish(self, build: Mapping[str, str]) -> None:
        self._build = build
        self._tables.put(None)
        if not self._wanted:  # the graph is for a server
            return
        total = sum(table.rows for table in self._added) or 1
        done = 0
        while (table := self._begun.get()) is not None:
            self._clock.tell("load", f"{table.rows:,} {table.name}", done / total, rows=done, total=total)
            done += table.rows
        if self._loading is not None:
            self._loading.result()

    def close(self) -> None:
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

    def changed(
        self, before: BuildFolder, delta: Delta, graph: BuiltGraph, build: Mapping[str, str], *, proven: bool
    ) -> bool:
        """Bring a copy of the store before to the new tables; returns whether it holds them then.

        Where it is ``proven`` the copy has to show by its fingerprint that it holds the tables: whoever builds again
        may do so because the store is damaged.
        """
        if not build_files.whole(before.path, "store"):
            return False
        try:
            shutil.copytree(before.store, self._made.store)
            with ArcadeStore.open(self._made.store, read_only=False) as store:
                store.apply(delta)
                store.write("set_build", **build)
                counts = {name: n for name, n in store.counts().items() if name not in BOOKKEEPING}
                nodes, relations = totals((table, table.rows) for table in graph.tables)
                if counts == {**nodes, **relations} and (not proven or store.fingerprint() == graph.fingerprint):
                    return True
        except (StoreError, OSError):  # the store before is not what its build says, or a copy does not fit on the disk
            pass
        shutil.rmtree(self._made.store, ignore_errors=True)
        return False
