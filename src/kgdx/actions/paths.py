"""Rows of the evidence templates made into evidence paths, the nearest ones for each finding."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from kgdx.case import Ancestry, Case, Status
from kgdx.graph.protocol import Row
from kgdx.results.ranked import EDGE_PROPERTIES, EvidencePath, Kind, PathNode, PathRelation, frequency_text, references
from kgdx.schema.model import FREQUENCIES


def share(row: Mapping[str, Any]) -> float | None:
    """Return the share of patients that an annotation states; ``None`` when it states none.

    Example:
        >>> share({"numerator": 1, "denominator": 4}), share({"percentage": 45.0}), share({})
        (0.25, 0.45, None)
    """
    if row.get("denominator"):
        return float(row.get("numerator") or 0) / float(row["denominator"])
    if row.get("percentage") is not None:
        return float(row["percentage"]) / 100
    stated = FREQUENCIES.get(row.get("frequency_class") or "")
    return None if stated is None else stated.share


def supporting(case: Case, rows: Iterable[Row]) -> list[EvidencePath]:
    """Return the paths from the case over a finding and the ontology to annotations of one candidate.

    Only the annotations nearest to each finding are kept: what is three steps away says nothing once the finding
    itself is annotated.
    """
    return [_path(case, row, "supports", "OBSERVED", "HAS_PHENOTYPE") for row in _nearest(rows)]


def against(case: Case, rows: Iterable[Row]) -> list[EvidencePath]:
    """Return the paths from an excluded finding to an annotation, or from an observed one to an annotated absence."""
    return [
        _path(case, row, "against", "EXCLUDED" if row["relation"] == "HAS_PHENOTYPE" else "OBSERVED", row["relation"])
        for row in _nearest(rows)
    ]


def typical(case: Case, rows: Iterable[Row], ancestry: Ancestry, limit: int) -> list[EvidencePath]:
    """Return what most patients with the disease have and the case does not mention, the most frequent first.

    A phenotype above an observed finding is implied by it; one below any mentioned finding is a detail of it.
    """
    mentioned = {finding.id for finding in case.findings if finding.status in (Status.PRESENT, Status.ABSENT)}
    implied = mentioned.union(*(ancestry.ancestors(id) for id in case.observed))
    kept: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: (-(share(row) or 0.0), row["phenotype"])):
        phenotype = row["phenotype"]
        if phenotype not in implied and not mentioned & ancestry.ancestors(phenotype):
            kept.setdefault(phenotype, row)
    return [_unmentioned(row) for row in list(kept.values())[:limit]]


def by_candidate(rows: Iterable[Row], members: Mapping[str, str]) -> dict[str, list[Row]]:
    """Sort rows by the candidate that their disease belongs to.

    Args:
        rows: Rows with a ``disease`` column.
        members: Disease id → candidate id.

    Example:
        >>> by_candidate([{"disease": "ORPHA:1"}], {"ORPHA:1": "OMIM:1"})
        {'OMIM:1': [{'disease': 'ORPHA:1'}]}
    """
    sorted_rows: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        sorted_rows[members[row["disease"]]].append(row)
    return dict(sorted_rows)


def _nearest(rows: Iterable[Row]) -> list[Row]:
    """Per finding, the rows with the fewest steps; exact and frequent annotations first."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["finding"]].append(row)
    kept: list[Row] = []
    for finding in sorted(groups):
        fewest = min(len(_chain(row)) for row in groups[finding])
        near = [row for row in groups[finding] if len(_chain(row)) == fewest]
        kept += sorted(near, key=lambda row: (-(share(row) or 0.0), row["phenotype"], row["disease"], _reference(row)))
    return kept


def _reference(row: Row) -> str:
    return str(row.get("reference") or "")


def _chain(row: Row) -> list[str]:
    """Ids from the finding to the annotated phenotype; by way of the shared ancestor, where they meet at one."""
    if "via" in row:
        return [*row["finding_path_ids"], *reversed(row["phenotype_path_ids"][:-1])]
    return list(row["path_ids"])


def _names(row: Row) -> list[str]:
    if "via" in row:
        return [*row["finding_path_names"], *reversed(row["phenotype_path_names"][:-1])]
    return list(row["path_names"])


def _rises(row: Row) -> int:
    """How many of the chain's first steps go up; the others go down."""
    if "via" in row:
        return len(row["finding_path_ids"]) - 1
    return 0 if row["direction"] == "descendant" else len(row["path_ids"]) - 1


def _path(case: Case, row: Row, kind: Kind, first: str, last: str) -> EvidencePath:
    chain = [PathNode(id, "Phenotype", name or "") for id, name in zip(_chain(row), _names(row), strict=True)]
    rises = _rises(row)
    steps = [PathRelation("IS_A", reversed=at >= rises) for at in range(len(chain) - 1)]
    return EvidencePath(
        nodes=(PathNode(case.id, "PatientCase", "patient"), *chain, _disease(row)),
        relations=(_observation(case, row["finding"], first), *steps, _annotation(row, last)),
        kind=kind,
        finding=row["finding"],
        frequency=frequency_text(row),
        references=references(row),
    )


def _unmentioned(row: Row) -> EvidencePath:
    return EvidencePath(
        nodes=(PathNode(row["phenotype"], "Phenotype", row["phenotype_name"]), _disease(row)),
        relations=(_annotation(row, "HAS_PHENOTYPE"),),
        kind="typical_unmentioned",
        finding=row["phenotype"],
        frequency=frequency_text(row),
        references=references(row),
    )


def _disease(row: Row) -> PathNode:
    return PathNode(row["disease"], "Disease", row["disease_name"])


def _annotation(row: Row, type: str) -> PathRelation:
    kept = {key: row[key] for key in EDGE_PROPERTIES if row.get(key) not in (None, "", [])}
    return PathRelation(type, kept, reversed=True)


def _observation(case: Case, id: str, type: str) -> PathRelation:
    status = Status.PRESENT if type == "OBSERVED" else Status.ABSENT
    found = next((finding for finding in case.findings if finding.id == id and finding.status is status), None)
    if found is None:
        return PathRelation(type)
    kept = {"method": found.method, "matched": found.matched, "score": found.score, "onset": found.onset}
    return PathRelation(type, {key: value for key, value in kept.items() if value not in (None, "")})
