"""MeSH headings of diseases by their names, each decided once: a disease comes up in many answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from kgdx.align.mesh import MeshDecision, MeshIndex
from kgdx.errors import AbsentError

BRANCHES = ("C", "F03")
"""Branches of the MeSH tree that hold diseases: Diseases, and Mental Disorders."""

KEPT = 10_000
"""Decisions that are kept."""


class Headings:
    """Decides which heading a disease has; safe with several threads.

    Args:
        open_index: Opens the index of descriptors, when the first name is asked for.
    """

    def __init__(self, open_index: Callable[[], MeshIndex]) -> None:
        self._open = open_index
        self._index: MeshIndex | None = None
        self._lock = threading.Lock()
        self._decided: dict[tuple[str, ...], MeshDecision | None] = {}
        self._absent = False

    def decide(self, names: Sequence[str]) -> MeshDecision | None:
        """Return the decision for a disease; ``None`` where the graph has no MeSH.

        Args:
            names: Its names in English, the preferred one first.

        Raises:
            StoreError: The index cannot be made or read.
        """
        key = tuple(names)
        with self._lock:
            if key not in self._decided:
                index = self._ready()
                if len(self._decided) >= KEPT:
                    self._decided.clear()
                first, others = (key[0], key[1:]) if key else ("", ())
                decided = None if index is None else index.map_to_mesh(first, synonyms=others, branches=BRANCHES)
                self._decided[key] = decided
            return self._decided[key]

    def close(self) -> None:
        """Close the index."""
        with self._lock:
            if self._index is not None:
                self._index.close()

    def _ready(self) -> MeshIndex | None:
        if self._index is None and not self._absent:
            try:
                self._index = self._open()
            except AbsentError:  # a graph without MeSH: its diseases have no heading, and need none
                self._absent = True
        return self._index
