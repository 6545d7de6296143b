"""The graph's schema: read from the ontology, asked for by every other room."""

from __future__ import annotations

from functools import cache

from kgdx.resources import resource
from kgdx.schema.model import NodeClass, Property, PropertyType, Relation, RelationWording, Schema

__all__ = [
    "NodeClass",
    "Property",
    "PropertyType",
    "Relation",
    "RelationWording",
    "Schema",
    "fits",
    "kin",
    "load_schema",
    "relation_words",
    "schema_checksum",
    "wording",
]


@cache
def load_schema() -> Schema:
    """Return the ontology that ships with kgdx; it is read once per process."""
    from kgdx.schema.owl_reader import read_owl

    return read_owl(resource("ontology", "kgdx.owl"))


def schema_checksum() -> str:
    """Return the SHA-256 of the shipped ontology file without parsing it: enough to see whether a graph fits."""
    import hashlib

    return hashlib.sha256(resource("ontology", "kgdx.owl").read_bytes()).hexdigest()


def fits(version: str | None, checksum: str | None) -> bool:
    """Whether a graph that was built with this version and checksum of the ontology can be used with the shipped one.

    The first two numbers of the version decide: the third rises with definitions, axioms and wording alone. An equal
    checksum says the same without parsing the ontology.

    Example:
        >>> fits(load_schema().version, "of an edited comment"), fits("0.1", "of another version")
        (True, False)
    """
    if checksum == schema_checksum():
        return True
    return version is not None and version.split(".")[:2] == load_schema().version.split(".")[:2]


def kin(version: str | None, *, saved: bool = False) -> bool:
    """Whether a graph that was built with this version of the ontology has what the shipped one has, if not all of it.

    Versions of the same first number only add to each other. What users ``saved`` has not changed since 1.0.

    Example:
        >>> kin(load_schema().version), kin("0.1"), kin(None), kin("1.6.0"), kin("1.6.0", saved=True)
        (True, False, False, False, True)
    """
    first = (version or "").partition(".")[0]
    return first == load_schema().version.partition(".")[0] or (saved and first == "1")


def wording(relation: str, language: str = "en") -> RelationWording:
    """Return the words of a relation; English ones where there are none in the language, its name where there are none.

    Example:
        >>> wording("RECOMMEND_TEST").noun, wording("RECOMMEND_TEST", "zh").noun, wording("TREATS").inverse
        (('test', 'tests'), ('检查', '检查'), 'TREATS (reversed)')
    """
    found = load_schema().relations.get(relation)
    known = found.wording if found is not None else {}
    return known.get(language) or known.get("en") or RelationWording(relation, f"{relation} (reversed)")


def relation_words(relation: str, *, against: bool, language: str = "en") -> str:
    """Return how a relation reads, along it or against it.

    Example:
        >>> relation_words("IS_A", against=False), relation_words("HAS_COMORBIDITY", against=False, language="zh")
        ('a kind of', '的并发症有')
    """
    words = wording(relation, language)
    return words.inverse if against else words.label
