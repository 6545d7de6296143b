"""Two graphs, or a graph and the one that it took the place of: what differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

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

Tables = tuple[Sequence[BuiltTable], Loader]
"""The tables of a graph, and what reads them."""
NAMES = ("name", "title", "label")
"""Properties that say how a node is called."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two graphs differ in.

    Attributes:
        old: The old graph: its folder, or ``the build before``.
        new: The new graph's folder.
        changes: By table and source, nodes first; the Source nodes, which only describe the build, are left out.
        names: How the nodes are called that the examples speak of, by id; those without a name are left out.
    """

    old: str
    new: str
    changes: tuple[Change, ...]
    names: Mapping[str, str] = field(default_factory=dict)

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
            return _comparison(
                "the build before", target, (before.tables, partial(load_table, stages=stages)), (tables, load)
            )
        other = old if isinstance(old, GraphFolder) else GraphFolder(old)
        with other.reading() as held, _tables(other, held) as before_it:
            return _comparison(str(other.path), target, before_it, (tables, load))


def _comparison(old: str, new: GraphFolder, before: Tables, after: Tables) -> Comparison:
    """Compare the tables of two graphs, without those that only describe the build."""
    (one, load_one), (other, load_other) = (
        ([table for table in tables if table.name != "Source"], load) for tables, load in (before, after)
    )
    found = compare(one, other, load_one, load_other, load_schema()).changes
    changes = tuple(sorted(found, key=lambda change: ("->" in change.table, change.table, change.source)))
    return Comparison(old, str(new.path), changes, _names(changes, ((one, load_one), (other, load_other))))


def _names(changes: Iterable[Change], graphs: Iterable[Tables]) -> dict[str, str]:
    """Look up the names of the nodes in the examples; where both graphs have one, the new one's."""
    import pyarrow.compute as pc

    classes: set[str] = set()
    ids: set[str] = set()
    for change in changes:
        start, _, rest = change.table.partition("-")
        classes |= {start, rest.rpartition("->")[2]}
        ids.update(word for example in change.examples for word in example.split(" ")[1:])
    wanted = pa.array(sorted(ids), pa.string())
    names: dict[str, str] = {}
    for tables, load in graphs:
        for table in tables:
            if table.ends is not None or table.name not in classes:
                continue
            rows = load(table).rows
            called = next((name for name in NAMES if name in rows.column_names), None)
            if called is not None:
                held = rows.filter(pc.is_in(rows.column("id").cast(pa.string()), value_set=wanted)).select(
                    ["id", called]
                )
                names |= {str(row["id"]): str(row[called]) for row in held.to_pylist() if row[called]}
    return names


@contextmanager
def _tables(folder: GraphFolder, build: BuildFolder) -> Iterator[Tables]:
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
