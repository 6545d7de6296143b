"""What resembles what in a graph: findings that share an ancestor, diseases that share findings, equivalent entries."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kgdx.case import Case, Finding
from kgdx.evaluate.question_wordings import LANGUAGES
from kgdx.evaluate.simulated_patients import ROOT

if TYPE_CHECKING:
    from kgdx.api import Graph

NEAR = 60
"""Diseases that are compared with one at most."""

FINDINGS = 25
"""Findings by which diseases are compared at most."""

NAME = {"en": re.compile(r"(?=.*[A-Za-z])[\x20-\x7e’é–]{3,60}"), "zh": re.compile(r"(?=.*[\u4e00-\u9fff]).{2,40}")}
"""Names by language that can stand in a question; some of the sources' are sentences."""

_SYMBOL = re.compile(r"[A-Za-z0-9-]{2,20}")
_ID = re.compile(r"[A-Z]+:\S+")


class Resemblance:
    """Finds what resembles a finding or a disease; rows are those of the snapshot's tables."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.diseases: list[str] = graph.snapshot.table("disease").column("id").to_pylist()
        self.terms: list[str] = graph.snapshot.table("phenotype").column("id").to_pylist()

    def relations(self, table: str, end: str) -> dict[int, list[int]]:
        """Return what each disease is related to, in the order of a table, each once.

        Of phenotypes only those that are findings count: no modes of inheritance, and nothing beside the root.
        """
        columns = self._graph.snapshot.table(table).to_pydict()
        aspects = columns.get("aspect", [None] * len(columns["disease"]))
        found: dict[int, dict[int, None]] = defaultdict(dict)
        for disease, row, aspect in zip(columns["disease"], columns[end], aspects, strict=True):
            if end != "phenotype" or (aspect in (None, "P") and row in self.abnormal):
                found[disease][row] = None
        return {disease: list(rows) for disease, rows in found.items()}

    @cached_property
    def findings(self) -> dict[int, list[int]]:
        return self.relations("has_phenotype", "phenotype")

    @cached_property
    def parents(self) -> list[list[int]]:
        """Of each finding, the terms directly above it."""
        table = self._graph.snapshot.table("is_a").to_pydict()
        found: list[list[int]] = [[] for _ in self.terms]
        for child, parent in zip(table["child"], table["parent"], strict=True):
            found[child].append(parent)
        return found

    @cached_property
    def children(self) -> list[list[int]]:
        """Of each finding, the terms directly below it."""
        found: list[list[int]] = [[] for _ in self.terms]
        for child, parents in enumerate(self.parents):
            for parent in parents:
                found[parent].append(child)
        return found

    @cached_property
    def abnormal(self) -> frozenset[int]:
        """The findings below phenotypic abnormality, without it."""
        left = [row for row, id in enumerate(self.terms) if id == ROOT]
        found: set[int] = set()
        while left:
            fresh = [child for child in self.children[left.pop()] if child not in found]
            found.update(fresh)
            left += fresh
        return frozenset(found)

    def above(self, row: int) -> set[int]:
        """Return a finding and all terms above it."""
        found, left = {row}, [row]
        while left:
            fresh = [parent for parent in self.parents[left.pop()] if parent not in found]
            found.update(fresh)
            left += fresh
        return found

    def kin(self, row: int, seed: str) -> Iterator[int]:
        """Yield findings that share a parent with one, then those that share a grandparent; by chance within these."""
        seen = self.above(row)
        parents = [each for each in self.parents[row] if each in self.abnormal]
        siblings = {child for parent in parents for child in self.children[parent]}
        uncles = {child for parent in parents for each in self.parents[parent] for child in self.children[each]}
        for near in (siblings, {child for each in uncles & self.abnormal for child in self.children[each]}):
            fresh = sorted(near - seen, key=lambda each: digest(seed, each))
            seen |= near
            yield from fresh

    def members(self, disease: int) -> list[int]:
        """Return the rows of a disease's equivalent entries, its own first."""
        number = int(self._graph.ranker.model.candidates.of[disease])
        return [disease, *(each for each in self._merged.get(number, ()) if each != disease)]

    @cached_property
    def _merged(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        for row, number in enumerate(self._graph.ranker.model.candidates.of.tolist()):
            if number >= 0:
                found[number].append(row)
        return found

    def subject(self, disease: int) -> str:
        return min(self.diseases[row] for row in self.members(disease))

    def near(self, disease: int) -> list[int]:
        """Return the diseases whose findings resemble those of one, without its equivalents and its family."""
        findings = [row for each in self.members(disease) for row in self.findings.get(each, [])]
        if not findings:
            return []
        case = Case("near", tuple(Finding(self.terms[row]) for row in dict.fromkeys(findings[:FINDINGS])))
        return self.like(case, disease)

    def like(self, case: Case, disease: int | None = None) -> list[int]:
        """Return the diseases that fit a patient best, without one, its equivalents and its family."""
        ranker = self._graph.ranker
        total = ranker.score(case).total
        rows: list[int] = ranker.model.candidates.disease[np.argsort(-total, kind="stable")[:NEAR]].tolist()
        if disease is None:
            return rows
        own, family = {*self.members(disease)}, ranker.family_of(self.diseases[disease])
        return [row for row in rows if row not in own and ranker.family_of(self.diseases[row]) != family]


class NodeNames:
    """Ids of a node table's rows, and those of their names that can stand as an option or in a sentence."""

    def __init__(self, graph: Graph, table: str) -> None:
        columns = graph.snapshot.table(table).to_pydict()
        self.ids: list[str] = columns["id"]
        self._plain: list[str | None] = columns["name"]
        self._chinese: list[str | None] = columns.get("name_zh", [None] * len(self.ids))
        self._symbols = table == "gene"

    def name(self, row: int, language: str) -> str | None:
        plain = self._plain[row] or ""
        if self._symbols:
            return plain if _SYMBOL.fullmatch(plain) else None
        words = self._chinese[row] or plain if language == "zh" else plain
        return words if NAME[language].fullmatch(words) and not _ID.fullmatch(words) else None

    def both(self, row: int) -> dict[str, str]:
        return {language: name for language in LANGUAGES if (name := self.name(row, language)) is not None}


def digest(*parts: object) -> str:
    return hashlib.sha256("/".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()
