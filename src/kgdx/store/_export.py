"""The embedded store's tables → Arrow, some tens of thousands of rows at a time and column by column.

The engine makes one value of each column of such a part: a row each would be a dict in Python each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgdx.store._engine import Database
from kgdx.store._records import NodeIds

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
            part[name] = ids.of(part[name])
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
