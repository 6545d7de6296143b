"""Rows on their way into the embedded store: the bulk load, the count that proves it, and deltas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from kgdx.errors import StoreError
from kgdx.graph.arcade.arcade_engine import Batch, Database
from kgdx.graph.arcade.arcade_records import RecordIds
from kgdx.graph.protocol import Delta, GraphTable, NodeTable, RelationTable, Row
from kgdx.graph.tables import columns_of, conformed, misfit, present, title
from kgdx.graph.templates import statement
from kgdx.schema.model import Schema

_EDGES = 100_000  # edges whose JSON is in memory at once


class _Count(NamedTuple):
    """Something to count: the records of a type, read one by one, or the edges in the lists of a class's nodes.

    The lists are read whole, once for each class: a list holds the edges of every type.
    """

    what: str
    statement: str

    @classmethod
    def records(cls, name: str) -> _Count:
        return cls(name, f"SELECT count(@rid) AS n FROM `{name}`")

    @classmethod
    def listed(cls, label: str, direction: Literal["out", "in"]) -> _Count:
        """Edges that leave (``out``) or reach (``in``) the nodes of a class."""
        what = f"relations {'from' if direction == 'out' else 'to'} {label}"
        return cls(what, f"SELECT sum({direction}E().size()) AS n FROM `{label}`")

    def of(self, database: Database) -> int:
        return int(database.query(self.statement, language="sql")[0]["n"] or 0)


class BulkLoad:
    """One load of many tables.

    The engine writes pages behind the loader's back, without a log where none is asked for, and says nothing when the
    disk refuses them. So :meth:`check`, on the database closed and opened again, counts what is really there.

    Args:
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
                name = table.name
                self._await(table, table.rows.num_rows)
                self.loaded[name] = self.loaded.get(name, 0) + self._load(batch, table)

    def check(self, database: Database) -> None:
        """Count what was loaded, edges in the lists of the nodes at both ends too; StoreError when rows are missing."""
        for count, wanted in self._wanted.items():
            there = count.of(database)
            if there != wanted:
                raise StoreError(
                    f"{database.path} lost rows while loading: {there:,} of {wanted:,} {count.what} are there",
                    hint="see that the disk has space and is sound, then build again",
                )

    def _await(self, table: GraphTable, rows: int) -> None:
        counts = [_Count.records(table.name)]
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
        starts = self._ids.positions(table, table.start_label, rows.column("start"))
        ends = self._ids.positions(table, table.end_label, rows.column("end"))
        at_start, at_end = self._ids.records(table.start_label), self._ids.records(table.end_label)
        order = np.lexsort((ends.to_numpy(), starts.to_numpy()))
        for part in (pa.array(order[at : at + _EDGES]) for at in range(0, len(order), _EDGES)):
            columns = {"start": at_start.take(starts.take(part)), "end": at_end.take(ends.take(part))}
            properties = json_rows(rows.take(part), rows.column_names[2:])
            batch.edges(table.type, pl.DataFrame(pa.table(columns)).with_columns(properties.alias("properties")))


_PER_STATEMENT = 500
_PER_TRANSACTION = 5_000
_FEW = 20_000  # so few edges at the ends are read without a look at how many a source has


def remove(database: Database, delta: Delta, schema: Schema) -> None:
    """Remove what a delta (conformed) removes, edges first."""
    ids = RecordIds(database)
    for relation in (table for table in delta.removed if isinstance(table, RelationTable)):
        _delete(database, _edges(database, relation, ids, schema))
    for node in (table for table in delta.removed if isinstance(table, NodeTable)):
        _delete(database, _lonely(database, node))


def change(database: Database, delta: Delta, schema: Schema) -> None:
    """Give the nodes that a delta (conformed) changes their new properties."""
    for node in delta.changed:
        text = statement("replace_nodes", schema, label=node.label)
        for at in range(0, node.rows.num_rows, _PER_TRANSACTION):
            rows = [present(row) for row in node.rows.slice(at, _PER_TRANSACTION).to_pylist()]
            with database.transaction():
                if database.command(text, {"rows": rows})[0]["n"] != len(rows):
                    raise misfit(f"not every {node.label} whose properties change is there")


def _edges(database: Database, relation: RelationTable, ids: RecordIds, schema: Schema) -> list[str]:
    names = [name for name in schema.relations[relation.type].identity if name in relation.rows.column_names]
    starts = ids.resolve(relation, relation.start_label, relation.rows.column("start")).to_pylist()
    ends = ids.resolve(relation, relation.end_label, relation.rows.column("end")).to_pylist()
    identities = zip(*(relation.rows.column(name).to_pylist() for name in names), strict=True)
    wanted = Counter(zip(starts, ends, map(_key, identities), strict=True))
    columns = ", ".join(["@rid.asString() AS `@r`", "@out.asString() AS `@o`", "@in.asString() AS `@i`", *names])
    found = []
    for row in _candidates(database, relation, (starts, ends), columns):
        key = (row["@o"], row["@i"], _key(row.get(name) for name in names))
        if wanted[key]:
            wanted[key] -= 1
            found.append(row["@r"])
    if len(found) != relation.rows.num_rows:
        raise misfit(f"{relation.rows.num_rows - len(found):,} {title(relation)} that should go are not there")
    return found


def _candidates(
    database: Database, relation: RelationTable, ends: tuple[Sequence[str], Sequence[str]], columns: str
) -> Iterator[Row]:
    """Edges among which are those that go: all of their sources, or all at one of their ends; whatever is fewest."""
    roads: list[tuple[int, list[str]]] = []
    for records, function in zip(ends, ("outE", "inE"), strict=True):
        edges = f"{function}('{relation.type}')"
        nodes = [f"[{', '.join(part)}]" for part in _parts(sorted(set(records)), _PER_STATEMENT)]
        degree = sum(_number(database, f"SELECT sum({edges}.size()) AS n FROM {part}") for part in nodes)
        roads.append((degree, [f"SELECT {columns} FROM (SELECT expand({edges}) FROM {part})" for part in nodes]))
    sources = {"sources": relation.rows.column("source").unique().to_pylist()}
    if min(number for number, _ in roads) > _FEW:
        of_sources = f"FROM `{relation.type}` WHERE source IN :sources"
        number = _number(database, f"SELECT count(@rid) AS n {of_sources}", sources)
        roads.append((number, [f"SELECT {columns} {of_sources}"]))
    for statement_ in min(roads)[1]:
        yield from database.query(statement_, sources, language="sql")


def _lonely(database: Database, node: NodeTable) -> list[str]:
    found = []
    text = f"SELECT id, @rid.asString() AS record, bothE().size() AS edges FROM `{node.label}` WHERE id IN :ids"
    for ids in _parts(node.rows.column("id").to_pylist(), _PER_STATEMENT):
        rows = database.query(text, {"ids": ids}, language="sql")
        if len(rows) != len(ids):
            raise misfit(f"{len(ids) - len(rows):,} {node.label} that should go are not there")
        for row in rows:
            if row["edges"]:
                raise misfit(f"{node.label} {row['id']} should go and has {row['edges']:,} edges that stay")
            found.append(row["record"])
    return found


def _delete(database: Database, records: Sequence[str]) -> None:
    for part in _parts(records, _PER_TRANSACTION):
        with database.transaction():
            for some in _parts(part, _PER_STATEMENT):
                database.command(f"DELETE FROM [{', '.join(some)}]", language="sql")


def _key(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(tuple(value) or None if isinstance(value, list) else value for value in values)


def _parts(values: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (values[at : at + size] for at in range(0, len(values), size))


def _number(database: Database, text: str, parameters: dict[str, Any] | None = None) -> int:
    return int(database.query(text, parameters, language="sql")[0]["n"] or 0)


def json_rows(rows: pa.Table, columns: Sequence[str]) -> pl.Series:
    """Return each row's present values as a JSON object."""
    if not columns:
        return pl.repeat("{}", rows.num_rows, eager=True)
    frame = pl.DataFrame(pl.from_arrow(rows.select(list(dict.fromkeys(columns)))))
    members = frame.select(_member(name, frame.schema[name]) for name in columns)
    joined = pl.concat_str(members.columns, separator=",", ignore_nulls=True)
    return members.select(("{" + joined + "}").alias("json"))["json"]


def _member(name: str, dtype: pl.DataType) -> pl.Expr:
    text = pl.struct(name).struct.json_encode().str.strip_prefix("{").str.strip_suffix("}")
    present = pl.col(name).is_not_null()
    if isinstance(dtype, pl.List):
        present &= pl.col(name).list.len() > 0
    return pl.when(present).then(text).alias(name)
