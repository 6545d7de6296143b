"""The embedded store's bulk load, and the count afterwards that shows whether the disk kept all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kgdx.errors import StoreError
from kgdx.schema.model import Schema
from kgdx.store._engine import Batch, Database
from kgdx.store.protocol import GraphTable, NodeTable
from kgdx.store.tables import columns_of, conformed, title


class RecordIds:
    """The engine's record ids by node id, read from the store once per class and kept up to date while loading."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, dict[str, str]] = {}

    def of(self, label: str) -> dict[str, str]:
        """Record ids of a class's nodes."""
        if label not in self._known:
            rows = self._database.query(f"SELECT id, @rid AS rid FROM `{label}`", language="sql")
            self._known[label] = {row["id"]: row["rid"].text for row in rows}
        return self._known[label]

    def by_record(self, label: str) -> dict[str, str]:
        """The same, the other way round."""
        return {record: id_ for id_, record in self.of(label).items()}

    def resolve(self, table: GraphTable, label: str, ids: Sequence[str]) -> list[str]:
        """Record ids of an edge table's ends; StoreError names the first that is not there."""
        known = self.of(label)
        try:
            return [known[id_] for id_ in ids]
        except KeyError as error:
            raise StoreError(
                f"{title(table)}: no {label} {error.args[0]}", hint="load the nodes first, or quarantine the row"
            ) from None


class BulkLoad:
    """One load of many tables; ``fresh`` says that the database is empty and nobody else's.

    The engine writes pages behind the loader's back, without a log when the database is fresh, and says nothing when
    the disk refuses them. So :meth:`check`, on the database closed and opened again, counts what is really there.
    """

    def __init__(self, database: Database, schema: Schema, fresh: bool) -> None:
        self._database = database
        self._schema = schema
        self._fresh = fresh
        self._ids = RecordIds(database)
        self._before: dict[str, tuple[int, ...]] = {}
        self.loaded: dict[str, int] = {}

    def run(self, tables: Iterable[GraphTable]) -> None:
        """Load the tables; StoreError names the table and row that cannot be right."""
        with self._database.batch(log_ahead=not self._fresh) as batch:
            for table in tables:
                columns_of(table, self._schema)  # raises when the ontology has no such class or relation
                name = table.label if isinstance(table, NodeTable) else table.type
                if name not in self._before:
                    self._before[name] = () if self._fresh else self._held(self._database, name)
                self.loaded[name] = self.loaded.get(name, 0) + self._load(batch, table)

    def check(self, database: Database) -> None:
        """Count every loaded label and type, edges from both ends too; StoreError when rows are missing."""
        for name, rows in self.loaded.items():
            held = self._held(database, name)
            before = self._before[name] or (0,) * len(held)
            if any(now != then + rows for now, then in zip(held, before, strict=True)):
                raise StoreError(
                    f"{database.path} lost rows while loading: {min(held):,} of {before[0] + rows:,} {name} are there",
                    hint="see that the disk has space and is sound, then build again",
                )

    def _held(self, database: Database, name: str) -> tuple[int, ...]:
        """Records of a label or type, read one by one; for edges also what the nodes at both ends list."""
        records = _number(database, f"SELECT count(@rid) AS n FROM `{name}`")
        if name in self._schema.nodes:
            return (records,)
        ends = self._schema.relations[name].ends
        starts = {start for start, _ in ends}
        out = sum(_number(database, f"SELECT sum(outE('{name}').size()) AS n FROM `{label}`") for label in starts)
        finish = {end for _, end in ends}
        in_ = sum(_number(database, f"SELECT sum(inE('{name}').size()) AS n FROM `{label}`") for label in finish)
        return (records, out, in_)

    def _load(self, batch: Batch, table: GraphTable) -> int:
        from kgdx.store._json import json_rows  # polars: only a load needs it

        rows = conformed(table, self._schema)
        if isinstance(table, NodeTable):
            keys = rows.column("id").to_pylist()
            known = self._ids.of(table.label)
            twice = _repeated(keys, known)
            if twice is not None:
                raise StoreError(f"{table.label} {twice} is there twice", hint="merge its rows before loading")
            made = batch.vertices(table.label, json_rows(rows, rows.column_names))
            known.update(zip(keys, made, strict=True))
        elif len(rows):
            starts = self._ids.resolve(table, table.start_label, rows.column("start").to_pylist())
            ends = self._ids.resolve(table, table.end_label, rows.column("end").to_pylist())
            batch.edges(table.type, starts, ends, json_rows(rows, rows.column_names[2:]))
        return len(rows)


def _repeated(keys: Sequence[str], known: Mapping[str, str]) -> str | None:
    """A key that is known already or comes twice; ``None`` when there is none."""
    seen: set[str] = set()
    for key in keys:
        if key in known or key in seen:
            return key
        seen.add(key)
    return None


def _number(database: Database, statement: str) -> int:
    return int(database.query(statement, language="sql")[0]["n"] or 0)
