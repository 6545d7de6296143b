"""Reads the ontology's OWL file with owlready2 into the dataclasses of :mod:`kgdx.schema.model`.

The file is read into a quad store of its own (an owlready2 ``World``), never into owlready2's global one. How OWL
constructs are used is said at the top of ``ontology/kgdx.owl``.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kgdx.errors import SchemaError, refusing
from kgdx.schema.model import Characteristic, NodeClass, Property, PropertyType, Relation, RelationWording, Schema

IRI = "urn:kgdx:ontology#"
NODE = "Node"
RELATION = "relation"
RESERVED = frozenset({"comment", "domain", "isDefinedBy", "is_a", "label", "range", "seeAlso", "versionInfo"})

_SCALARS: dict[type, PropertyType] = {str: "string", int: "integer", float: "float", bool: "boolean"}
_LISTS: dict[type, PropertyType] = {str: "strings", float: "floats"}


def read_owl(path: Path) -> Schema:
    """Read an ontology file (RDF/XML, OWL/XML or N-Triples)."""
    with refusing(SchemaError, f"cannot read the ontology {path}", "check the path"):
        content = path.read_bytes()
    from owlready2 import World

    world = World()
    try:
        try:
            ontology = world.get_ontology(IRI).load(fileobj=io.BytesIO(content))
        except Exception as error:  # owlready2 raises its own, expat's, sqlite's and plain ValueErrors alike
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            hint = "restore ontology/kgdx.owl, or open the file in Protégé to find the fault"
            raise SchemaError(f"{path} is not an OWL file that can be read ({reason})", hint=hint) from error
        return _Reader(ontology, path).schema(hashlib.sha256(content).hexdigest())
    finally:
        world.close()


class _Reader:
    def __init__(self, ontology: Any, path: Path) -> None:
        self.ontology = ontology
        self.path = path
        self.owners: dict[str, dict[str, Property]] = {}

    def fail(self, entity: str, problem: str) -> SchemaError:
        return SchemaError(f"{entity} in {self.path.name} {problem}", hint="mend the ontology file")

    def schema(self, checksum: str) -> Schema:
        versions = list(self.ontology.metadata.versionInfo)
        if len(versions) != 1:
            raise self.fail("the ontology header", "needs exactly one owl:versionInfo")
        properties = list(self.ontology.data_properties())
        for entity in properties:  # first of all: owlready2 would take such a property for OWL's own
            if entity.name in RESERVED:
                raise self.fail(f"the property {entity.name}", "has a name of OWL's own; write Owner.name and a label")
        for entity in properties:
            self._read_property(entity)
        disjoint = [{each.name for each in axiom.entities} for axiom in self.ontology.disjoint_classes()]
        nodes = [self._node(c, disjoint) for c in self.ontology.classes() if not c.abstract]
        names = {n.name for n in nodes}
        relations = [self._relation(r, names) for r in self.ontology.object_properties() if not r.abstract]
        if not nodes or not relations:
            raise self.fail("the ontology", "declares no node class or no relation")
        return Schema(
            version=str(versions[0]),
            checksum=checksum,
            nodes=MappingProxyType({n.name: n for n in nodes}),
            relations=MappingProxyType({r.name: r for r in relations}),
        )

    def _read_property(self, entity: Any) -> None:
        name = str(entity.label[0]) if entity.label else entity.name
        prop = Property(
            name=name,
            type=self._type(entity),
            required=bool(entity.required and entity.required[0]),
            definition=self._definition(entity),
            values=tuple(str(v) for v in entity.allowedValue),
        )
        owners = [*_classes(entity.domain), *entity.describes]
        if not owners:
            raise self.fail(entity.name, "belongs to no node class (rdfs:domain) and no relation (describes)")
        for owner in owners:
            if not hasattr(owner, "name"):
                raise self.fail(entity.name, f"belongs to {owner!r}, which the ontology does not declare")
            known = self.owners.setdefault(owner.name, {})
            if name in known:
                raise self.fail(owner.name, f"has the property {name} twice")
            known[name] = prop

    def _type(self, entity: Any) -> PropertyType:
        from owlready2 import FunctionalProperty

        types = _SCALARS if issubclass(entity, FunctionalProperty) else _LISTS
        ranges = list(entity.range)
        if len(ranges) != 1 or ranges[0] not in types:
            raise self.fail(entity.name, "needs one rdfs:range: xsd:string, integer, double or boolean")
        return types[ranges[0]]

    def _definition(self, entity: Any) -> str:
        if len(entity.comment) != 1:
            raise self.fail(entity.name, "needs exactly one rdfs:comment, its definition")
        return " ".join(str(entity.comment[0]).split())

    def _properties(self, lineage: Iterable[Any], entity: str) -> MappingProxyType[str, Property]:
        merged: dict[str, Property] = {}
        for owner in lineage:
            for name, prop in self.owners.get(owner.name, {}).items():
                if name in merged:
                    raise self.fail(entity, f"has the property {name} twice")
                merged[name] = prop
        return MappingProxyType(merged)

    def _node(self, entity: Any, disjoint: Sequence[set[str]]) -> NodeClass:
        lineage = _lineage(entity)
        if lineage[0].name != NODE:
            raise self.fail(entity.name, f"is not a subclass of {NODE}")
        properties = self._properties(lineage, entity.name)
        keys = [key.name for ancestor in lineage for key in ancestor.key]
        if len(keys) != 1 or keys[0] not in properties:
            raise self.fail(entity.name, "needs one of its properties as key")
        return NodeClass(
            name=entity.name,
            definition=self._definition(entity),
            properties=properties,
            key=keys[0],
            biolink=_first(entity.biolink),
            prefixes=tuple(str(p) for p in entity.idPrefix),
            patterns=MappingProxyType(self._patterns(entity)),
            disjoint=frozenset().union(*(some for some in disjoint if entity.name in some)) - {entity.name},
        )

    def _patterns(self, entity: Any) -> dict[str, str]:
        found = {}
        for given in map(str, entity.idPattern):
            prefix, _, pattern = given.partition(":")
            try:
                re.compile(pattern)
            except re.error as error:
                raise self.fail(entity.name, f"has an id pattern that cannot be read: {given} ({error})") from error
            if prefix not in entity.idPrefix or not pattern:
                raise self.fail(entity.name, f"has an id pattern of a prefix that its ids do not have: {given}")
            found[prefix] = pattern
        return found

    def _relation(self, entity: Any, nodes: set[str]) -> Relation:
        lineage = _lineage(entity)
        if lineage[0].name != RELATION:
            raise self.fail(entity.name, f"is not a subproperty of {RELATION}")
        properties = self._properties(lineage, entity.name)
        identity = {p.label[0] if p.label else p.name for p in entity.identity}
        if not identity <= properties.keys():
            raise self.fail(entity.name, f"is told apart by {', '.join(identity - properties.keys())}, which it lacks")
        ends, inverse = tuple(self._ends(entity)), entity.inverse_property  # of a symmetric relation it is itself
        labels = [label for label in entity.label if getattr(label, "lang", "")]
        if not ends or not {name for pair in ends for name in pair} <= nodes:
            raise self.fail(entity.name, "needs rdfs:domain and rdfs:range of node classes that are not abstract")
        return Relation(
            name=entity.name,
            definition=self._definition(entity),
            ends=ends,
            properties=properties,
            biolink=_first(entity.biolink),
            identity=tuple(p for p in properties if p in identity),
            wording=MappingProxyType({label.lang: _wording(entity, label.lang) for label in labels}),
            inverse="" if inverse in (None, entity) else str(inverse.name),
            characteristics=self._characteristics(entity, ends),
        )

    def _characteristics(self, entity: Any, ends: tuple[tuple[str, str], ...]) -> frozenset[Characteristic]:
        import owlready2

        kinds: dict[type, Characteristic] = {
            owlready2.SymmetricProperty: "symmetric",
            owlready2.IrreflexiveProperty: "irreflexive",
            owlready2.InverseFunctionalProperty: "inverse functional",
        }
        found = frozenset(name for kind, name in kinds.items() if kind in entity.is_a)
        if "symmetric" in found and {(end, start) for start, end in ends} != set(ends):
            raise self.fail(entity.name, "is symmetric, but cannot lead back")
        return found

    def _ends(self, entity: Any) -> Iterable[tuple[str, str]]:
        """Yield each pair of domain and range that no owl:allValuesFrom restriction of the start class rules out."""
        targets = _classes(entity.range)
        for start in _classes(entity.domain):
            only = [r.value for r in start.is_a if getattr(r, "property", None) is entity]
            for end in targets:
                if all(end in _classes([value]) for value in only):
                    yield start.name, end.name


def _classes(expression: Iterable[Any]) -> list[Any]:
    return [c for part in expression for c in getattr(part, "Classes", [part])]


def _wording(entity: Any, language: str) -> RelationWording:
    def text(values: Iterable[Any]) -> str:
        return _first(value for value in values if getattr(value, "lang", "") == language)

    def forms(one: Iterable[Any], several: Iterable[Any]) -> tuple[str, str]:
        return text(one), text(several) or text(one)

    return RelationWording(
        label=text(entity.label),
        inverse=text(entity.inverseLabel),
        statement=forms(entity.statement, entity.statementOfSeveral),
        noun=forms(entity.noun, entity.nounOfSeveral),
    )


def _lineage(entity: Any) -> list[Any]:
    entities: list[Any] = []
    while entity is not None:
        entities.append(entity)
        parents = [p for p in entity.is_a if getattr(p, "iri", "").startswith(IRI)]
        entity = parents[0] if parents else None
    return entities[::-1]


def _first(values: Iterable[Any]) -> str:
    return next((str(v) for v in values), "")
