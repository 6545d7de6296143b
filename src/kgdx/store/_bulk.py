"""The embedded store's bulk load, and the count afterwards that shows whether the disk kept all of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from kgdx.errors import StoreError
from kgdx.schema.model import Schema
from kgdx.store._engine import Batch, Database
from kgdx.store._json import json_rows
from kgdx.store._records import RecordIds
from kgdx.store.protocol import GraphTable, NodeTable, RelationTable
from kgdx.store.tables import columns_of, conformed

_EDGES = 100_000  # edges whose JSON is in memory at once


class _Count(NamedTuple):
    """Something to count: the records of a type, read one by one, or the edges in the lists of a class's nodes.

    The lists are read whole, once for each class: a list holds the edges of every type.
    """

    what: str
    statement: str

    @classmethod
    def records(cls, name: str) -> _Count:
        """Nodes of a class, or edges of a type."""
        return cls(name, f"SELECT count(@rid) AS n FROM `{name}`")

    @classmethod
    def listed(cls, label: str, direction: Literal["out", "in"]) -> _Count:
        """Edges that leave (``out``) or reach (``in``) the nodes of a class."""
        what = f"relations {'from' if direction == 'out' else 'to'} {label}"
        return cls(what, f"SELECT sum({direction}E().size()) AS n FROM `{label}`")

    def of(self, database: Database) -> int:
        """Count it."""
        return int(database.query(self.statement, language="sql")[0]["n"] or 0)


class BulkLoad:
    """One load of many tables.

    The engine writes pages behind the loader's back, without a log where none is asked for, and says nothing when the
    disk refuses them. So :meth:`check`, on the database closed and opened again, counts what is really there.

    Args:
        database: The open database.
        schema: The ontology.
        fresh: Whether the database is empty, and nobody else's.
        log_ahead: Whether the write-ahead log is written: what a database in use needs. ``None``: unless it is fresh.
    """

    def __init__(self, database: Database, schema: Schema, fresh: bool, *, log_ahead: bool | None = None) -> None:
        self._database = database
        self._schema = schema
        self._fresh = fresh
        self._log_ahead = not fresh if log_ahead is None else log_ahead
        self._ids = RecordIds(database, fresh=fresh)
        self._wanted: dict[_Count, int] = {}
        self.loaded: dict[str, int] = {}

    def expect(self, tables: Iterable[GraphTable], sign: int = 1) -> None:
        """Have :meth:`check` look for the rows of the tables too (``sign`` -1: for their absence)."""
        for table in tables:
            self._await(table, sign * table.rows.num_rows)

    def run(self, tables: Iterable[GraphTable]) -> None:
        """Load the tables; StoreError names the table and row that cannot be right."""
        with self._database.batch(log_ahead=self._log_ahead) as batch:
            for table in tables:
                columns_of(table, self._schema)  # raises when the ontology has no such class or relation
                name = table.label if isinstance(table, NodeTable) else table.type
                self._await(table, table.rows.num_rows)
                self.loaded[name] = self.loaded.get(name, 0) + self._load(batch, table)

    def check(self, database: Database) -> None:
        """Count what was loaded, edges in the lists of the nodes at both ends too; StoreError when rows are missing."""
        for count, wanted in self._wanted.items():
            held = count.of(database)
            if held != wanted:
                raise StoreError(
                    f"{database.path} lost rows while loading: {held:,} of {wanted:,} {count.what} are there",
                    hint="see that the disk has space and is sound, then build again",
                )

    def _await(self, table: GraphTable, rows: int) -> None:
        counts = [_Count.records(table.label if isinstance(table, NodeTable) else table.type)]
        if isinstance(table, RelationTable):
            counts += [_Count.listed(table.start_label, "out"), _Count.listed(table.end_label, "in")]
        for count in counts:
            if count not in self._wanted:
                self._wanted[count] = 0 if self._fresh else count.of(self._database)
            self._wanted[count] += rows

    def _load(self, batch: Batch, table: GraphTable) -> int:
        rows = conformed(table, self._schema)
        if isinstance(table, NodeTable):
            keys = rows.column("id").combine_chunks()
            twice = self._ids.repeated(table.label, keys)
            if twice is not None:
                raise StoreError(f"{table.label} {twice} is there twice", hint="merge its rows before loading")
            self._ids.add(table.label, keys, batch.vertices(table.label, json_rows(rows, rows.column_names)))
        elif len(rows):
            self._load_edges(batch, table, rows)
        return len(rows)

    def _load_edges(self, batch: Batch, table: RelationTable, rows: pa.Table) -> None:
        """Load edges in the order of their starts, a part at a time."""
        starts = self._ids.places(table, table.start_label, rows.column("start"))
        ends = self._ids.places(table, table.end_label, rows.column("end"))
        at_start, at_end = self._ids.records(table.start_label), self._ids.records(table.end_label)
        order = np.lexsort((ends.to_numpy(), starts.to_numpy()))
        for part in (pa.array(order[at : at + _EDGES]) for at in range(0, len(order), _EDGES)):
            columns = {"start": at_start.take(starts.take(part)), "end": at_end.take(ends.take(part))}
            properties = json_rows(rows.take(part), rows.column_names[2:])
            batch.edges(table.type, pl.DataFrame(pa.table(columns)).with_columns(properties.alias("properties")))
