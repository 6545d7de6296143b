"""The embedded store's bulk load, and the count afterwards that shows whether the disk kept all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kgdx.errors import StoreError
from kgdx.schema.model import Schema
from kgdx.store._engine import Batch, Database
from kgdx.store._records import RecordIds
from kgdx.store.protocol import GraphTable, NodeTable
from kgdx.store.tables import columns_of, conformed


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
        self._wanted: dict[str, list[int]] = {}
        self.loaded: dict[str, int] = {}

    def expect(self, growth: Mapping[str, int]) -> None:
        """Count labels and types now, so that :meth:`check` finds them grown by so many rows."""
        for name, rows in growth.items():
            self._wanted[name] = [number + rows for number in self._held(self._database, name)]

    def run(self, tables: Iterable[GraphTable]) -> None:
        """Load the tables; StoreError names the table and row that cannot be right."""
        expected = frozenset(self._wanted)
        with self._database.batch(log_ahead=self._log_ahead) as batch:
            for table in tables:
                columns_of(table, self._schema)  # raises when the ontology has no such class or relation
                name = table.label if isinstance(table, NodeTable) else table.type
                if name not in self._wanted:
                    self._wanted[name] = [0] * 3 if self._fresh else self._held(self._database, name)
                rows = self._load(batch, table)
                self.loaded[name] = self.loaded.get(name, 0) + rows
                if name not in expected:
                    self._wanted[name] = [number + rows for number in self._wanted[name]]

    def check(self, database: Database) -> None:
        """Count every label and type, edges from both ends too; StoreError when rows are missing."""
        for name, wanted in self._wanted.items():
            held = self._held(database, name)
            if any(now != then for now, then in zip(held, wanted, strict=False)):
                raise StoreError(
                    f"{database.path} lost rows while loading: {min(held):,} of {wanted[0]:,} {name} are there",
                    hint="see that the disk has space and is sound, then build again",
                )

    def _held(self, database: Database, name: str) -> list[int]:
        """Records of a label or type, read one by one; for edges also what the nodes at both ends list."""
        records = _number(database, f"SELECT count(@rid) AS n FROM `{name}`")
        if name in self._schema.nodes:
            return [records]
        ends = self._schema.relations[name].ends
        starts = {start for start, _ in ends}
        out = sum(_number(database, f"SELECT sum(outE('{name}').size()) AS n FROM `{label}`") for label in starts)
        finish = {end for _, end in ends}
        in_ = sum(_number(database, f"SELECT sum(inE('{name}').size()) AS n FROM `{label}`") for label in finish)
        return [records, out, in_]

    def _load(self, batch: Batch, table: GraphTable) -> int:
        from kgdx.store._json import json_rows  # polars: only a load needs it

        rows = conformed(table, self._schema)
        if isinstance(table, NodeTable):
            keys = rows.column("id").combine_chunks()
            twice = self._ids.repeated(table.label, keys)
            if twice is not None:
                raise StoreError(f"{table.label} {twice} is there twice", hint="merge its rows before loading")
            self._ids.add(table.label, keys, batch.vertices(table.label, json_rows(rows, rows.column_names)))
        elif len(rows):
            starts = self._ids.resolve(table, table.start_label, rows.column("start"))
            ends = self._ids.resolve(table, table.end_label, rows.column("end"))
            properties = json_rows(rows, rows.column_names[2:])
            batch.edges(table.type, starts.to_pylist(), ends.to_pylist(), properties)
        return len(rows)


def _number(database: Database, statement: str) -> int:
    return int(database.query(statement, language="sql")[0]["n"] or 0)
