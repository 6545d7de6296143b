"""The compiled form of the evidence templates: annotations, and the shortest ways between findings and phenotypes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kgdx.arrays.sparse import Sparse
from kgdx.graph.protocol import Row
from kgdx.graph.snapshot import Snapshot
from kgdx.schema.model import FREQUENCIES

EVIDENCE = ("evidence_supporting", "evidence_symptoms", "evidence_against", "evidence_shared", "evidence_typical")

STATED = (
    "frequency",
    "numerator",
    "denominator",
    "percentage",
    "frequency_class",
    "onset",
    "evidence",
    "reference",
    "source",
    "aspect",
)
"""Columns of what a source states of a finding of a disease."""
_ORDER = ("source", "reference", "frequency")
_MOST_STEPS = 20
_KEPT = 20_000
Way = tuple[int, ...]
"""Rows of phenotypes, from the lower to the upper end."""


class Evidence:
    """Answers the templates of :data:`EVIDENCE` from a snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._ids, self._names = (snapshot.values("phenotype", name).all for name in ("id", "name"))
        child, parent = (snapshot.column("is_a", end) for end in ("child", "parent"))
        self._up = Sparse(np.searchsorted(child, np.arange(len(self._ids) + 1)), parent, parent)
        self._ways: dict[int, dict[int, Way]] = {}

    def rows(self, name: str, bound: Mapping[str, Any]) -> list[Row]:
        found: Callable[..., list[Row]] = getattr(self, name)
        return found(**bound)

    def evidence_supporting(self, diseases: Sequence[str], findings: Sequence[str]) -> list[Row]:
        return self._meeting(self._annotations("has_phenotype", diseases), findings, ("phenotype", *_ORDER))

    def evidence_symptoms(self, diseases: Sequence[str], findings: Sequence[str]) -> list[Row]:
        order = ("phenotype", "symptom", "source", "reference", "relation")
        return self._meeting(self._worded(diseases), findings, order)

    def _meeting(
        self, annotations: Iterable[tuple[int, Row]], findings: Sequence[str], order: Sequence[str]
    ) -> list[Row]:
        given = self._phenotypes(findings)
        exact, below = [], []
        for term, row in annotations:
            for finding in given:
                if (way := self._above(finding).get(term)) is not None:
                    exact.append(row | self._chain(finding, way, "ancestor"))
                elif (way := self._above(term).get(finding)) is not None:
                    below.append(row | self._chain(finding, way[::-1], "descendant"))
        by_length = _by_length(*order)
        return sorted(exact, key=by_length) + sorted(below, key=by_length)

    def evidence_against(self, diseases: Sequence[str], findings: Sequence[str], excluded: Sequence[str]) -> list[Row]:
        absent, present = self._phenotypes(excluded), self._phenotypes(findings)
        had, lacked = [], []
        for term, row in self._annotations("has_phenotype", diseases) if absent else ():
            for finding in absent:
                if (way := self._above(term).get(finding)) is not None:
                    head = {"kind": "excluded", "relation": "HAS_PHENOTYPE"}
                    had.append(head | row | self._chain(finding, way[::-1], "descendant"))
        for term, row in self._annotations("lacks_phenotype", diseases):
            for finding in present:
                if (way := self._above(finding).get(term)) is not None:
                    head = {"kind": "annotated_absent", "relation": "LACKS_PHENOTYPE"}
                    lacked.append(head | row | self._chain(finding, way, "ancestor"))
        by_length = _by_length("phenotype", *_ORDER)
        return sorted(had, key=by_length) + sorted(lacked, key=by_length)

    def evidence_shared(
        self, diseases: Sequence[str], findings: Sequence[str], matched: Sequence[str], via: Sequence[str]
    ) -> list[Row]:
        given, wanted, over = (self._phenotypes(each) for each in (findings, matched, via))
        rows = []
        for term, row in self._annotations("has_phenotype", diseases):
            for top in over if term in wanted else ():
                if (down := self._above(term).get(top)) is not None:
                    met = {"via": self._ids[top], "via_name": self._names[top]} | self._steps("phenotype_path", down)
                    for finding in given:
                        if (up := self._above(finding).get(top)) is not None:
                            head = {"finding": self._ids[finding], "finding_name": self._names[finding]}
                            rows.append(row | met | head | self._steps("finding_path", up))
        return sorted(rows, key=in_order("disease", "finding", "via", "phenotype", *_ORDER))

    def evidence_typical(self, diseases: Sequence[str], known: Sequence[str], minimum: float, limit: int) -> list[Row]:
        left_out = set(self._phenotypes(known))
        rows = []
        for term, row in self._annotations("has_phenotype", diseases):
            if row["aspect"] in (None, "P") and term not in left_out:
                share = _share(row)
                if share is not None and share >= minimum:
                    rows.append({**row, "share": share})
        ordered = in_order("disease", "phenotype", *_ORDER)
        return sorted(rows, key=lambda row: (-row["share"], ordered(row)))[:limit]

    def _phenotypes(self, ids: Iterable[str]) -> list[int]:
        return sorted({row for id in ids if (row := _place(self._ids, id)) is not None})

    def _annotations(self, table: str, diseases: Iterable[str]) -> Iterator[tuple[int, Row]]:
        owner, term = (self._snapshot.column(table, end) for end in ("disease", "phenotype"))
        ids, names = (self._snapshot.values("disease", name) for name in ("id", "name"))
        for disease in sorted({row for id in diseases if (row := _place(ids, id)) is not None}):
            first, last = np.searchsorted(owner, (disease, disease + 1)).tolist()
            head = {"disease": ids[disease], "disease_name": names[disease]}
            stated = (self._snapshot.values(table, name).values(first, last) for name in STATED)
            for phenotype, values in zip(term[first:last].tolist(), zip(*stated, strict=True), strict=True):
                named = {"phenotype": self._ids[phenotype], "phenotype_name": self._names[phenotype]}
                yield phenotype, head | named | dict(zip(STATED, values, strict=True))

    def _worded(self, diseases: Iterable[str]) -> Iterator[tuple[int, Row]]:
        owner, symptom = (self._snapshot.column("has_symptom", end) for end in ("disease", "symptom"))
        mapped, term = (self._snapshot.column("symptom_phenotype", end) for end in ("symptom", "phenotype"))
        relation = self._snapshot.values("symptom_phenotype", "relation")
        ids, names = (self._snapshot.values("disease", name) for name in ("id", "name"))
        symptoms, words = (self._snapshot.values("symptom", name) for name in ("id", "name"))
        for disease in sorted({row for id in diseases if (row := _place(ids, id)) is not None}):
            first, last = np.searchsorted(owner, (disease, disease + 1)).tolist()
            head = {"disease": ids[disease], "disease_name": names[disease]}
            stated = (
                self._snapshot.values("has_symptom", name).values(first, last) for name in ("reference", "source")
            )
            for each, reference, source in zip(symptom[first:last].tolist(), *stated, strict=True):
                said = {
                    "symptom": symptoms[each],
                    "symptom_name": words[each],
                    "reference": reference,
                    "source": source,
                }
                for at in range(*np.searchsorted(mapped, (each, each + 1)).tolist()):
                    named = {"phenotype": self._ids[term[at]], "relation": relation[at]}
                    yield int(term[at]), head | named | said

    def _chain(self, finding: int, way: Way, direction: str) -> Row:
        said = "exact" if len(way) == 1 else direction
        head = {"finding": self._ids[finding], "finding_name": self._names[finding], "direction": said}
        return head | self._steps("path", way)

    def _steps(self, name: str, way: Way) -> Row:
        return {f"{name}_ids": [self._ids[row] for row in way], f"{name}_names": [self._names[row] for row in way]}

    def _above(self, term: int) -> dict[int, Way]:
        if term in self._ways:
            return self._ways[term]
        found: dict[int, Way] = {term: (term,)}
        edge: dict[int, Way] = found
        for _ in range(_MOST_STEPS):
            reached: dict[int, Way] = {}
            for lower, way in edge.items():
                for upper in self._up.columns(lower).tolist():
                    if upper not in found and (upper not in reached or way < reached[upper][:-1]):
                        reached[upper] = (*way, upper)
            if not reached:
                break
            found = {**found, **reached}
            edge = reached
        if len(self._ways) >= _KEPT:
            self._ways.clear()
        self._ways[term] = found
        return found


def _place(ids: Sequence[str], id: str) -> int | None:
    at = bisect_left(ids, id)
    return at if at < len(ids) and ids[at] == id else None


def _share(row: Row) -> float | None:
    """The share of patients as ``evidence_typical`` reckons it."""
    if (row["denominator"] or 0) > 0:
        return None if row["numerator"] is None else float(row["numerator"]) / row["denominator"]
    if row["percentage"] is not None:
        return float(row["percentage"]) / 100
    stated = FREQUENCIES.get(row["frequency_class"] or "")
    return 0.0 if stated is None else stated.share


def in_order(*columns: str) -> Callable[[Row], Any]:
    """The order of the templates: absent values last."""
    return lambda row: [(row[name] is None, row[name] or "") for name in columns]


def _by_length(*columns: str) -> Callable[[Row], Any]:
    last = in_order(*columns)
    return lambda row: (row["disease"], row["finding"], len(row["path_ids"]), *last(row))
