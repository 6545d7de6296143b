"""What turns one graph into another: the rows that go, come and change. Stores apply it with ``Store.apply``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kgdx.errors import StoreError
from kgdx.schema.model import Schema
from kgdx.store.protocol import GraphTable, NodeTable, RelationTable, Row
from kgdx.store.tables import conformed, title


@dataclass(frozen=True, slots=True)
class Delta:
    """The difference between two graphs, as tables.

    Attributes:
        removed: What goes. Of a node the ``id`` is enough, and its edges have to go too; of a relation ``start``,
            ``end`` and the properties that identify it (:attr:`kgdx.schema.model.Relation.identity`). Each row removes
            one edge.
        added: What comes, whole rows.
        changed: Nodes whose properties change, whole rows: a property that a row lacks is removed. Edges stay.

    Example:
        >>> import pyarrow as pa
        >>> Delta(removed=[NodeTable("Gene", pa.table({"id": ["NCBIGene:1", "NCBIGene:2"]}))]).rows
        2
    """

    removed: Sequence[GraphTable] = ()
    added: Sequence[GraphTable] = ()
    changed: Sequence[NodeTable] = ()

    @property
    def rows(self) -> int:
        """How many rows go, come or change."""
        return sum(table.rows.num_rows for table in (*self.removed, *self.added, *self.changed))

    def conformed(self, schema: Schema) -> Delta:
        """The same with the schema's columns and types, removed rows with their identifying columns alone.

        Raises:
            StoreError: A table that does not fit the schema.
        """
        return Delta(
            [_keys(table, schema) for table in self.removed if table.rows.num_rows],
            [_fit(table, schema) for table in self.added if table.rows.num_rows],
            [NodeTable(table.label, conformed(table, schema)) for table in self.changed if table.rows.num_rows],
        )

    def growth(self) -> dict[str, int]:
        """By how much each class and relation type that rows go from or come to grows; negative where it shrinks."""
        found: dict[str, int] = {}
        for tables, sign in ((self.removed, -1), (self.added, 1)):
            for table in tables:
                name = table.label if isinstance(table, NodeTable) else table.type
                found[name] = found.get(name, 0) + sign * table.rows.num_rows
        return found


def relations_of(tables: Sequence[GraphTable]) -> Iterator[RelationTable]:
    """The relation tables among the tables."""
    return (table for table in tables if isinstance(table, RelationTable))


def nodes_of(tables: Sequence[GraphTable]) -> Iterator[NodeTable]:
    """The node tables among the tables."""
    return (table for table in tables if isinstance(table, NodeTable))


def ordered(tables: Sequence[GraphTable]) -> list[GraphTable]:
    """The tables, nodes before the edges that need them."""
    return sorted(tables, key=lambda table: isinstance(table, RelationTable))


def present(row: Row) -> Row:
    """A row without its absent values; an empty list is absent.

    Example:
        >>> present({"id": "OMIM:1", "name": None, "synonyms": []})
        {'id': 'OMIM:1'}
    """
    return {name: value for name, value in row.items() if value is not None and value != []}


def misfit(what: str) -> StoreError:
    """The error for a delta that was not made from the graph it is applied to."""
    return StoreError(f"the change does not fit the graph: {what}", hint="build the graph again with `kgdx build`")


def refuse_other_counts(before: Mapping[str, int], after: Mapping[str, int], delta: Delta) -> None:
    """Compare what a store holds after a delta with what it held before.

    Raises:
        StoreError: A class or relation type has more or fewer rows than it must have.
    """
    for name, growth in delta.growth().items():
        wanted, found = before.get(name, 0) + growth, after.get(name, 0)
        if found != wanted:
            raise misfit(f"there are {found:,} {name} now, not {wanted:,}")


def _fit(table: GraphTable, schema: Schema) -> GraphTable:
    rows = conformed(table, schema)
    if isinstance(table, NodeTable):
        return NodeTable(table.label, rows)
    return RelationTable(table.type, table.start_label, table.end_label, rows)


def _keys(table: GraphTable, schema: Schema) -> GraphTable:
    rows = conformed(table, schema)
    if isinstance(table, NodeTable):
        return NodeTable(table.label, rows.select(["id"]))
    identity = schema.relations[table.type].identity
    kept = [name for name in ("start", "end", *identity) if name in rows.column_names]
    if "source" not in kept:
        raise StoreError(f"{title(table)} has rows to remove without 'source'", hint="nothing was changed")
    return RelationTable(table.type, table.start_label, table.end_label, rows.select(kept))
