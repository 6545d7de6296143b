"""The graph's schema as plain immutable Python: what the OWL file says, in the form that the code asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

PropertyType = Literal["string", "integer", "float", "boolean", "strings", "floats"]


@dataclass(frozen=True, slots=True)
class Property:
    """A property of a node class or relation."""

    name: str
    type: PropertyType
    required: bool = False
    definition: str = ""


@dataclass(frozen=True, slots=True)
class NodeClass:
    """A class of nodes; ``key`` names the property that identifies one (always ``id``)."""

    name: str
    definition: str
    properties: Mapping[str, Property]
    key: str = "id"
    biolink: str = ""
    prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation type; an edge's ends must be one of the ``ends`` pairs (start class, end class).

    ``identity`` names the properties that, with both ends, tell two edges of this type apart.
    """

    name: str
    definition: str
    ends: tuple[tuple[str, str], ...]
    properties: Mapping[str, Property]
    biolink: str = ""
    identity: tuple[str, ...] = ("source",)


@dataclass(frozen=True, slots=True)
class Schema:
    """The whole ontology; ``version`` is its owl:versionInfo, ``checksum`` the SHA-256 of the file."""

    version: str
    checksum: str
    nodes: Mapping[str, NodeClass]
    relations: Mapping[str, Relation]
