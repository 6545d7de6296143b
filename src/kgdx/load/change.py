"""How much two graphs differ in what one source states of one class or relation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """How the rows of one table that one source states differ.

    Attributes:
        table: ``Disease``, or ``Disease-HAS_PHENOTYPE->Phenotype``.
        source: Who states them; of a node that changed, who states it now.
        added: Rows that are new. A relation of which a property changed counts as removed and added.
        removed: Rows that are gone.
        changed: Nodes whose properties changed.
        examples: Some of them: ``+ OMIM:1``, ``- OMIM:1 HP:1``, ``~ OMIM:1``.
    """

    table: str
    source: str
    added: int = 0
    removed: int = 0
    changed: int = 0
    examples: tuple[str, ...] = ()


def by_table(changes: Iterable[Change]) -> Mapping[str, tuple[int, int, int]]:
    """Add up changes by table: added, removed, changed.

    Example:
        >>> by_table([Change("Gene", "a", added=1), Change("Gene", "b", removed=2)])
        {'Gene': (1, 2, 0)}
    """
    found: dict[str, tuple[int, int, int]] = {}
    for each in changes:
        added, removed, changed = found.get(each.table, (0, 0, 0))
        found[each.table] = (added + each.added, removed + each.removed, changed + each.changed)
    return found
