"""What a database needs to hold the ontology's classes: keys, indexes of names, and full-text indexes."""

from __future__ import annotations

from collections.abc import Iterator

from kgdx.graph.templates import statement
from kgdx.schema import Schema

NAMES = ("name", "name_zh")
"""Properties of nodes that have an index where the class has ids of its own (phrases can be longer than an entry)."""

LOOKED_UP = ("reference",)
"""Properties of relations that are looked up without a node at hand: what rests on a publication."""


SNAPSHOTS = ("KgdxSnapshot", "KgdxSnapshotPart")
"""Labels of snapshots that are stored beside a graph (:mod:`kgdx.graph.neo4j.stored_snapshot`)."""

IN_SNAPSHOTS = ("layout", "document", "checksum", "serial", "saves", "snapshot", "file", "at", "size", "bytes")
"""Their properties."""


def schema_statements(schema: Schema) -> Iterator[str]:
    """Yield the statements that make keys and indexes where they are missing, and the one that waits for them.

    Example:
        >>> from kgdx.schema import load_schema
        >>> next(schema_statements(load_schema()))
        'CREATE CONSTRAINT kgdx_Disease_id IF NOT EXISTS FOR (n:Disease) REQUIRE n.id IS UNIQUE'
    """
    for label, node in schema.nodes.items():
        yield statement("constraint", schema, label=label)
        for name in NAMES:
            if node.prefixes and name in node.properties:
                yield statement("index", schema, label=label, property=name)
    for type_, relation in schema.relations.items():
        for name in LOOKED_UP:
            if name in relation.properties:
                yield statement("index_relation", schema, type=type_, property=name)
    named = "|".join(label for label, node in schema.nodes.items() if "name" in node.properties)
    yield statement("index_words")
    yield statement("index_english", schema, labels=named)
    yield statement("index_chinese", schema, labels=named)
    yield statement("await_indexes")


def naming_statements(schema: Schema) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield the statements, with parameters, that make names known.

    The first write of a name that a database does not know takes a transaction of its own, as somebody's edit does.
    """
    described = [each.properties for each in schema.nodes.values()]
    described += [each.properties for each in schema.relations.values()]
    yield statement("name_properties"), {"names": sorted({name for names in described for name in names})}
    yield statement("name_relations"), {"names": sorted(schema.relations)}
    yield snapshot_names()


def snapshot_names() -> tuple[str, dict[str, list[str]]]:
    """Return the statement, with parameters, that makes the names of stored snapshots known."""
    return statement("name_snapshots"), {"labels": list(SNAPSHOTS), "names": list(IN_SNAPSHOTS)}
