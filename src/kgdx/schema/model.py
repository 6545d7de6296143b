"""The graph's schema as plain immutable Python: what the OWL file says, in the form that the code asks for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeVar

from kgdx.errors import SchemaError

Named = TypeVar("Named")

Characteristic = Literal["symmetric", "irreflexive", "inverse functional"]
PropertyType = Literal["string", "integer", "float", "boolean", "strings", "floats"]


@dataclass(frozen=True, slots=True)
class Property:
    """A property of a node class or relation.

    ``values`` names the only values it may have (each element, for a list); empty means any.
    """

    name: str
    type: PropertyType
    required: bool = False
    definition: str = ""
    values: tuple[str, ...] = ()

    @property
    def is_list(self) -> bool:
        return self.type in ("strings", "floats")


@dataclass(frozen=True, slots=True)
class NodeClass:
    """A class of nodes.

    ``key`` names the property that identifies one (always ``id``); ``prefixes`` are the CURIE prefixes that ids may
    have, none meaning any id, and ``patterns`` regular expressions of what follows some of them; ``disjoint`` names the
    classes that no node of this one can also be of; ``biolink`` is the closest Biolink category.
    """

    name: str
    definition: str
    properties: Mapping[str, Property]
    key: str = "id"
    biolink: str = ""
    prefixes: tuple[str, ...] = ()
    patterns: Mapping[str, str] = field(default_factory=dict)
    disjoint: frozenset[str] = frozenset()

    def accepts_id(self, id: str) -> bool:
        """Say whether ``id`` has one of the allowed prefixes, and the form of its vocabulary's ids.

        Example:
            >>> gene = NodeClass("Gene", "", {}, prefixes=("NCBIGene",), patterns={"NCBIGene": "[1-9][0-9]*"})
            >>> gene.accepts_id("NCBIGene:10"), gene.accepts_id("NCBIGene:1.0"), gene.accepts_id("HGNC:10")
            (True, False, False)
        """
        if not self.prefixes:
            return bool(id)
        prefix, colon, local = id.partition(":")
        if not colon or not local or prefix not in self.prefixes:
            return False
        return prefix not in self.patterns or re.fullmatch(self.patterns[prefix], local) is not None


@dataclass(frozen=True, slots=True)
class RelationWording:
    """How a relation reads in one language; empty where the ontology has no such words.

    Attributes:
        label: From its start to its end, such as "has the symptom".
        inverse: From its end to its start, such as "symptom of".
        statement: What its ends are to the disease in a sentence, for one and for several.
        noun: What a person asks for by it, one and several.
    """

    label: str
    inverse: str
    statement: tuple[str, str] = ("", "")
    noun: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation type; an edge's ends must be one of the ``ends`` pairs (start class, end class).

    ``identity`` names the properties that, with both ends, tell two edges of this type apart; ``biolink`` is the
    closest Biolink predicate; ``wording`` has its words by language, ``en`` and ``zh``. ``inverse`` is its name from
    the end to the start, empty where it has none; ``characteristics`` are those of OWL, such as ``irreflexive``.
    """

    name: str
    definition: str
    ends: tuple[tuple[str, str], ...]
    properties: Mapping[str, Property]
    biolink: str = ""
    identity: tuple[str, ...] = ("source",)
    wording: Mapping[str, RelationWording] = field(default_factory=dict)
    inverse: str = ""
    characteristics: frozenset[Characteristic] = frozenset()


@dataclass(frozen=True, slots=True)
class Schema:
    """The whole ontology; ``version`` is its owl:versionInfo, ``checksum`` the SHA-256 of the file."""

    version: str
    checksum: str
    nodes: Mapping[str, NodeClass]
    relations: Mapping[str, Relation]

    def node(self, name: str) -> NodeClass:
        return _named(self.nodes, name, "node class")

    def relation(self, name: str) -> Relation:
        return _named(self.relations, name, "relation")


def _named(table: Mapping[str, Named], name: str, kind: str) -> Named:
    if name not in table:
        raise SchemaError(f"no {kind} {name!r} in the ontology", hint=f"one of {', '.join(table)}")
    return table[name]


MATCHES: Mapping[str, str] = MappingProxyType(
    {"exact": "SAME_AS", "narrower": "BROAD_MATCH", "broader": "NARROW_MATCH", "close": "CLOSE_MATCH"}
)
"""What the start of a mapping between diseases is to its end → the relation that says so: SKOS names the end."""

ANNOTATIONS = ("HAS_PHENOTYPE", "HAS_INHERITANCE", "HAS_COURSE")
"""Relations of what HPO's terms say of a disease: what it shows, how it is inherited, how it runs."""

PREDICTED = "PREDICTED"
"""The relation of what a model expects, which is no fact: no list of what is known has it."""


@dataclass(frozen=True, slots=True)
class FrequencyClass:
    """One of HPO's classes of frequency as its definition says; ``share`` (0 to 1) is the middle of its range."""

    name: str
    range: str
    share: float

    def __str__(self) -> str:
        return f"{self.name} ({self.range})"


EXCLUDED = "HP:0040285"
"""The class of what occurs in no patient: an annotation with it states an absence."""

FREQUENCIES: Mapping[str, FrequencyClass] = MappingProxyType(
    {
        "HP:0040280": FrequencyClass("obligate", "100%", 1.0),
        "HP:0040281": FrequencyClass("very frequent", "80-99%", 0.9),
        "HP:0040282": FrequencyClass("frequent", "30-79%", 0.55),
        "HP:0040283": FrequencyClass("occasional", "5-29%", 0.17),
        "HP:0040284": FrequencyClass("very rare", "1-4%", 0.025),
        EXCLUDED: FrequencyClass("excluded", "0%", 0.0),
    }
)
"""Term → what it means."""
