"""The graph's phenotypes: their names, from any HPO id to the current term, and what stands above a term."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from kgdx.arrays.sparse import Ints, compressed
from kgdx.case.patient import Finding, Issue
from kgdx.terms.dictionary import ROOT, in_scope

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot


class Terms:
    """Names and ids of the phenotypes of a snapshot; columns are read when they are first asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._columns = snapshot.columns("phenotype")
        self._snapshot = snapshot

    @cached_property
    def _ids(self) -> list[str]:
        return self._columns["id"].all

    @cached_property
    def _alternative(self) -> dict[str, int]:
        lists = self._columns["alt_ids"].values()
        return {other: row for row, others in enumerate(lists) for other in others or ()}

    @cached_property
    def _up(self) -> tuple[list[int], list[int]]:
        child, parent = (self._snapshot.column("is_a", end) for end in ("child", "parent"))
        return np.searchsorted(child, np.arange(len(self._ids) + 1)).tolist(), parent.tolist()

    def _parents(self, row: int) -> list[int]:
        start, parent = self._up
        return parent[start[row] : start[row + 1]]

    @cached_property
    def _children(self) -> dict[int, list[int]]:
        children: dict[int, list[int]] = {}
        for child, parent in zip(
            *(self._snapshot.column("is_a", end).tolist() for end in ("child", "parent")), strict=True
        ):
            children.setdefault(parent, []).append(child)
        return children

    def id(self, row: int) -> str:
        return self._ids[row]

    def name(self, row: int) -> str:
        return self._columns["name"][row] or ""

    def name_zh(self, row: int) -> str:
        return self._columns["name_zh"][row] or ""

    def everyday(self, curie: str, language: str = "en") -> str:
        """Return a term's name as a person says it, or an empty string: the Chinese name, or a layperson's synonym."""
        row = self.row(curie)
        if row is None:
            return ""
        return self.name_zh(row) if language == "zh" else self._lay(row)

    def _lay(self, row: int) -> str:
        name = self.name(row).casefold()
        said = [each for each in self._columns["lay_synonyms"][row] or () if each.casefold() != name]
        return min(said, key=lambda each: (len(each), each), default="")

    def label(self, row: int, number: int) -> str:
        """Return a term's name (0) or its n-th synonym."""
        if number == 0:
            return self.name(row)
        label: str = self._columns["synonyms"][row][number - 1]
        return label

    @cached_property
    def labels(self) -> tuple[list[str], list[int]]:
        """All names of the terms that are findings, in lower case, and the rows that they belong to."""
        names, synonyms = self._columns["name"].all, self._columns["synonyms"].values()
        found = [
            (label.lower(), row) for row in self._findings for label in (names[row], *(synonyms[row] or ())) if label
        ]
        return [label for label, _ in found], [row for _, row in found]

    @cached_property
    def labels_zh(self) -> tuple[list[str], list[int]]:
        """All Chinese names of the terms that are findings, and the rows that they belong to."""
        names = self._columns["name_zh"].values()
        found = [(names[row], row) for row in self._findings if names[row]]
        return [label for label, _ in found], [row for _, row in found]

    @cached_property
    def sorted_labels(self) -> list[str]:
        return [" ".join(sorted(label.split())) for label in self.labels[0]]

    @cached_property
    def _findings(self) -> list[int]:
        rows: list[int] = np.flatnonzero(in_scope(self._snapshot)).tolist()
        return rows

    def row(self, curie: str) -> int | None:
        """Return the row of a CURIE that is a term's own."""
        at = bisect_left(self._ids, curie)
        return at if at < len(self._ids) and self._ids[at] == curie else None

    def neighbours(self, row: int) -> list[int]:
        return [*self._parents(row), *self._children.get(row, ())]

    def above(self, general: int, specific: int) -> bool:
        """Return whether a term (a row) is another one's ancestor."""
        seen: set[int] = set()
        stack = [specific]
        while stack:
            for parent in self._parents(stack.pop()):
                if parent == general:
                    return True
                if parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
        return False

    def current(self, curie: str) -> tuple[Finding | None, list[Issue]]:
        """Return the finding for an HPO id, and issues about what was corrected."""
        row = self.row(curie)
        if row is None:
            row = self._alternative.get(curie)
            if row is None:
                return None, [self._unknown(curie)]
            message = f"{curie} is an alternative id of {self.id(row)} ({self.name(row)})"
            return self._given(row, curie), [Issue("info", curie, message, f"{self.id(row)} is used")]
        if not self._columns["obsolete"][row]:
            return self._given(row, curie), self._doubts(row)
        return self._replaced(row, curie)

    def _doubts(self, row: int) -> list[Issue]:
        root = self.row(ROOT)
        if root is None or row == root or self.above(root, row):
            return []
        message = f"{self.id(row)} ({self.name(row)}) is no phenotypic abnormality"
        return [Issue("warning", self.id(row), message, "it says nothing about which disease it is; leave it out")]

    def _given(self, row: int, given: str) -> Finding:
        return Finding(id=self.id(row), label=self.name(row), text=given, matched=given, method="id")

    def _replaced(self, row: int, curie: str) -> tuple[Finding | None, list[Issue]]:
        name = self.name(row).removeprefix("obsolete ")
        target = self._columns["replaced_by"][row]
        new = self.row(target) if target else None
        if new is not None:
            message = f"{curie} ({name}) is obsolete"
            used = f"its replacement {self.id(new)} ({self.name(new)}) is used"
            return self._given(new, curie), [Issue("info", curie, message, used)]
        consider = [i for i in self._columns["consider"][row] or () if self.row(i) is not None]
        named = ", ".join(f"{i} ({self.name(self.row(i) or 0)})" for i in consider)
        hint = f"consider {named}" if consider else "give the finding by name"
        return None, [Issue("warning", curie, f"{curie} ({name}) is obsolete and has no replacement", hint)]

    def _unknown(self, curie: str) -> Issue:
        at = bisect_left(self._ids, curie)
        near = [self._ids[i] for i in (at - 1, at) if 0 <= i < len(self._ids)]
        named = ", ".join(f"{i} ({self.name(self.row(i) or 0)})" for i in near)
        return Issue(
            "warning", curie, f"{curie} is not in this graph's ontology", f"check the number; near it: {named}"
        )


class Hierarchy:
    """Which terms stand above a term.

    Example:
        >>> import numpy as np
        >>> hierarchy = Hierarchy(["HP:1", "HP:2", "HP:3"], np.array([1, 2], np.int32), np.array([0, 1], np.int32))
        >>> sorted(hierarchy.ancestors("HP:3"))
        ['HP:1', 'HP:2']
    """

    def __init__(self, ids: list[str], child: Ints, parent: Ints) -> None:
        self._ids = ids
        self._up = compressed(child, parent, np.ones(len(child), bool), len(ids))
        self._reach = lru_cache(maxsize=4096)(self._walk)

    @classmethod
    def of(cls, snapshot: Snapshot) -> Hierarchy:
        """Read the hierarchy of a graph's snapshot."""
        return cls(
            snapshot.values("phenotype", "id").all, snapshot.column("is_a", "child"), snapshot.column("is_a", "parent")
        )

    def ancestors(self, id: str) -> frozenset[str]:
        return self._reach(id)

    def _walk(self, id: str) -> frozenset[str]:
        start = bisect_left(self._ids, id)
        if start == len(self._ids) or self._ids[start] != id:
            return frozenset()
        seen, queue = {start}, [start]
        while queue:
            for parent in self._up.columns(queue.pop()).tolist():
                if parent not in seen:
                    seen.add(parent)
                    queue.append(parent)
        return frozenset(self._ids[row] for row in seen - {start})
