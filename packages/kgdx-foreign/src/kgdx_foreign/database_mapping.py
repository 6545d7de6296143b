"""The mapping file: which labels, relation types and properties of somebody's database stand for what in the ontology.

It is data, never code: its names are quoted where they enter Cypher, its values are bound as parameters, and a name
that could end its quotation is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from kgdx.errors import ConfigError
from kgdx.schema import Schema, load_schema

LARGEST = 100_000
"""Bytes of a mapping file at most."""

LARGEST_DEPTH = 50
"""How deep a mapping file nests at most."""

LONGEST_NAME = 200
"""Characters of a label, type or property at most."""

_NAMED = ("name", "source")


def _harmless(name: str) -> str:
    if "\\" in name or not name.isprintable() or not name.strip() or len(name) > LONGEST_NAME:
        raise ValueError(f"a name is printable, without backslashes, of 1 to {LONGEST_NAME} characters")
    return name


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Name = Annotated[str, AfterValidator(_harmless)]
Names = Annotated[tuple[Name, ...], BeforeValidator(_listed), Field(min_length=1, max_length=20)]
Text = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class Constant(_Model):
    """A value that their data does not state, the same for all."""

    value: Text


Property = Name | Constant


class NodeOf(_Model):
    """Their nodes that stand for a class of ours.

    Attributes:
        label: Their label, or several.
        key: Their property that tells one node from another; it becomes the id. Text.
        properties: Our property → theirs, or a constant; what is not named is absent. ``name`` is the key if not named.
    """

    label: Names
    key: Name
    properties: dict[str, Property] = Field(default_factory=dict)


class RelationOf(_Model):
    """Their relations that stand for a type of ours: of a type, or the items of a list that a node holds.

    Attributes:
        type: Their type, or several.
        reversed: Whether theirs point the other way.
        list: Their property that lists the names of what ours relates to, which has no nodes of its own there.
        properties: As for nodes; not for a list.
    """

    type: Names | None = None
    reversed: bool = False
    list: Name | None = None
    properties: dict[str, Property] = Field(default_factory=dict)


def _typed(value: Any) -> Any:
    return {"type": value} if isinstance(value, str | list) else value


class ForeignMapping(_Model):
    """A mapping file.

    Attributes:
        mapping: Version of the form: 1.
        source: Name of the database, as rows state where they come from.
        licence: Of the database.
        citation: How it is cited.
        language: Of its names, such as ``zh``.
        nodes: Our class → their nodes.
        relations: Our type → their relations.
    """

    mapping: Literal[1]
    source: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,39}$")]
    licence: Text | None = None
    citation: Annotated[str, Field(max_length=2_000)] | None = None
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}$")] | None = None
    nodes: Annotated[dict[str, NodeOf], Field(min_length=1)]
    relations: dict[str, Annotated[RelationOf, BeforeValidator(_typed)]] = Field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what it says."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def listed(self, kind: str, schema: Schema) -> Iterator[tuple[str, str, str]]:
        """Yield the lists that name things of a class: our relation, the class of who holds it, their property."""
        for name, relation in self.relations.items():
            for start, end in schema.relations[name].ends:
                if relation.list is not None and kind in (start, end) and kind not in self.nodes:
                    owner = end if kind == start else start
                    if owner in self.nodes:
                        yield name, owner, relation.list

    def property_of(self, kind: str, name: str) -> str | Constant | None:
        """Return what stands for a property of a class: their property, a constant, or ``None``."""
        node = self.nodes[kind]
        if name == "id":
            return node.key
        if name in node.properties:
            return node.properties[name]
        return node.key if name == "name" else self._stated(name)

    def property_of_relation(self, name: str, property: str) -> str | Constant | None:
        return self.relations[name].properties.get(property) or self._stated(property)

    def _stated(self, name: str) -> Constant | None:
        if name == "language" and self.language is not None:
            return Constant(value=self.language)
        return Constant(value=self.source) if name == "source" else None


def read_mapping(path: Path) -> ForeignMapping:
    """Read a mapping file."""
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST + 1)
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
        hint = "give a YAML file; `kgdx neo4j mapping new` proposes one"
        raise ConfigError(f"the mapping {path} cannot be read ({reason})", hint=hint) from error
    if len(content) > LARGEST:
        raise ConfigError(f"the mapping {path} is larger than {LARGEST:,} bytes", hint="a mapping is a short file")
    return parse_mapping(text, str(path))


def parse_mapping(text: str, origin: str = "mapping") -> ForeignMapping:
    """Read a mapping from its text."""
    try:
        _refuse_what_no_mapping_has(text, origin)
        content = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        line = " ".join(str(error).split())[:200]
        raise ConfigError(f"{origin} is no YAML ({line})", hint="docs/how-to/foreign-database.md shows one") from error
    if not isinstance(content, dict):
        fault = "it is empty" if content is None else "it has no keys `mapping`, `source` and `nodes`"
        hint = "`kgdx neo4j mapping new` proposes one from a database"
        raise ConfigError(f"{origin} is no mapping: {fault}", hint=hint)
    try:
        found = ForeignMapping.model_validate(content)
    except (ValidationError, RecursionError) as error:
        raise ConfigError(
            f"{origin}: {_fault(error)}", hint="docs/how-to/foreign-database.md shows a mapping"
        ) from None
    for fault in _faults(found, load_schema()):
        raise ConfigError(f"{origin}: {fault}", hint="`kgdx schema` shows what the ontology has")
    return found


def _refuse_what_no_mapping_has(text: str, origin: str) -> None:
    """Refuse references and deep nesting: both make a small file cost much time or memory."""
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise ConfigError(f"{origin} refers to a part of itself (*)", hint="write the part again")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > LARGEST_DEPTH:
            raise ConfigError(
                f"{origin} is no YAML of a mapping (nested more than {LARGEST_DEPTH} deep)",
                hint="docs/how-to/foreign-database.md shows one",
            )


def _fault(error: ValidationError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    first = error.errors(include_input=False, include_url=False)[0]
    parts = [str(part)[:60] for part in first["loc"]]
    where = ".".join(part for part in parts if "[" not in part and part != Constant.__name__)
    return f"{where or 'the file'}: {first['msg'].removeprefix('Value error, ')}"


def _faults(mapping: ForeignMapping, schema: Schema) -> Iterator[str]:
    for kind, node in mapping.nodes.items():
        if kind not in schema.nodes:
            yield f"nodes.{kind}: the ontology has no such class"
            continue
        unknown = node.properties.keys() - schema.nodes[kind].properties.keys() - {*_NAMED}
        if unknown or "id" in node.properties:
            yield f"nodes.{kind}.properties: {kind} has no property {min(unknown, default='id (it is the key)')}"
    for name, relation in mapping.relations.items():
        if name not in schema.relations:
            yield f"relations.{name}: the ontology has no such relation"
            continue
        unknown = relation.properties.keys() - schema.relations[name].properties.keys()
        if unknown:
            yield f"relations.{name}.properties: {name} has no property {min(unknown)}"
        yield from _end_faults(mapping, name, relation, schema)


def _end_faults(mapping: ForeignMapping, name: str, relation: RelationOf, schema: Schema) -> Iterator[str]:
    ends = schema.relations[name].ends
    if (relation.type is None) == (relation.list is None):
        yield f"relations.{name}: give either `type` or `list`"
    elif relation.list is None and not any(start in mapping.nodes and end in mapping.nodes for start, end in ends):
        pairs = " or ".join(f"{start} and {end}" for start, end in ends)
        yield f"relations.{name}: it joins {pairs}, and `nodes` lacks one of them"
    elif relation.list is not None:
        if relation.reversed or relation.properties:
            yield f"relations.{name}: a list has no direction and no properties"
        elif not any((start in mapping.nodes) != (end in mapping.nodes) for start, end in ends):
            yield (
                f"relations.{name}: a list on a node names things that have no nodes of their own; "
                "where both ends have nodes, or none has, it cannot be used"
            )
