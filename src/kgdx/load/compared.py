"""Two graphs, or a graph and the one that it took the place of: what differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kgdx.errors import StoreError
from kgdx.load.change import Change
from kgdx.load.diff import Loader, compare
from kgdx.load.folder import BuildFolder, GraphFolder
from kgdx.load.stages import Stages
from kgdx.load.tables import BuiltTable, load_table, name_of, read_graph
from kgdx.schema import load_schema
from kgdx.store.arcade import ArcadeStore
from kgdx.store.fingerprint import part_digests
from kgdx.store.protocol import GraphTable, NodeTable


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two graphs differ in.

    Attributes:
        old: The old graph: its folder, or ``the build before``.
        new: The new graph's folder.
        changes: By table and source, nodes first; the Source nodes, which only describe the build, are left out.
    """

    old: str
    new: str
    changes: tuple[Change, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)


def diff(old: GraphFolder | str | Path | None, new: GraphFolder | str | Path) -> Comparison:
    """Compare two graphs as they were built; what users saved since then does not count.

    Args:
        old: A graph folder; ``None`` for the build before the new one.
        new: A graph folder.

    Raises:
        StoreError: One of them is no graph, or nothing is known of the build before.
    """
    target = new if isinstance(new, GraphFolder) else GraphFolder(new)
    with target.reading() as build, _tables(target, build) as (tables, load):
        if old is None:
            stages = Stages(target.path / "stages")
            before = read_graph(build.previous, stages)
            if before is None:
                message = f"nothing is known of what {target.path} held before"
                raise StoreError(message, hint="give two graph folders: `kgdx diff OLD NEW`")
            changes = _compared(before.tables, tables, partial(load_table, stages=stages), load)
            return Comparison("the build before", str(target.path), changes)
        other = old if isinstance(old, GraphFolder) else GraphFolder(old)
        with other.reading() as held, _tables(other, held) as (others, load_other):
            return Comparison(str(other.path), str(target.path), _compared(others, tables, load_other, load))


def _compared(
    old: Iterable[BuiltTable], new: Iterable[BuiltTable], load_old: Loader, load_new: Loader
) -> tuple[Change, ...]:
    one, other = ([table for table in tables if table.name != "Source"] for tables in (old, new))
    changes = compare(one, other, load_old, load_new, load_schema()).changes
    return tuple(sorted(changes, key=lambda change: ("->" in change.table, change.table, change.source)))


@contextmanager
def _tables(folder: GraphFolder, build: BuildFolder) -> Iterator[tuple[list[BuiltTable], Loader]]:
    """The tables of a graph: as its build kept them, or read from the store where it kept none."""
    stages = Stages(folder.path / "stages")
    graph = read_graph(build.tables, stages)
    if graph is not None:
        yield list(graph.tables), partial(load_table, stages=stages)
        return
    with ArcadeStore.open(build.store) as store:
        held = [(_built(table), table) for table in store.tables()]
        rows = {built.title: table for built, table in held}
        yield [built for built, _ in held], lambda built: rows[built.title]


def _built(table: GraphTable) -> BuiltTable:
    ends = None if isinstance(table, NodeTable) else (table.start_label, table.end_label)
    parts = {source: digest for (_, source), digest in part_digests(table).items()}
    return BuiltTable(name_of(table), ends, "", parts)
