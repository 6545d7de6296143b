"""A graph on a Neo4j server ↔ the tables it was made from: what is small is compared whole, what is large by samples.

Every row of a large graph takes several minutes to come back over Bolt. So of a relation with more than
:data:`WHOLE_ROWS` edges between two classes are compared the number of edges of each source, the number of values that
their properties have, and the content of all edges of some start nodes, drawn at random. Nodes are compared whole.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgdx.schema import load_schema
from kgdx.store.fingerprint import Digest, Part, part_digests
from kgdx.store.protocol import GraphTable, NodeTable, RelationTable
from kgdx.store.tables import BOOKKEEPING, columns_of, conformed, title

if TYPE_CHECKING:
    from kgdx.store.neo4j import Neo4jStore

WHOLE_ROWS = 100_000
"""Relations with more edges than this, between two classes, are compared by samples."""

SAMPLE_ROWS = 20_000
"""About how many edges of such a relation are compared one by one."""

_SEED = 20_031  # the same sample each time, so that a difference shows again


def difference(
    tables: Sequence[GraphTable],
    target: Neo4jStore,
    *,
    known: Mapping[Part, Digest] | None = None,
    whole_rows: int = WHOLE_ROWS,
) -> str | None:
    """Return what differs between tables and the server's graph; ``None`` when nothing that was compared does.

    Args:
        tables: The graph, one table for each class, and for each relation between two classes.
        target: The graph on the server.
        known: The tables' digests, where the caller has them.
        whole_rows: Up to how many edges a relation is compared whole.
    """
    digests: defaultdict[str, dict[Part, Digest]] = defaultdict(dict)
    for part, digest in (known or {}).items():
        digests[part[0]][part] = digest

    def differs(table: GraphTable) -> bool:
        if isinstance(table, RelationTable) and table.rows.num_rows > whole_rows:
            return not _alike(table, target)
        return part_digests(_there(table, target)) != (digests[title(table)] or part_digests(table))

    compared = [table for table in tables if title(table) not in BOOKKEEPING]
    with ThreadPoolExecutor(2) as pool:  # the server reads one table while another one is digested
        found = zip(compared, pool.map(differs, compared), strict=True)
        return next((title(table) for table, other in found if other), None)


def sampled(tables: Iterable[GraphTable]) -> bool:
    """Whether there are relations among the tables that are large enough to be compared by samples."""
    return any(isinstance(table, RelationTable) and table.rows.num_rows > WHOLE_ROWS for table in tables)


def _there(table: GraphTable, target: Neo4jStore) -> GraphTable:
    """The same class or relation as the server has it."""
    columns = _properties(table)
    if isinstance(table, NodeTable):
        return replace(table, rows=target.export_nodes(table.label, columns))
    ends = table.start_label, table.end_label
    return replace(table, rows=target.export_relations(table.type, *ends, columns))


def _properties(table: GraphTable) -> list[str]:
    return [name for name in columns_of(table, load_schema()) if name not in ("id", "start", "end")]


def _alike(stated: RelationTable, target: Neo4jStore) -> bool:
    columns = _properties(stated)
    table = replace(stated, rows=conformed(stated, load_schema()))
    found = {row["source"]: (row["n"], row["present"]) for row in target.summarise(table, columns)}
    if found != _summary(table.rows):
        return False
    starts = _drawn(table.rows.column("start"))
    mine = table.rows.filter(pc.is_in(table.rows.column("start"), value_set=pa.array(starts, pa.string())))
    theirs = target.export_relations_of(table, starts, columns)
    return part_digests(replace(table, rows=mine)) == part_digests(replace(table, rows=theirs))


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
