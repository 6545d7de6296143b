"""A delta on its way into the embedded store: what goes is found by its ends or its source, and removed by record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kgdx.schema.model import Schema
from kgdx.store._engine import Database
from kgdx.store._records import RecordIds
from kgdx.store.delta import Delta, misfit, nodes_of, present, relations_of
from kgdx.store.protocol import NodeTable, RelationTable, Row
from kgdx.store.statements import statement
from kgdx.store.tables import title

_PER_STATEMENT = 500
_PER_TRANSACTION = 5_000
_FEW = 20_000  # so few edges at the ends are read without a look at how many a source has


def remove(database: Database, delta: Delta, schema: Schema) -> None:
    """Remove what a delta (conformed) removes, edges first.

    Raises:
        StoreError: A row that is not there, or a node that keeps an edge.
    """
    ids = RecordIds(database)
    for relation in relations_of(delta.removed):
        _delete(database, _edges(database, relation, ids, schema))
    for node in nodes_of(delta.removed):
        _delete(database, _lonely(database, node))


def change(database: Database, delta: Delta, schema: Schema) -> None:
    """Give the nodes that a delta (conformed) changes their new properties.

    Raises:
        StoreError: One of them is not there.
    """
    for node in delta.changed:
        text = statement("replace_nodes", schema, label=node.label)
        for at in range(0, node.rows.num_rows, _PER_TRANSACTION):
            rows = [present(row) for row in node.rows.slice(at, _PER_TRANSACTION).to_pylist()]
            with database.transaction():
                if database.command(text, {"rows": rows})[0]["n"] != len(rows):
                    raise misfit(f"not every {node.label} whose properties change is there")


def _edges(database: Database, relation: RelationTable, ids: RecordIds, schema: Schema) -> list[str]:
    """Record ids of the edges that the rows name."""
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
    """Record ids of nodes that no edge touches."""
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
    """Values as something to compare by; an empty list is absent."""
    return tuple(tuple(value) or None if isinstance(value, list) else value for value in values)


def _parts(values: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (values[at : at + size] for at in range(0, len(values), size))


def _number(database: Database, text: str, parameters: dict[str, Any] | None = None) -> int:
    return int(database.query(text, parameters, language="sql")[0]["n"] or 0)
