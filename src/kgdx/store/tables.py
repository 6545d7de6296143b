"""Arrow tables in the one form that stores and fingerprint share: the schema's columns with the schema's types.

Absent is null, whatever the source said: a not-a-number is null, and an empty list is absent like a null.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from kgdx.errors import StoreError
from kgdx.schema.model import Property, PropertyType, Schema
from kgdx.store.protocol import GraphTable, NodeTable

ARROW_TYPES: Mapping[PropertyType, pa.DataType] = {
    "string": pa.string(),
    "integer": pa.int64(),
    "float": pa.float64(),
    "boolean": pa.bool_(),
    "strings": pa.list_(pa.string()),
    "floats": pa.list_(pa.float64()),
}


def title(table: GraphTable) -> str:
    """How messages name a table.

    Example:
        >>> title(NodeTable("Disease", pa.table({"id": ["OMIM:1"]})))
        'Disease'
    """
    if isinstance(table, NodeTable):
        return table.label
    return f"{table.start_label}-{table.type}->{table.end_label}"


def columns_of(table: GraphTable, schema: Schema) -> dict[str, pa.DataType]:
    """The columns a table may have, in the schema's order, keys first.

    Raises:
        StoreError: The schema has no such class, relation or pair of ends.
    """
    if isinstance(table, NodeTable):
        if table.label not in schema.nodes:
            raise StoreError(f"the ontology has no class {table.label}", hint="`kgdx schema` shows what it has")
        return {"id": pa.string()} | arrow_types(schema.nodes[table.label].properties)
    relation = schema.relations.get(table.type)
    if relation is None or (table.start_label, table.end_label) not in relation.ends:
        raise StoreError(f"the ontology has no relation {title(table)}", hint="`kgdx schema` shows what it has")
    return {"start": pa.string(), "end": pa.string()} | arrow_types(relation.properties)


def arrow_types(properties: Mapping[str, Property]) -> dict[str, pa.DataType]:
    """Arrow types of properties.

    Example:
        >>> arrow_types({"score": Property("score", "float")})
        {'score': DataType(double)}
    """
    return {name: ARROW_TYPES[p.type] for name, p in properties.items()}


def conformed(table: GraphTable, schema: Schema) -> pa.Table:
    """The table's rows with the schema's column order and types; columns that it lacks stay out.

    Raises:
        StoreError: A column the schema does not have, a value of another type, or an absent key.
    """
    types = columns_of(table, schema)
    for name in table.rows.column_names:
        if name not in types:
            raise StoreError(
                f"{title(table)} has no property {name!r} in the ontology", hint="`kgdx schema` lists them"
            )
    columns = {}
    for name, type_ in types.items():
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
    for key in ("id",) if isinstance(table, NodeTable) else ("start", "end"):
        if key not in columns or columns[key].null_count:
            raise StoreError(f"{title(table)} has rows without {key!r}", hint="nothing was loaded")
    return pa.table(columns)
