"""The page of a diagnosis: what its template is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgdx.report.candidates import Told, chosen, explained, listed, names
from kgdx.report.document import Diagnosis, Finding, Ranked, Source, read
from kgdx.report.words import clean, each_reference

LISTED_AT_ONCE = 20
"""So many candidates are listed before the reader asks for the rest."""


@dataclass(frozen=True, slots=True)
class Cited:
    """A reference, and the candidates whose evidence names it with the number of paths."""

    reference: str
    used: tuple[tuple[str, int], ...]


def view(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the template of a diagnosis shows.

    Raises:
        UsageError: The document is damaged.
    """
    diagnosis = read(Diagnosis, document)
    found = reasons(diagnosis, diagnosis.case.findings)
    return {
        "doc": diagnosis,
        "case": diagnosis.case,
        "title": f"Diagnosis of {clean(diagnosis.case.id)}",
        "sources": sources(diagnosis),
        "cited": cited([(each.listed.anchor, each.told) for each in found["explained"]]),
        **found,
    }


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources that the evidence of a page names, and the others of the graph."""

    named: tuple[Source, ...]
    others: tuple[Source, ...]


def sources(document: Ranked, named: Iterable[str] = ()) -> Sources:
    """Return the sources of a result's graph: those that its paths, or further evidence, name come first."""
    paths = (path for id in chosen(document) for path in document.evidence[id])
    ids = {str(relation.properties.get("source")) for path in paths for relation in path.relations}
    ids.update(named)
    return Sources(
        tuple(each for each in document.sources if each.id in ids),
        tuple(each for each in document.sources if each.id not in ids),
    )


def reasons(document: Ranked, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return what templates show of ranked diseases."""
    shown = chosen(document)
    ranked = listed(document, findings, shown)
    by_id = {candidate.id: candidate for candidate in document.candidates}
    return {
        "ranked": ranked,
        "at_once": LISTED_AT_ONCE,
        "explained": [explained(document, findings, each, by_id[each.id]) for each in ranked if each.explained],
        "left_out": sum(id in by_id for id in document.evidence) - len(shown),
        "labels": names(findings),
    }


def cited(groups: Iterable[tuple[str, Sequence[Told]]]) -> list[Cited]:
    """Return each reference of some paths in words, publications first, the most used ones before others."""
    used: dict[str, dict[str, int]] = {}
    for anchor, paths in groups:
        for path in paths:
            for reference in path.references:
                counts = used.setdefault(reference, {})
                counts[anchor] = counts.get(anchor, 0) + 1
    ordered = sorted(used, key=lambda reference: (-sum(used[reference].values()), reference))
    return [Cited(reference, tuple(used[reference].items())) for reference in each_reference(ordered)]
