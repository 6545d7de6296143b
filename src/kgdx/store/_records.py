"""The embedded engine's record ids by node id, as Arrow columns: a dict of strings would take gigabytes."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from kgdx.errors import StoreError
from kgdx.store._engine import Database
from kgdx.store.protocol import GraphTable
from kgdx.store.tables import title

_PER_LOOKUP = 1_000


class RecordIds:
    """Record ids of the nodes that were loaded; others are looked up when they are first asked for.

    Args:
        database: The open database.
        fresh: Whether it was empty: then nothing is there that was not loaded.
    """

    def __init__(self, database: Database, *, fresh: bool = False) -> None:
        self._database = database
        self._fresh = fresh
        self._known: dict[str, tuple[pa.Array, pa.Array]] = {}

    def add(self, label: str, ids: pa.Array, records: list[str]) -> None:
        """Remember nodes that were made."""
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
        at = self.places(table, label, ids)  # may look some up
        return self.records(label).take(at)

    def places(self, table: GraphTable, label: str, ids: pa.ChunkedArray) -> pa.Array:
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
        """Record ids of the nodes of a class that are known, in the order in which they were made or found."""
        return self._of(label)[1]

    def _of(self, label: str) -> tuple[pa.Array, pa.Array]:
        return self._known.get(label) or (pa.array([], pa.string()), pa.array([], pa.string()))

    def _look_up(self, label: str, ids: pa.Array) -> None:
        """Read the record ids of nodes that are not known yet; those that are not there stay unknown."""
        if self._fresh:
            return
        unknown = ids.filter(pc.invert(pc.is_in(ids, value_set=self._of(label)[0]))).unique().to_pylist()
        statement = f"SELECT id, @rid.asString() AS record FROM `{label}` WHERE id IN :ids"
        for at in range(0, len(unknown), _PER_LOOKUP):
            rows = self._database.query(statement, {"ids": unknown[at : at + _PER_LOOKUP]}, language="sql")
            if rows:
                self.add(label, pa.array([row["id"] for row in rows], pa.string()), [row["record"] for row in rows])


class NodeIds:
    """Node ids of one class by the engine's record ids."""

    def __init__(self, ids: pa.Array, records: pa.Array) -> None:
        self._ids = ids
        self._records = records

    @classmethod
    def read(cls, database: Database, label: str) -> NodeIds:
        """Read them all."""
        row = database.query(f"SELECT list(id) AS ids, list(@rid.asString()) AS records FROM `{label}`", language="sql")
        return cls(pa.array(row[0]["ids"] or [], pa.string()), pa.array(row[0]["records"] or [], pa.string()))

    def of(self, records: pa.Array) -> pa.Array:
        """Node ids of records, in order; null for a record of another class."""
        return self._ids.take(pc.index_in(records, value_set=self._records))
