"""The Arrow form of the schema: what columns a table of one node class or relation has, and of which types."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pyarrow as pa

from kgdx.schema.model import NodeClass, Property, PropertyType, Relation

ARROW_TYPES: Mapping[PropertyType, pa.DataType] = MappingProxyType(
    {
        "string": pa.string(),
        "integer": pa.int64(),
        "float": pa.float64(),
        "boolean": pa.bool_(),
        "strings": pa.list_(pa.string()),
        "floats": pa.list_(pa.float64()),
    }
)


def arrow_schema(entity: NodeClass | Relation) -> pa.Schema:
    """Return the Arrow schema of a table of nodes of one class, or of edges of one type.

    Nodes have the key first, edges the ids of their ends as ``start`` and ``end``; then come the properties in the
    ontology's order. A field is nullable unless the property is required.

    Example:
        >>> from kgdx.schema import load_schema
        >>> arrow_schema(load_schema().relation("ASSOCIATED_GENE")).names
        ['start', 'end', 'source', 'association', 'validation', 'publications']
    """
    if isinstance(entity, NodeClass):
        ends: tuple[str, ...] = ()
        properties = [entity.properties[entity.key], *(p for p in entity.properties.values() if p.name != entity.key)]
    else:
        ends = ("start", "end")
        properties = list(entity.properties.values())
    fields = [pa.field(end, pa.string(), nullable=False) for end in ends]
    return pa.schema([*fields, *(_field(p) for p in properties)])


def _field(prop: Property) -> pa.Field:
    return pa.field(prop.name, ARROW_TYPES[prop.type], nullable=not prop.required)
