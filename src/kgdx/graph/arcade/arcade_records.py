"""The embedded engine's records as Arrow columns: their ids by node id, and tables read part by part.

A dict of strings for the ids would take gigabytes, and a row at a time one dict in Python for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgdx.errors import StoreError
from kgdx.graph.arcade.arcade_engine import Database
from kgdx.graph.protocol import GraphTable
from kgdx.graph.tables import title

_PER_LOOKUP = 1_000


class RecordIds:
    """Record ids of the nodes that were loaded; others are looked up when they are first asked for.

    Args:
        fresh: Whether it was empty: then nothing is there that was not loaded.
    """

    def __init__(self, database: Database, *, fresh: bool = False) -> None:
        self._database = database
        self._fresh = fresh
        self._known: dict[str, tuple[pa.Array, pa.Array]] = {}

    def add(self, label: str, ids: pa.Array, records: list[str]) -> None:
        known, found = self._of(label)
        self._known[label] = pa.concat_arrays([known, ids]), pa.concat_arrays([found, pa.array(records, pa.string())])

    def repeated(self, label: str, ids: pa.Array) -> str | None:
        """An id that is there already or comes twice; ``None`` when there is none."""
        if pc.count_distinct(ids).as_py() < len(ids):
            counts = pc.value_counts(ids)
            return str(counts.field("values").filter(pc.greater(counts.field("counts"), 1))[0])
        self._look_up(label, ids)
        there = ids.filter(pc.is_in(ids, value_set=self._of(label)[0]))
        return str(there[0]) if len(there) else None

    def resolve(self, table: GraphTable, label: str, ids: pa.ChunkedArray) -> pa.Array:
        """Record ids of ``ids``, in order; StoreError names the first that is not there."""
        at = self.positions(table, label, ids)  # may look some up
        return self.records(label).take(at)

    def positions(self, table: GraphTable, label: str, ids: pa.ChunkedArray) -> pa.Array:
        """Where among :meth:`records` those of ``ids`` stand; StoreError names the first that is not there."""
        values = ids.combine_chunks()
        at = pc.index_in(values, value_set=self._of(label)[0])
        if at.null_count and not self._fresh:
            self._look_up(label, values)
            at = pc.index_in(values, value_set=self._of(label)[0])
        if at.null_count:
            missing = values.filter(pc.is_null(at))[0]
            raise StoreError(
                f"{title(table)}: no {label} {missing}", hint="load the nodes first, or quarantine the row"
            )
        return at

    def records(self, label: str) -> pa.Array:
        return self._of(label)[1]

    def _of(self, label: str) -> tuple[pa.Array, pa.Array]:
        return self._known.get(label) or (pa.array([], pa.string()), pa.array([], pa.string()))

    def _look_up(self, label: str, ids: pa.Array) -> None:
        if self._fresh:
            return
        unknown = ids.filter(pc.invert(pc.is_in(ids, value_set=self._of(label)[0]))).unique().to_pylist()
        statement = f"SELECT id, @rid.asString() AS record FROM `{label}` WHERE id IN :ids"
        for at in range(0, len(unknown), _PER_LOOKUP):
            rows = self._database.query(statement, {"ids": unknown[at : at + _PER_LOOKUP]}, language="sql")
            if rows:
                self.add(label, pa.array([row["id"] for row in rows], pa.string()), [row["record"] for row in rows])


NodeIds = Callable[[pa.Array], pa.Array]
"""Gives the node ids of records of one class, in order; null for a record of another class."""


def node_ids(database: Database, label: str) -> NodeIds:
    row = database.query(f"SELECT list(id) AS ids, list(@rid.asString()) AS records FROM `{label}`", language="sql")[0]
    ids, known = (pa.array(row[name] or [], pa.string()) for name in ("ids", "records"))
    return lambda records: ids.take(pc.index_in(records, value_set=known))


_PER_PART = 50_000
_FIRST = "#-1:-1"


def nodes(database: Database, label: str, types: Mapping[str, pa.DataType]) -> pa.Table:
    """All nodes of a class, with these columns; absent values are null, absent lists empty."""
    return _whole([pa.table(part) for part in _parts(database, label, types, {})], types)


def relations(
    database: Database, type_: str, ends: tuple[NodeIds, NodeIds], types: Mapping[str, pa.DataType]
) -> pa.Table:
    """All edges of a type between nodes of two classes, with ``start``, ``end`` and the other columns of ``types``."""
    found = []
    for part in _parts(database, type_, types, {"start": "@out.asString()", "end": "@in.asString()"}):
        for name, ids in zip(("start", "end"), ends, strict=True):
            part[name] = ids(part[name])
        between = pc.and_(pc.is_valid(part["start"]), pc.is_valid(part["end"]))
        found.append(pa.table(part).filter(between))
    return _whole(found, types)


def _parts(
    database: Database, name: str, types: Mapping[str, pa.DataType], special: Mapping[str, str]
) -> Iterator[dict[str, pa.Array]]:
    """The columns of a class's or type's records, part by part, in the order of their record ids.

    ``special`` columns are expressions. The aggregate ``list`` leaves out what is null, unless it stands in a list, and
    takes the elements of lists: so a column of lists comes as their elements and sizes.
    """
    columns = []
    for column, type_ in types.items():
        value = special.get(column, f"`{column}`")
        if pa.types.is_list(type_):
            columns.append(f"list({value}) AS `{column}`, list([{value}.size()]) AS `@size {column}`")
        else:
            columns.append(f"list([{value}]) AS `{column}`")
    last, n = _FIRST, _PER_PART
    while n == _PER_PART:
        some = f"SELECT FROM `{name}` WHERE @rid > {last} LIMIT {_PER_PART}"
        text = f"SELECT count(@rid) AS `@n`, max(@rid).asString() AS `@last`, {', '.join(columns)} FROM ({some})"
        part = database.query(text, language="sql")[0]
        last, n = part["@last"], part["@n"]
        if n:
            yield {column: _array(part, column, type_) for column, type_ in types.items()}


def _array(part: Mapping[str, Any], column: str, type_: pa.DataType) -> pa.Array:
    if not pa.types.is_list(type_):
        return pa.array(part[column], type_)
    offsets = np.concatenate([[0], np.cumsum(part[f"@size {column}"], dtype=np.int32)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(part[column] or (), type_.value_type))


def _whole(parts: list[pa.Table], types: Mapping[str, pa.DataType]) -> pa.Table:
    empty = pa.schema(list(types.items())).empty_table()
    return pa.concat_tables([empty, *(part.select(empty.column_names) for part in parts)]).combine_chunks()
