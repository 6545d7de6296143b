"""Derive steps: what kgdx infers from the checked tables, each step declared with what it reads and its version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kgdx.store.protocol import GraphTable, NodeTable


@dataclass(frozen=True, slots=True)
class Derive:
    """One step that infers further tables, made again only when something that it rests on has changed.

    Attributes:
        name: The ``source`` of the rows it gives, such as ``kgdx:equivalence``; no two steps have the same.
        version: Changes whenever the results would: it holds the digests of outer inputs too (decisions that people
            made, the name of an encoder).
        reads: The node classes and relation types that it looks at.
        function: Gets the tables of these classes and types, those of earlier steps among them, and returns tables of
            its own. Their rows need no ``source``.
        detail: What it does, as a progress bar says it.
    """

    name: str
    version: str
    reads: tuple[str, ...]
    function: Callable[[Sequence[GraphTable]], Iterable[GraphTable]]
    detail: str = "inferring"

    def looks_at(self, name: str) -> bool:
        """Whether the step reads a node class or relation type.

        Example:
            >>> Derive("kgdx:x", "1", ("Disease",), lambda tables: []).looks_at("Gene")
            False
        """
        return name in self.reads


def name_of(table: GraphTable) -> str:
    """Return a table's node class or relation type."""
    return table.label if isinstance(table, NodeTable) else table.type
