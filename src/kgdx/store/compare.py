"""A graph on a Neo4j server ↔ the tables it was made from: what is small is compared whole, what is large by samples.

Every row of a large graph takes several minutes to come back over Bolt. So of a relation with more than
:data:`WHOLE_ROWS` edges between two classes are compared the number of edges of each source, the number of values that
their properties have, and the content of all edges of some start nodes, drawn at random. Nodes are compared whole.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgdx.schema import load_schema
from kgdx.store.fingerprint import EXCLUDED, part_digests
from kgdx.store.protocol import GraphTable, NodeTable, RelationTable
from kgdx.store.tables import columns_of, conformed, title

if TYPE_CHECKING:
    from kgdx.store.neo4j import Neo4jStore

WHOLE_ROWS = 100_000
"""Relations with more edges than this, between two classes, are compared by samples."""

SAMPLE_ROWS = 20_000
"""About how many edges of such a relation are compared one by one."""

_SEED = 20_031  # the same sample each time, so that a difference shows again


def difference(tables: Iterable[GraphTable], target: Neo4jStore, *, whole_rows: int = WHOLE_ROWS) -> str | None:
    """Return what differs between tables and the server's graph; ``None`` when nothing that was compared does.

    Args:
        tables: The graph, one table for each class, and for each relation between two classes.
        target: The graph on the server.
        whole_rows: Up to how many edges a relation is compared whole.
    """
    schema = load_schema()
    for table in tables:
        columns = [name for name in columns_of(table, schema) if name not in ("id", "start", "end")]
        if isinstance(table, NodeTable):
            if table.label in EXCLUDED:
                continue
            same = _same(table, NodeTable(table.label, target.export_nodes(table.label, columns)))
        elif table.rows.num_rows <= whole_rows:
            ends = table.start_label, table.end_label
            same = _same(table, replace(table, rows=target.export_relations(table.type, *ends, columns)))
        else:
            same = _alike(replace(table, rows=conformed(table, schema)), target, columns)
        if not same:
            return title(table)
    return None


def sampled(tables: Iterable[GraphTable]) -> bool:
    """Whether there are relations among the tables that are large enough to be compared by samples."""
    return any(isinstance(table, RelationTable) and table.rows.num_rows > WHOLE_ROWS for table in tables)


def _same(mine: GraphTable, theirs: GraphTable) -> bool:
    return part_digests(mine) == part_digests(theirs)


def _alike(table: RelationTable, target: Neo4jStore, columns: Sequence[str]) -> bool:
    found = {row["source"]: (row["n"], row["present"]) for row in target.summarise(table, columns)}
    if found != _summary(table.rows):
        return False
    starts = _drawn(table.rows.column("start"))
    mine = table.rows.filter(pc.is_in(table.rows.column("start"), value_set=pa.array(starts, pa.string())))
    theirs = target.export_relations_of(table, starts, columns)
    return _same(replace(table, rows=mine), replace(table, rows=theirs))


def _summary(rows: pa.Table) -> dict[str, tuple[int, int]]:
    """By source: the number of rows, and of values that their properties have; an empty list is none."""
    present = np.zeros(rows.num_rows, dtype=np.int64)
    for name in rows.column_names[2:]:
        column = rows.column(name)
        there = pc.is_valid(column)
        if pa.types.is_list(column.type):
            there = pc.greater(pc.fill_null(pc.list_value_length(column), 0), 0)
        present += there.to_numpy()
    grouped = pa.table({"source": rows.column("source"), "present": present}).group_by("source")
    totals = grouped.aggregate([("present", "count"), ("present", "sum")]).to_pylist()
    return {row["source"]: (row["present_count"], row["present_sum"]) for row in totals}


def _drawn(starts: pa.ChunkedArray) -> list[str]:
    """Some start nodes, drawn at random, that have about :data:`SAMPLE_ROWS` edges together."""
    degrees = sorted((row["values"], row["counts"]) for row in pc.value_counts(starts.combine_chunks()).to_pylist())
    random.Random(_SEED).shuffle(degrees)
    drawn: list[str] = []
    edges = 0
    for id_, degree in degrees:
        if not drawn or edges + degree <= SAMPLE_ROWS:
            drawn.append(id_)
            edges += degree
    return drawn
