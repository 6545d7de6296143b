"""The is-a hierarchy of phenotypes, walked on the snapshot's arrays."""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from kgdx.graph.snapshot import Snapshot

Rows = npt.NDArray[np.int32]


class Hierarchy:
    """Which terms stand above a term.

    Args:
        ids: Term ids, sorted; an edge's ends are rows of it.
        child: Row of the lower term of each edge.
        parent: Row of the upper term of each edge.

    Example:
        >>> import numpy as np
        >>> hierarchy = Hierarchy(["HP:1", "HP:2", "HP:3"], np.array([1, 2], np.int32), np.array([0, 1], np.int32))
        >>> sorted(hierarchy.ancestors("HP:3"))
        ['HP:1', 'HP:2']
    """

    def __init__(self, ids: list[str], child: Rows, parent: Rows) -> None:
        self._ids = ids
        self._up = _adjacency(child, parent, len(ids))
        self._reach = lru_cache(maxsize=4096)(self._walk)

    @classmethod
    def of(cls, snapshot: Snapshot) -> Hierarchy:
        """Read the hierarchy of a graph's snapshot."""
        ids: list[str] = snapshot.table("phenotype").column("id").to_pylist()
        return cls(ids, snapshot.column("is_a", "child"), snapshot.column("is_a", "parent"))

    def ancestors(self, id: str) -> frozenset[str]:
        """Return the ids of all terms above ``id``, without itself; empty for an unknown id."""
        return self._reach(id)

    def _walk(self, id: str) -> frozenset[str]:
        start = bisect_left(self._ids, id)
        if start == len(self._ids) or self._ids[start] != id:
            return frozenset()
        pointers, neighbours = self._up
        seen, queue = {start}, [start]
        while queue:
            row = queue.pop()
            for neighbour in neighbours[pointers[row] : pointers[row + 1]].tolist():
                if neighbour not in seen:
                    seen.add(neighbour)
                    queue.append(neighbour)
        return frozenset(self._ids[row] for row in seen - {start})


def _adjacency(start: Rows, end: Rows, size: int) -> tuple[npt.NDArray[np.int64], Rows]:
    """Return edges in compressed form: the neighbours of row ``i`` are ``ends[pointers[i]:pointers[i + 1]]``."""
    order = np.argsort(start, kind="stable")
    pointers = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(start, minlength=size), out=pointers[1:])
    return pointers, end[order]
