"""Evidence paths: from the case over its findings and the ontology to a disease's annotations, and back.

Each path is built from rows of the evidence templates, so that the same template shows it in any store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from kgdx.results.document import Plain
from kgdx.schema.model import FREQUENCIES

Kind = Literal["supports", "against", "typical_unmentioned"]


@dataclass(frozen=True, slots=True)
class PathNode(Plain):
    """A node on a path.

    Attributes:
        id: Its CURIE.
        label: Its class, such as ``Disease``.
        name: Its name; empty where it has none.
    """

    id: str
    label: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class PathRelation:
    """A relation between two neighbouring nodes of a path.

    Attributes:
        type: Its type, such as ``HAS_PHENOTYPE``.
        properties: Its properties in the graph.
        reversed: Whether the path goes against it.
    """

    type: str
    properties: Mapping[str, Any] = field(default_factory=dict, hash=False)
    reversed: bool = False


@dataclass(frozen=True, slots=True)
class EvidencePath(Plain):
    """One path in the graph that speaks for or against a candidate, or shows what is typical but not mentioned.

    Attributes:
        nodes: The nodes in order; the last one is the disease.
        relations: One fewer than the nodes.
        kind: ``supports``, ``against`` or ``typical_unmentioned``.
        finding: Id of the case's finding that the path starts from; of the phenotype, where none is mentioned.
        frequency: How often the phenotype occurs in the disease, in words; empty when the source gives none.
        references: What the annotation cites, such as ``PMID:…`` or the disease's own entry.

    Example:
        >>> nodes = (PathNode("HP:0001250", "Phenotype", "Seizure"), PathNode("OMIM:1", "Disease", "Some disease"))
        >>> relation = PathRelation("HAS_PHENOTYPE", {"frequency": "3/5"}, reversed=True)
        >>> print(EvidencePath(nodes, (relation,), "typical_unmentioned", "HP:0001250", "3 of 5", ("PMID:1",)))
        Seizure <-HAS_PHENOTYPE- Some disease [3 of 5; PMID:1]
    """

    nodes: tuple[PathNode, ...]
    relations: tuple[PathRelation, ...]
    kind: Kind
    finding: str
    frequency: str = ""
    references: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the path as one line, arrows in the direction of the relations."""
        parts = [self.nodes[0].name or self.nodes[0].id]
        for relation, node in zip(self.relations, self.nodes[1:], strict=True):
            arrow = f"<-{relation.type}-" if relation.reversed else f"-{relation.type}->"
            parts += [arrow, node.name or node.id]
        notes = "; ".join(note for note in (self.frequency, *self.references) if note)
        return " ".join(parts) + (f" [{notes}]" if notes else "")


def frequency_text(row: Mapping[str, Any]) -> str:
    """Return an annotation's frequency in words; empty when the source gives none.

    Example:
        >>> frequency_text({"numerator": 3, "denominator": 5}), frequency_text({"frequency_class": "HP:0040281"})
        ('3 of 5', 'very frequent (80-99%)')
    """
    if row.get("denominator"):
        return f"{row.get('numerator', 0)} of {row['denominator']}"
    if row.get("percentage") is not None:
        return f"{row['percentage']:g}%"
    named = row.get("frequency_class") or row.get("frequency") or ""
    return str(FREQUENCIES.get(named, named))


def _connected(path: EvidencePath) -> EvidencePath:
    if len(path.nodes) < 2 or len(path.relations) != len(path.nodes) - 1:
        raise ValueError("a path has two nodes or more, and one relation fewer")
    return path


def references(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Split an annotation's verbatim reference list; where it cites nothing, its source is named."""
    parts = (part.strip() for part in (row.get("reference") or row.get("source") or "").split(";"))
    return tuple(dict.fromkeys(part for part in parts if part))


Evidence = Annotated[
    Mapping[str, tuple[Annotated[EvidencePath, AfterValidator(_connected)], ...]],
    Field(description="Candidate id → its evidence paths, for candidates that were explained."),
]

EDGE_PROPERTIES = (
    "frequency",
    "numerator",
    "denominator",
    "percentage",
    "frequency_class",
    "onset",
    "sex",
    "modifiers",
    "evidence",
    "reference",
    "source",
    "span",
    "method",
)
"""Properties of an annotation that its path carries, as far as its template returns them."""
