"""The tables of a graph → its snapshot and its store: made anew, or brought there from those of the build before."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kgdx.errors import StoreError
from kgdx.load.clock import Clock
from kgdx.load.folder import BuildFolder
from kgdx.load.stages import Stages, code_digest, key_of
from kgdx.load.tables import BuiltGraph, BuiltTable, load_table, load_tables
from kgdx.store.arcade import ArcadeStore
from kgdx.store.compile import compile_snapshot, link_snapshot, reads
from kgdx.store.protocol import Delta, GraphTable
from kgdx.store.snapshot import FORMAT
from kgdx.store.tables import BOOKKEEPING


@dataclass(frozen=True, slots=True)
class Before:
    """The build before: its folder, the tables that its store holds now, and the checksum of its ontology."""

    folder: BuildFolder
    graph: BuiltGraph
    schema: str


_BESIDE: frozenset[tuple[str, tuple[str, str] | None]] = frozenset(
    {("MeshDescriptor", None), ("MAPPED_TO", ("Symptom", "Phenotype"))}
)
"""Tables that are not in the snapshot, but in the indexes that are kept beside it (:mod:`kgdx.align`)."""


def snapshot_key(tables: Iterator[BuiltTable] | tuple[BuiltTable, ...]) -> str:
    """Return the digest of what a snapshot, and what is kept beside it, is made from."""
    wanted = [table for table in tables if reads(table.name, table.ends) or (table.name, table.ends) in _BESIDE]
    parts = sorted([table.title, sorted(table.parts.items())] for table in wanted)
    return key_of(FORMAT, code_digest("kgdx.store.compile"), code_digest("kgdx.store.snapshot"), parts)


def make_snapshot(made: BuildFolder, graph: BuiltGraph, before: Before | None, stages: Stages) -> bool:
    """Compile the snapshot, or link that of the build before where it would be the same; returns whether it was linked.

    Args:
        made: The new build.
        graph: What the snapshot is of.
        before: The build before, if its snapshot may be linked.
        stages: Where the tables are.
    """
    if before is not None and before.graph.snapshot == graph.snapshot:
        try:
            link_snapshot(before.folder.snapshot, made.snapshot, graph.fingerprint)
        except (OSError, StoreError):
            shutil.rmtree(made.snapshot, ignore_errors=True)
        else:
            return True
    wanted = [table for table in graph.tables if reads(table.name, table.ends)]
    compile_snapshot(load_tables(wanted, stages), made.snapshot, graph.fingerprint)
    return False


def fill_store(
    made: BuildFolder,
    graph: BuiltGraph,
    before: Before | None,
    delta: Delta | None,
    stages: Stages,
    clock: Clock,
    build: Mapping[str, str],
    *,
    proven: bool,
) -> str:
    """Fill the store; returns how: ``changed`` from a copy of the one before, or ``loaded`` anew.

    Args:
        made: The new build.
        graph: What the store is to hold.
        before: The build before, if its store may be brought to the new state.
        delta: What differs; ``None`` to load the store anew.
        stages: Where the tables are.
        clock: Told how far it is.
        build: What the store is to know of its build.
        proven: Whether a changed copy has to show by its fingerprint that it holds the tables: whoever builds again may
            do so because the store is damaged.
    """
    if before is not None and delta is not None:
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
    with ArcadeStore.create(made.store) as store:
        store.load(_told(graph, stages, clock))
        store.write("set_build", **build)
    return "loaded"


def _holds(store: ArcadeStore, graph: BuiltGraph, proven: bool) -> bool:
    counts = {name: n for name, n in store.counts().items() if name not in BOOKKEEPING}
    nodes, relations = graph.totals()
    return counts == {**nodes, **relations} and (not proven or store.fingerprint() == graph.fingerprint)


def _told(graph: BuiltGraph, stages: Stages, clock: Clock) -> Iterator[GraphTable]:
    """The tables, nodes first, telling the progress as the store takes them."""
    ordered = sorted(graph.tables, key=lambda table: table.ends is not None)
    total = sum(table.rows for table in ordered) or 1
    done = 0
    for table in ordered:
        clock.tell("load", f"{table.rows:,} {table.name}", done / total, rows=done, total=total)
        yield load_table(table, stages)
        done += table.rows
