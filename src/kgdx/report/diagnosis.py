"""The page of a diagnosis: what its template is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgdx.report.candidates import chosen, explained, listed, names
from kgdx.report.document import Diagnosis, read
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
    shown = chosen(diagnosis)
    ranked = listed(diagnosis, shown)
    by_id = {candidate.id: candidate for candidate in diagnosis.candidates}
    reasons = [explained(diagnosis, entry, by_id[entry.id]) for entry in ranked if entry.explained]
    return {
        "doc": diagnosis,
        "title": f"Diagnosis of {clean(diagnosis.case.id)}",
        "ranked": ranked,
        "at_once": LISTED_AT_ONCE,
        "explained": reasons,
        "left_out": sum(id in by_id for id in diagnosis.evidence) - len(shown),
        "labels": names(diagnosis.case.findings),
        "cited": cited([(each.listed.anchor, each.told) for each in reasons]),
    }


def cited(groups: Sequence[tuple[str, Sequence[Any]]]) -> list[Cited]:
    """Return each reference of some paths in words, publications first, the most used ones before others."""
    used: dict[str, dict[str, int]] = {}
    for anchor, paths in groups:
        for path in paths:
            for reference in path.references:
                counts = used.setdefault(reference, {})
                counts[anchor] = counts.get(anchor, 0) + 1
    ordered = sorted(used, key=lambda reference: (-sum(used[reference].values()), reference))
    return [Cited(reference, tuple(used[reference].items())) for reference in each_reference(ordered)]
