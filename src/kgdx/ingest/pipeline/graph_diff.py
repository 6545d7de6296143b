"""What two graphs differ in, by table and source, down to the rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from kgdx.errors import StoreError
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.protocol import Delta, GraphTable, NodeTable
from kgdx.graph.tables import conformed, digests, lines, title
from kgdx.ingest.pipeline.build_report import Change
from kgdx.ingest.pipeline.built_graph import BuiltTable, graph_table, load_table, read_graph
from kgdx.ingest.pipeline.graph_folder import BuildFolder, GraphFolder
from kgdx.ingest.pipeline.stages import Stages
from kgdx.schema import Schema, load_schema

_ROWS = 100_000
_SEEDS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
EXAMPLES = 5
"""How many examples of each kind are kept."""

Loader = Callable[[BuiltTable], GraphTable]


@dataclass(slots=True)
class GraphDifference:
    changes: list[Change] = field(default_factory=list)
    rows: int = 0
    delta: Delta | None = None


@dataclass(slots=True)
class _Side:
    """The rows of one table in one graph, of the sources whose digests differ; their hashes if both sides have rows."""

    rows: pa.Table | None = None
    hashes: np.ndarray[Any, Any] | None = None

    @property
    def height(self) -> int:
        return 0 if self.rows is None else int(self.rows.num_rows)


def compare(
    old: Sequence[BuiltTable],
    new: Sequence[BuiltTable],
    load_old: Loader,
    load_new: Loader,
    schema: Schema,
    *,
    limit: int = 0,
) -> GraphDifference:
    found = GraphDifference()
    removed: list[GraphTable] = []
    added: list[GraphTable] = []
    changed: list[NodeTable] = []
    for titled, (before, after) in _by_title(old, new).items():
        sources = _differing(before, after)
        if not sources:
            continue
        any_table = (after or before)[0]
        one = _side(before, sources, load_old, schema)
        other = _side(after, sources, load_new, schema)
        if one.rows is not None and other.rows is not None:
            one.hashes, other.hashes = _hashes(any_table, one.rows), _hashes(any_table, other.rows)
        gone, come, other_values = _masks(any_table.ends is None, one, other)
        found.changes += _counted(titled, one, other, gone, come, other_values)
        number = int(gone.sum() + come.sum() + other_values.sum())
        found.rows += number
        if number and found.rows <= limit:
            removed += _taken(any_table, one, gone)
            added += _taken(any_table, other, come)
            changed += [table for table in _taken(any_table, other, other_values) if isinstance(table, NodeTable)]
    if found.rows <= limit:
        found.delta = Delta(removed, added, changed)
    return found


def _by_title(
    old: Iterable[BuiltTable], new: Iterable[BuiltTable]
) -> dict[str, tuple[list[BuiltTable], list[BuiltTable]]]:
    found: dict[str, tuple[list[BuiltTable], list[BuiltTable]]] = {}
    for at, tables in enumerate((old, new)):
        for table in tables:
            found.setdefault(title(table), ([], []))[at].append(table)
    return found


def _differing(before: Iterable[BuiltTable], after: Iterable[BuiltTable]) -> set[str]:
    one, other = ({s: tuple(d) for table in tables for s, d in table.parts.items()} for tables in (before, after))
    return {source for source in one.keys() | other.keys() if one.get(source) != other.get(source)}


def _side(tables: Sequence[BuiltTable], sources: set[str], load: Loader, schema: Schema) -> _Side:
    parts = []
    for table in tables:
        if sources & set(table.parts):
            rows = conformed(load(table), schema)
            if not sources >= set(table.parts):
                rows = rows.filter(pc.is_in(rows.column("source"), value_set=pa.array(sorted(sources), pa.string())))
            parts.append(rows)
    return _Side(pa.concat_tables(parts, promote_options="default")) if parts else _Side()


def _hashes(table: BuiltTable, rows: pa.Table) -> np.ndarray[Any, Any]:
    out = np.empty((rows.num_rows, 2), np.uint64)
    for start in range(0, rows.num_rows, _ROWS):
        text = lines(graph_table(table.name, table.ends, rows.slice(start, _ROWS)))
        for at, seed in enumerate(_SEEDS):
            out[start : start + len(text), at] = text.hash(seed).to_numpy()
    return out


def _masks(nodes: bool, one: _Side, other: _Side) -> tuple[Any, Any, Any]:
    if one.hashes is None or other.hashes is None:
        return np.ones(one.height, bool), np.ones(other.height, bool), np.zeros(other.height, bool)
    old, new = _keys(one, "old", nodes), _keys(other, "new", nodes)
    keys = ["id"] if nodes else ["h0", "h1"]
    gone = old.join(new, on=keys, how="anti")["old"]
    come = new.join(old, on=keys, how="anti")["new"]
    values = new.clear()["new"]
    if nodes:
        both = new.join(old, on="id", how="inner", suffix="_old")
        values = both.filter((pl.col("h0") != pl.col("h0_old")) | (pl.col("h1") != pl.col("h1_old")))["new"]
    return _mask(gone, old.height), _mask(come, new.height), _mask(values, new.height)


def _keys(side: _Side, row: str, nodes: bool) -> pl.DataFrame:
    assert side.rows is not None and side.hashes is not None
    frame = pl.DataFrame({"h0": side.hashes[:, 0], "h1": side.hashes[:, 1]}).with_row_index(row)
    return frame.with_columns(pl.Series("id", pl.from_arrow(side.rows["id"]))) if nodes else frame


def _mask(rows: pl.Series, height: int) -> np.ndarray[Any, Any]:
    mask = np.zeros(height, bool)
    mask[rows.to_numpy()] = True
    return mask


def _counted(table: str, one: _Side, other: _Side, gone: Any, come: Any, values: Any) -> Iterator[Change]:
    kinds = (("removed", "-", one, gone), ("added", "+", other, come), ("changed", "~", other, values))
    counts: dict[str, dict[str, int]] = {}
    examples: dict[str, list[str]] = {}
    for kind, sign, side, mask in kinds:
        if side.rows is None or not mask.any():
            continue
        keys = [key for key in ("id", "start", "end") if key in side.rows.column_names]
        rows = pl.DataFrame(pl.from_arrow(side.rows.select([*keys, "source"]).filter(pa.array(mask))))
        for (source,), part in rows.group_by("source", maintain_order=True):
            counts.setdefault(str(source), {})[kind] = part.height
            shown = part.select(pl.concat_str(keys, separator=" ")).to_series().bottom_k(EXAMPLES).sort()
            examples.setdefault(str(source), []).extend(f"{sign} {each}" for each in shown)
    for source in sorted(counts):
        yield Change(table, source, **counts[source], examples=tuple(examples[source]))


def _taken(table: BuiltTable, side: _Side, mask: Any) -> Iterator[GraphTable]:
    if side.rows is not None and mask.any():
        yield graph_table(table.name, table.ends, side.rows.filter(pa.array(mask)))


Tables = tuple[Sequence[BuiltTable], Loader]
"""The tables of a graph, and what reads them."""
NAMES = ("name", "title", "label")
"""Properties that say how a node is called."""


@dataclass(frozen=True, slots=True)
class Comparison:
    old: str
    new: str
    changes: tuple[Change, ...]
    names: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def diff(old: str | os.PathLike[str] | None, new: str | os.PathLike[str]) -> Comparison:
    """Compare two graphs as they were built; what users saved since then does not count."""
    target = GraphFolder(new)
    with target.reading() as build, _tables(target, build) as (tables, load):
        if old is None:
            stages = Stages(target.path / "stages")
            before = read_graph(build.previous, stages)
            if before is None:
                message = f"nothing is known of what {target.path} held before"
                raise StoreError(message, hint="give two graph folders: `kgdx diff OLD NEW`")
            known = before.tables, partial(load_table, stages=stages)
            return _comparison("the build before", target, known, (tables, load))
        other = GraphFolder(old)
        with other.reading() as other_build, _tables(other, other_build) as before_it:
            return _comparison(str(other.path), target, before_it, (tables, load))


def _comparison(old: str, new: GraphFolder, before: Tables, after: Tables) -> Comparison:
    (one, load_one), (other, load_other) = (
        ([table for table in tables if table.name != "Source"], load) for tables, load in (before, after)
    )
    found = compare(one, other, load_one, load_other, load_schema()).changes
    changes = tuple(sorted(found, key=lambda change: ("->" in change.table, change.table, change.source)))
    return Comparison(old, str(new.path), changes, _names(changes, ((one, load_one), (other, load_other))))


def _names(changes: Iterable[Change], graphs: Iterable[Tables]) -> dict[str, str]:
    classes: set[str] = set()
    ids: set[str] = set()
    for change in changes:
        start, _, rest = change.table.partition("-")
        classes |= {start, rest.rpartition("->")[2]}
        ids.update(word for example in change.examples for word in example.split(" ")[1:])
    names: dict[str, str] = {}
    for table, load in ((table, load) for tables, load in graphs for table in tables):
        if table.ends is None and table.name in classes:
            rows = pl.DataFrame(pl.from_arrow(load(table).rows))
            called = next((name for name in NAMES if name in rows.columns), None)
            if called is not None:
                found = rows.filter(pl.col("id").is_in(ids)).select("id", called).drop_nulls()
                names |= {id: name for id, name in found.iter_rows() if name}
    return names


@contextmanager
def _tables(folder: GraphFolder, build: BuildFolder) -> Iterator[Tables]:
    stages = Stages(folder.path / "stages")
    graph = read_graph(build.tables, stages)
    if graph is not None:
        yield list(graph.tables), partial(load_table, stages=stages)
        return
    with ArcadeStore.open(build.store) as store:
        rows = {title(table): table for table in store.tables()}
        found = []
        for table in rows.values():
            parts = {source: digest for (_, source), digest in digests([table]).items()}
            found.append(BuiltTable(table.name, table.ends, "", parts))
        yield found, lambda built: rows[title(built)]
