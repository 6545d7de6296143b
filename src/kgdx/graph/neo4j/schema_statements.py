"""How the ontology holds in a database: keys, constraints and indexes are made, what does not conform is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kgdx.graph.protocol import Row
from kgdx.graph.templates import statement
from kgdx.schema import Schema
from kgdx.schema.model import NodeClass, PropertyType, Relation

NAMES = ("name", "name_zh")
"""Properties of nodes that have an index where the class has ids of its own (phrases can be longer than an entry)."""

SNAPSHOTS = ("KgdxSnapshot", "KgdxSnapshotPart")
"""Labels of snapshots that are stored beside a graph (:mod:`kgdx.graph.neo4j.stored_snapshot`)."""

IN_SNAPSHOTS = ("layout", "document", "checksum", "serial", "saves", "snapshot", "file", "at", "size", "bytes")
"""Their properties."""


def schema_statements(schema: Schema) -> Iterator[str]:
    """Yield the statements that make keys and indexes where they are missing, and the one that waits for them."""
    for label, node in schema.nodes.items():
        yield statement("constraint", schema, label=label)
        for name in NAMES:
            if node.prefixes and name in node.properties:
                yield statement("index", schema, label=label, property=name)
    named = "|".join(label for label, node in schema.nodes.items() if "name" in node.properties)
    yield statement("index_words")
    yield statement("index_english", schema, labels=named)
    yield statement("index_chinese", schema, labels=named)
    cited = "|".join(type for type, each in schema.relations.items() if "references" in each.properties)
    yield statement("index_references", schema, types=cited)
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
    return statement("name_snapshots"), {"labels": list(SNAPSHOTS), "names": list(IN_SNAPSHOTS)}


def required_statements(schema: Schema) -> Iterator[str]:
    """Yield the constraints that only the Enterprise Edition can make: what the ontology requires is there."""
    for label, node in schema.nodes.items():
        for name in _required(node):
            yield statement("constraint_required", schema, label=label, property=name)
    for type_, relation in schema.relations.items():
        for name in _required(relation):
            yield statement("constraint_relation_required", schema, type=type_, property=name)


@dataclass(frozen=True, slots=True)
class Misfit:
    """What a database holds that the ontology does not allow.

    ``outside`` says that copies leave it out: the tables of a graph have no place for it.
    """

    where: str
    fault: str
    n: int
    example: str
    outside: bool = False

    def __str__(self) -> str:
        more = "" if self.n == 1 else ", such as"
        return f"{self.where}: {self.fault} ({self.n:,}{more or ':'} {self.example})"


_FAULTS = {
    "undeclared": "the property {} is not in the ontology",
    "type": "{} has values of another type",
    "missing": "{} is missing",
    "value": "{} has values that the ontology does not list",
    "form": "ids of another form",
    "ends": "from {}, which the ontology does not allow",
    "loop": "from a node to itself",
}
_STORED: Mapping[PropertyType, tuple[str, ...]] = {
    "string": ("STRING NOT NULL",),
    "integer": ("INTEGER NOT NULL",),
    "float": ("FLOAT NOT NULL",),
    "boolean": ("BOOLEAN NOT NULL",),
    "strings": ("LIST<STRING NOT NULL> NOT NULL", "LIST<NOTHING> NOT NULL"),
    "floats": ("LIST<FLOAT NOT NULL> NOT NULL", "LIST<NOTHING> NOT NULL"),
}
"""What Neo4j calls the types of values."""

_BOOKS = frozenset({"Build", "KgdxSaved", "KgdxVector", *SNAPSHOTS})
"""Labels of what describes a copy, and not what is known."""

Read = Callable[..., list[Row]]
"""Runs a statement: its name, its parameters, and the names that stand in its placeholders."""


def misfits(read: Read, schema: Schema) -> Iterator[Misfit]:
    """Yield what in a database does not conform to the ontology: classes, ids, ends, keys, and what is not declared."""
    there = set()
    for row in read("held_labels"):
        labels = sorted(row["labels"])
        known = [label for label in labels if label in schema.nodes]
        there.update(known)
        if set(labels) & _BOOKS:
            continue
        shown = ":".join(labels) or "no label"
        if len(labels) != 1 or not known:
            fault = "a class of nodes that is not in the ontology" if not known else "nodes of several classes"
            yield Misfit(shown, fault, row["n"], row["example"], outside=not known)
    for label in filter(there.__contains__, schema.nodes):
        if label in _BOOKS:
            continue
        node = schema.nodes[label]
        for row in read("misfits_of_class", {**_allowed(node), "ids": _ids(node)}, label=label):
            yield _misfit(label, row)
        yield from _repeated(label, read("repeated_ids", {}, label=label))
    for row in read("held_types"):
        type_ = row["type"]
        relation = schema.relations.get(type_)
        if relation is None:
            yield Misfit(type_, "a relation that is not in the ontology", row["n"], row["example"], outside=True)
            continue
        parameters = {
            **_allowed(relation),
            "ends": [list(pair) for pair in relation.ends],
            "irreflexive": "irreflexive" in relation.characteristics,
        }
        for found in read("misfits_of_relation", parameters, type=type_):
            yield _misfit(type_, found)
        yield from _repeated(type_, read("repeated_relations", {"identity": list(relation.identity)}, type=type_))


def _misfit(where: str, row: Row) -> Misfit:
    outside = row["fault"] in ("undeclared", "ends")
    return Misfit(where, _FAULTS[row["fault"]].format(row["what"]), row["n"], row["example"], outside)


def _repeated(where: str, rows: list[Row]) -> Iterator[Misfit]:
    for row in rows:
        if row["n"]:
            yield Misfit(where, "stated more than once", row["n"], row["example"])


def _required(entity: NodeClass | Relation) -> list[str]:
    return [name for name, each in entity.properties.items() if each.required]


def _allowed(entity: NodeClass | Relation) -> dict[str, Any]:
    types = {name: list(_STORED[each.type]) for name, each in entity.properties.items()}
    if isinstance(entity, NodeClass):
        types["id"] = list(_STORED["string"])
    values = {name: list(each.values) for name, each in entity.properties.items() if each.values}
    return {"types": types, "required": _required(entity), "values": values}


def _ids(node: NodeClass) -> str:
    forms = [rf"\Q{prefix}\E:(?:{node.patterns.get(prefix, '.+')})" for prefix in node.prefixes]
    return f"(?s)(?:{'|'.join(forms) or '.+'})"
