"""What users saved on a server, which a copy that replaces the graph there takes over.

It is read by plain Cypher, which any version of the ontology answers. Before anything is removed it is kept aside in
nodes of a label of its own, so that a copy that is killed loses none of it. What the new graph has no place for (a
candidate of a run that is no disease any more) stays there, and a later copy takes it in where its graph has the place.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kgdx.errors import StoreError
from kgdx.graph.protocol import USER, GraphTable, NodeTable, RelationTable
from kgdx.graph.tables import arrow_schema, conformed
from kgdx.graph.templates import statement
from kgdx.schema import Schema
from kgdx.schema.model import PREDICTED, NodeClass

if TYPE_CHECKING:
    import neo4j

    from kgdx.graph.neo4j.neo4j_store import Neo4jStore

End = tuple[str | None, str | None]
"""Class and id of a node."""

_PER_NODE = 1_000  # rows of what is kept aside


@dataclass(frozen=True, slots=True)
class SavedRow:
    """A node or an edge; of a node the ends are empty."""

    type: str | None
    properties: dict[str, Any]
    start: End = (None, None)
    end: End = (None, None)

    def __str__(self) -> str:
        edge = f"{self.start[0]} {self.start[1]} {self.type} {self.end[0]} {self.end[1]}"
        return f"{self.type} {self.properties.get('id')}" if self.node else edge

    @property
    def node(self) -> End | None:
        return (self.type, self.properties.get("id")) if self.start == self.end == (None, None) else None

    def key(self, schema: Schema) -> tuple[Any, ...] | None:
        """What tells it from others; ``None`` where the ontology has no place for it."""
        known = (schema.nodes if self.node else schema.relations).get(self.type or "")
        if known is None or self.properties.keys() - {"id", *known.properties}:
            return None
        if isinstance(known, NodeClass):
            return self.node
        if (self.start[0], self.end[0]) not in known.ends:
            return None
        return self.type, self.start, self.end, *(self.properties.get(name) for name in known.identity)


def saved_rows(store: Neo4jStore, *, predictions: bool = False) -> list[SavedRow]:
    """Return what users saved on a server, with what an interrupted copy keeps aside there."""

    def read(tx: neo4j.ManagedTransaction) -> list[SavedRow]:
        found = [SavedRow(*record.values()) for record in tx.run(statement("saved_nodes"), source=USER)]
        for record in tx.run(statement("saved_relations"), source=USER):
            type_, properties, *ends = record.values()
            found.append(SavedRow(type_, properties, tuple(ends[:2]), tuple(ends[2:])))
        for record in tx.run(statement("kept_aside")):
            for type_, properties, start, end in json.loads(record["document"]):
                found.append(SavedRow(type_, properties, tuple(start), tuple(end)))
        return [row for row in found if predictions or row.type != PREDICTED]

    return store.reading(read)


def keep_aside(store: Neo4jStore, rows: Sequence[SavedRow]) -> None:
    parts = [rows[at : at + _PER_NODE] for at in range(0, len(rows), _PER_NODE)]
    documents = [json.dumps([(row.type, row.properties, row.start, row.end) for row in part]) for part in parts]
    store.alone("keep_aside", documents=documents)


def saved_tables(rows: Iterable[SavedRow], schema: Schema) -> tuple[list[GraphTable], list[SavedRow]]:
    """Return rows as tables, each node and edge once, and those for which the ontology has no place."""
    groups: defaultdict[tuple[str, ...], dict[Any, dict[str, Any]]] = defaultdict(dict)
    left = []
    for row in rows:
        if (key := row.key(schema)) is None:
            left.append(row)
        elif row.node:
            groups[(str(row.type),)].setdefault(key, row.properties)
        else:
            ends = {"start": row.start[1], "end": row.end[1]}
            groups[str(row.type), str(row.start[0]), str(row.end[0])].setdefault(key, row.properties | ends)
    return [_table(names, list(found.values()), schema) for names, found in groups.items()], left


def _table(names: tuple[str, ...], rows: list[dict[str, Any]], schema: Schema) -> GraphTable:
    described = schema.nodes[names[0]] if len(names) == 1 else schema.relations[names[0]]
    try:
        found = pa.Table.from_pylist(rows, pa.schema(field.with_nullable(True) for field in arrow_schema(described)))
    except pa.ArrowException as error:
        why = " ".join(str(error).split())[:100]
        raise StoreError(f"what users saved there cannot be read as {names[0]} ({why})") from error
    found = named_runs(found) if names[0] == "Diagnosis" else found
    table = NodeTable(names[0], found) if len(names) == 1 else RelationTable(names[0], names[1], names[2], found)
    return replace(table, rows=conformed(table, schema))


def named_runs(rows: pa.Table) -> pa.Table:
    """Give runs a name where they have none, as those of ontology 1."""
    name = pc.coalesce(rows.column("name"), pc.binary_join_element_wise("Diagnosis of", rows.column("created"), " "))
    return rows.set_column(rows.schema.get_field_index("name"), "name", name)


def additions(
    rows: Sequence[SavedRow], tables: Sequence[GraphTable], schema: Schema
) -> tuple[list[GraphTable], list[SavedRow]]:
    """Return what a graph lacks of what users saved elsewhere, as tables; and the rows that it has no place for.

    A case or run that the graph has counts as the graph has it, with all its edges.
    """
    saved = {row.node for row in rows if row.node}
    ends = {end for row in rows if not row.node for end in (row.start, row.end)}
    labels = {label for label, _ in saved | ends}
    there: set[End] = set()
    for table in tables:
        if isinstance(table, NodeTable) and table.label in labels:
            there.update((table.label, id_) for id_ in table.rows.column("id").to_pylist())
    new = saved - there
    known, left, wanted = _of_users(tables, schema), [], []
    for row in rows:
        if row.node:
            wanted += [row] if row.node in new else []
        elif {row.start, row.end} & new or not {row.start, row.end} & saved:
            if not {row.start, row.end} <= there | new:
                left.append(row)
            elif row.key(schema) not in known:
                wanted.append(row)
    found, without_place = saved_tables(wanted, schema)
    return found, [*left, *without_place]


def _of_users(tables: Sequence[GraphTable], schema: Schema) -> set[tuple[Any, ...] | None]:
    found = set()
    for table in tables:
        if isinstance(table, RelationTable):
            names = ["start", "end", *schema.relations[table.type].properties]
            rows = table.rows.filter(pc.equal(table.rows.column("source"), USER))
            for row in rows.select([name for name in names if name in rows.column_names]).to_pylist():
                ends = (table.start_label, row.pop("start")), (table.end_label, row.pop("end"))
                found.add(SavedRow(table.type, row, *ends).key(schema))
    return found
