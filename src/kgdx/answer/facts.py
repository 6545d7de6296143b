"""Rows of templates as facts: who, which relation, what, which source says so; and passages of documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from kgdx.answer.artifacts import Fitted, Retrieved
from kgdx.graph.protocol import Row
from kgdx.results.cited import EvidenceItem
from kgdx.results.evidence_paths import PathNode, frequency_text, references
from kgdx.results.view import FROM_OBJECT
from kgdx.terms.normalise import read_table

_ROWS = read_table(Path(__file__).with_name("relations.tsv"))

RELATIONS: Mapping[str, tuple[str, str]] = {
    name: (relation, kind) for name, relation, kind, field in _ROWS if not field
}
"""Template → the relation that its rows state of a disease, and the class at the other end."""

INFERENCES: Mapping[str, tuple[str, str, str]] = {name: (one, kind, field) for name, one, kind, field in _ROWS if field}
"""Template → the relation by which diseases were matched, the class of what was given, and the parameter it was in."""

PASSAGES = frozenset({"texts_of_diseases", "phenotype_by_id"})
"""Templates whose rows are what sources say of diseases in words."""

DETAILS = (
    "score",
    "antecedent",
    "own",
    "cases",
    "association",
    "aspect",
    "frequency",
    "onset",
    "sex",
    "span",
    "evidence",
    "language",
    "method",
    "meant",
)
"""Columns that say more of a fact."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What one row states.

    Attributes:
        kind: ``relation`` (a disease and one entity), ``inference`` (a disease and all that it matches),
            ``description`` (what a source says of a disease in words), or ``row`` (of a template whose rows have no
            such form).
        asked: Of how many that were given an inference matches its objects.
    """

    kind: Literal["relation", "inference", "description", "row"]
    subject: PathNode | None
    relation: str
    objects: tuple[PathNode, ...] = ()
    asked: int = 0
    matched: int = 0
    source: str = ""
    references: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> tuple[object, ...]:
        """What it states, whoever states it."""
        subject = self.subject.id if self.subject else ""
        more = tuple(sorted(map(str, self.details.items()))) if self.kind in ("row", "description") else ()
        return (self.kind, subject, self.relation, tuple(each.id for each in self.objects), more)

    def __str__(self) -> str:
        """Return the fact as one line.

        Example:
            >>> fever = PathNode("s:1", "Symptom", "fever")
            >>> print(Fact("relation", PathNode("d:1", "Disease", "flu"), "HAS_SYMPTOM", (fever,)))
            flu -HAS_SYMPTOM-> fever
        """
        names = ", ".join(each.name or each.id for each in self.objects)
        subject = "" if self.subject is None else self.subject.name or self.subject.id
        if self.kind == "inference":
            return f"{subject} matches {self.matched} of {self.asked} by {self.relation}: {names}"
        if self.kind == "description":
            return str(self.details["text"])
        if self.kind == "row":
            shown = "; ".join(f"{key}: {_shown(value)}" for key, value in self.details.items())
            return f"{self.relation}: {shown}"
        if self.relation in FROM_OBJECT:
            return f"{names} -{self.relation}-> {subject}"
        note = frequency_text(self.details) or str(self.details.get("association") or "")
        return f"{subject} -{self.relation}-> {names}" + (f" [{note}]" if note else "")


def facts(
    found: Retrieved, names: Mapping[str, str], given: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Fact]:
    """Yield what the rows of a template state, in their order."""
    if found.template in RELATIONS:
        relation, label = RELATIONS[found.template]
        one = found.parameters.get("phenotype")
        for row in found.rows:
            yield _relation({"disease": one, **row} if one else row, relation, label, names)
    elif found.template in INFERENCES:
        relation, label, parameter = INFERENCES[found.template]
        given_there = found.parameters.get(parameter) or ()
        asked = len({each["given"] if isinstance(each, Mapping) else each for each in given_there})
        for row in found.rows:
            yield _inference(row, relation, label, asked, given)
    else:
        quoted = found.template in PASSAGES and all("about" in row for row in found.rows)
        make = _passage if quoted else _row
        for row in found.rows:
            yield make(row, found.template)


def _relation(row: Row, relation: str, label: str, names: Mapping[str, str]) -> Fact:
    disease = row["disease"]
    return Fact(
        "relation",
        PathNode(
            disease,
            "Phenotype" if relation == "SAME_CASES" else "Disease",
            row.get("disease_name") or names.get(disease, ""),
        ),
        row.get("relation") or relation,
        (PathNode(row["id"], label, row.get("name") or ""),),
        source=row.get("source") or "",
        references=_references(row),
        details={key: row[key] for key in (*DETAILS, *_COUNTED) if row.get(key) not in (None, "", [])},
    )


_COUNTED = ("numerator", "denominator", "percentage", "frequency_class")


def _inference(row: Row, relation: str, label: str, asked: int, given: Mapping[str, str]) -> Fact:
    ids = row.get("matched_ids") or ()
    matched = zip(ids, row.get("matched_names") or (), strict=False)
    said = tuple(dict.fromkeys(given[id] for id in ids if id in given))
    return Fact(
        "inference",
        PathNode(row["id"], "Disease", row.get("name") or ""),
        relation,
        tuple(PathNode(id, label, name or "") for id, name in matched),
        asked=asked,
        matched=row.get("matched") or 0,
        details={"given": sorted(said)} if said else {},
    )


def _passage(row: Row, template: str) -> Fact:
    return Fact(
        "description",
        PathNode(row["disease"], "Disease", row.get("disease_name") or ""),
        row["kind"],
        source=row["source"] or "",
        details={"text": row["text"], "about": row["about"]},
    )


def _row(row: Row, template: str) -> Fact:
    details = {key: value for key, value in row.items() if value not in (None, "", [], {})}
    return Fact(
        "row", None, template, source=str(row.get("source") or ""), references=_references(row), details=details
    )


def _references(row: Row) -> tuple[str, ...]:
    reference = row.get("reference")
    split = references({"reference": reference}) if isinstance(reference, str) else ()
    publications = row.get("publications") or ()
    return tuple(dict.fromkeys((*split, *(str(each) for each in publications))))


def _shown(value: Any) -> str:
    return ", ".join(map(_shown, value)) if isinstance(value, list | tuple) else str(value)


def documents(fitted: Fitted | None) -> Iterator[tuple[tuple[object, ...], EvidenceItem]]:
    """Yield the passages of documents that an answer may rest on, each with what it states, as items without ids."""
    for each in () if fitted is None else fitted.passages:
        document = each.id.partition("#")[0]
        titled = each.title and each.text and not each.text.startswith(each.title)
        item = EvidenceItem(
            "",
            "passage",
            f"{each.title}: {each.text}" if titled else each.text or each.title,
            sources=(each.source,),
            references=(document,) if document.startswith("PMID:") else (),
            details={"passage": each.id, "score": each.score},
            action="search",
        )
        yield ("passage", each.id), item
