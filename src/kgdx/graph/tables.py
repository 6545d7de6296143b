"""Arrow tables in the one form that stores and fingerprint share: the schema's columns with the schema's types.

Absent is null, whatever the source said: a not-a-number is null, and an empty list is absent like a null.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from kgdx.errors import StoreError
from kgdx.graph.protocol import Closing, Delta, GraphTable, NodeTable, RelationTable, Row, Store
from kgdx.schema import fits, kin, load_schema
from kgdx.schema.model import NodeClass, PropertyType, Relation, Schema

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

BOOKKEEPING = frozenset({"Build"})
"""Node classes that describe a build, not what is known: they are no part of a graph's content, copies and counts."""


class Titled(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def ends(self) -> tuple[str, str] | None: ...


def title(table: Titled) -> str:
    """How messages name a table: of a store, of a build or of a source."""
    return table.name if table.ends is None else f"{table.ends[0]}-{table.name}->{table.ends[1]}"


def told(tables: Iterable[GraphTable], progress: Callable[[str], None]) -> Iterator[GraphTable]:
    for table in tables:
        progress(f"Writing {table.rows.num_rows} {title(table)}")
        yield table


def merged(tables: Iterable[GraphTable]) -> list[GraphTable]:
    """One table for each class, and for each relation between two classes, of tables that come in several parts."""
    import pyarrow as pa

    parts: defaultdict[str, list[GraphTable]] = defaultdict(list)
    for table in tables:
        parts[title(table)].append(table)
    return [
        replace(same[0], rows=pa.concat_tables([part.rows for part in same], promote_options="default"))
        for same in parts.values()
    ]


def columns_of(table: GraphTable, schema: Schema) -> dict[str, pa.DataType]:
    """The columns a table may have, in the schema's order, keys first."""
    node, relation = schema.nodes.get(table.name), schema.relations.get(table.name)
    found = node if table.ends is None else relation if relation and table.ends in relation.ends else None
    if found is None:
        what = "class" if table.ends is None else "relation"
        raise StoreError(f"the ontology has no {what} {title(table)}", hint="`kgdx schema` shows what it has")
    return {field.name: field.type for field in arrow_schema(found)}


def wanted_columns(table: GraphTable, columns: Sequence[str], schema: Schema) -> dict[str, pa.DataType]:
    """The keys of a table and some of its columns, each once, with their types."""
    types = columns_of(table, schema)
    for name in columns:
        if name not in types:
            raise StoreError(
                f"{title(table)} has no property {name!r} in the ontology", hint="`kgdx schema` lists them"
            )
    return {name: types[name] for name in dict.fromkeys((*_keys_of(table), *columns))}


def _keys_of(table: GraphTable) -> tuple[str, ...]:
    return ("id",) if table.ends is None else ("start", "end")


def whole(
    store: Store, schema: Schema, wanted: Callable[[str, tuple[str, str] | None], bool] = lambda _name, _ends: True
) -> Iterator[GraphTable]:
    """The store's whole graph but the Build node, as tables with every property of the schema.

    ``wanted`` says which node classes, and which relation types between two classes, are exported.
    """
    counts = store.counts()
    for label, node in schema.nodes.items():
        if label in counts and label not in BOOKKEEPING and wanted(label, None):
            yield NodeTable(label, store.export_nodes(label, list(node.properties)))
    for type_, relation in schema.relations.items():
        if type_ in counts:
            for start, end in filter(partial(wanted, type_), relation.ends):
                rows = store.export_relations(type_, start, end, list(relation.properties))
                if rows.num_rows:
                    yield RelationTable(type_, start, end, rows)


def conformed(table: GraphTable, schema: Schema) -> pa.Table:
    """The table's rows with the schema's column order and types; columns that it lacks stay out."""
    import pyarrow as pa
    import pyarrow.compute as pc  # 50 ms that only a load spends

    wanted_columns(table, table.rows.column_names, schema)
    columns = {}
    for name, type_ in columns_of(table, schema).items():
        if name not in table.rows.column_names:
            continue
        try:
            column = table.rows.column(name).combine_chunks().cast(type_)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            reason = " ".join(str(error).split())
            raise StoreError(f"{title(table)}: property {name!r} is not of type {type_} ({reason})") from error
        if pa.types.is_floating(type_):
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, type_), column)
        columns[name] = column
    for key in _keys_of(table):
        if key not in columns or columns[key].null_count:
            raise StoreError(f"{title(table)} has rows without {key!r}", hint="nothing was loaded")
    return pa.table(columns)


def ordered(tables: Sequence[GraphTable]) -> list[GraphTable]:
    return sorted(tables, key=lambda table: isinstance(table, RelationTable))


def present(row: Row) -> Row:
    """A row without its absent values; an empty list is absent."""
    return {name: value for name, value in row.items() if value is not None and value != []}


def misfit(what: str) -> StoreError:
    return StoreError(f"the change does not fit the graph: {what}", hint="build the graph again with `kgdx build`")


def refuse_other_counts(before: Mapping[str, int], after: Mapping[str, int], delta: Delta) -> None:
    """Compare what a store holds after a delta with what it held before."""
    for name, growth in delta.growth().items():
        wanted, found = before.get(name, 0) + growth, after.get(name, 0)
        if found != wanted:
            raise misfit(f"there are {found:,} {name} now, not {wanted:,}")


def conformed_delta(delta: Delta, schema: Schema) -> Delta:
    """Return a delta with the schema's columns and types, removed rows with their identifying columns alone."""
    return Delta(
        [_keys(table, schema) for table in delta.removed if table.rows.num_rows],
        [replace(table, rows=conformed(table, schema)) for table in delta.added if table.rows.num_rows],
        [replace(table, rows=conformed(table, schema)) for table in delta.changed if table.rows.num_rows],
    )


def _keys(table: GraphTable, schema: Schema) -> GraphTable:
    rows = conformed(table, schema)
    if isinstance(table, NodeTable):
        return replace(table, rows=rows.select(["id"]))
    identity = schema.relations[table.type].identity
    kept = [name for name in ("start", "end", *identity) if name in rows.column_names]
    if "source" not in kept:
        raise StoreError(f"{title(table)} has rows to remove without 'source'", hint="nothing was changed")
    return replace(table, rows=rows.select(kept))


class OwnStore(Closing):
    """What kgdx's own stores share: the graph as tables, and what they refuse."""

    _schema: Callable[[], Schema]

    def tables(self) -> Iterator[GraphTable]:
        return whole(cast(Store, self), self._schema())

    def fingerprint(self) -> str:
        return fingerprint(self.tables())

    def _refuse_readers(self) -> None:
        store = cast(Store, self)
        if store.read_only:
            raise StoreError(f"the graph at {store.url} is open for reading only", hint="open it with read_only=False")

    def _lacking(self, built: Row, hint: str) -> bool:
        version = built["schema_version"]
        if fits(version, built["schema_checksum"]):
            return False
        if not kin(version):
            stated = f"the graph at {cast(Store, self).url} has schema version {version}"
            raise StoreError(f"{stated}, this kgdx has {self._schema().version}", hint=hint)
        return True


# A SHA-256 over a graph's content that does not depend on row order, on the store, or on how absence is written.
#
# Every row becomes one line: each present property as name, type and length-prefixed value, so no two different rows
# share a line. Lines are hashed one by one, and the sorted hashes of each part (the rows that one source stated of one
# class or relation) make the part's digest; the parts' digests make the fingerprint. So a change of one source leaves
# the digests of all other parts as they are, and a row takes 32 bytes of memory whatever it holds.


Part = tuple[str, str]
"""What a digest is of: a table's title and the source of its rows (empty where they have none)."""

Digest = tuple[int, str]
"""Number of rows, and SHA-256 (hex) over them."""

_LINES = 100_000  # rows whose lines are in memory at once
_BYTES = hashlib.sha256().digest_size


def fingerprint(tables: Iterable[GraphTable]) -> str:
    """SHA-256 (hex) over all rows of the tables; the label Build is left out.

    A table may come in several parts. Null, an absent column and an empty list count as the same.
    """
    return combine(digests(tables))


def digests(tables: Iterable[GraphTable]) -> dict[Part, Digest]:
    """Digest tables by title and source; a table may come in several parts, and is let go once it is read."""
    import polars as pl

    schema = load_schema()
    rows: defaultdict[Part, bytearray] = defaultdict(bytearray)
    for table in tables:
        if isinstance(table, NodeTable) and table.label in BOOKKEEPING:
            continue
        frame = pl.DataFrame(pl.from_arrow(conformed(table, schema)))
        if "source" not in frame.columns:
            frame = frame.with_columns(pl.lit(None, pl.String).alias("source"))
        for part in frame.iter_slices(_LINES):
            for (source,), of_source in part.group_by("source", maintain_order=True):
                rows[title(table), source or ""] += _hashes(_lines(of_source))
    return {part: _digest(hashes) for part, hashes in rows.items()}


def combine(parts: Mapping[Part, Digest]) -> str:
    """Return the fingerprint of the graph that has these parts; parts without rows do not count."""
    entries = sorted([*part, *digest] for part, digest in parts.items() if digest[0])
    return hashlib.sha256(json.dumps(entries).encode()).hexdigest()


def lines(table: GraphTable) -> pl.Series:
    """Each row in the one way to write it, which its hash is made from; equal rows, equal lines."""
    import polars as pl

    return _lines(pl.DataFrame(pl.from_arrow(conformed(table, load_schema()))))


def _hashes(rows: pl.Series) -> bytes:
    sha256 = hashlib.sha256
    return b"".join([sha256(row.encode()).digest() for row in rows.to_list()])


def _digest(hashes: bytearray) -> Digest:
    rows = np.frombuffer(hashes, dtype=f"S{_BYTES}")
    rows.sort()  # where they are: they may be gigabytes
    return len(rows), hashlib.sha256(rows.data).hexdigest()


def _lines(frame: pl.DataFrame) -> pl.Series:
    import polars as pl

    fields = frame.select(_field(name, frame.schema[name]) for name in sorted(frame.columns))
    return fields.select(pl.concat_str(pl.all(), separator=";", ignore_nulls=True).alias("row")).to_series()


def _field(name: str, dtype: pl.DataType) -> pl.Expr:
    import polars as pl

    column = pl.col(name)
    if isinstance(dtype, pl.List):
        items = column.list.eval(_scalar(pl.element(), dtype.inner).fill_null("n")).list.join(",")
        value: pl.Expr = pl.when(column.list.len() > 0).then(pl.format("[{}]", items))
    else:
        value = _scalar(column, dtype)
    return (pl.lit(f"{name}=") + value).alias(name)


def _scalar(value: pl.Expr, dtype: pl.DataType | pl.datatypes.DataTypeClass) -> pl.Expr:
    """A value as text that holds its type: floats by their bits, strings with their length in bytes."""
    import polars as pl

    if dtype == pl.Float64:
        return pl.lit("f") + (value + 0.0).reinterpret(signed=True).cast(pl.String)
    if dtype == pl.Boolean:
        return pl.lit("b") + value.cast(pl.Int8).cast(pl.String)
    if dtype == pl.Int64:
        return pl.lit("i") + value.cast(pl.String)
    return pl.lit("s") + value.str.len_bytes().cast(pl.String) + pl.lit(":") + value


def arrow_schema(entity: NodeClass | Relation) -> pa.Schema:
    """Return the Arrow schema of a table of nodes of one class, or of edges of one type.

    Nodes have the key first, edges the ids of their ends as ``start`` and ``end``; then come the properties in the
    ontology's order. A field is nullable unless the property is required.
    """
    import pyarrow as pa

    types: dict[PropertyType, pa.DataType] = {
        "string": pa.string(),
        "integer": pa.int64(),
        "float": pa.float64(),
        "boolean": pa.bool_(),
        "strings": pa.list_(pa.string()),
        "floats": pa.list_(pa.float64()),
    }
    if isinstance(entity, NodeClass):
        ends: tuple[str, ...] = ()
        properties = [entity.properties[entity.key], *(p for p in entity.properties.values() if p.name != entity.key)]
    else:
        ends = ("start", "end")
        properties = list(entity.properties.values())
    fields = [pa.field(end, pa.string(), nullable=False) for end in ends]
    fields += [pa.field(each.name, types[each.type], nullable=not each.required) for each in properties]
    return pa.schema(fields)
