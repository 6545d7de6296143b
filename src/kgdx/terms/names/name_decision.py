"""Results of looking up names: entries of the graph, a decision with its reason, and mentions in a text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

KINDS = ("Disease", "Phenotype", "Symptom", "Test", "Drug", "Cure", "Gene")
"""Node classes whose names can be looked up."""
ALL_KINDS = (*KINDS, "MeshDescriptor")
"""Node classes of which an index can be made; one is kept under its place here."""


@dataclass(frozen=True, slots=True)
class NameEntry:
    """A node that a name means, or may mean."""

    id: str
    kind: str
    name: str
    source: str
    matched: str
    method: str
    relation: str
    score: float
    via: str = ""


@dataclass(frozen=True, slots=True)
class NameDecision:
    """Which entries a name means, and why."""

    given: str
    kinds: tuple[str, ...]
    entries: tuple[NameEntry, ...]
    reason: str
    candidates: tuple[NameEntry, ...] = ()
    left_out: int = 0

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(entry.id for entry in self.entries)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(entry.name for entry in self.entries)

    @property
    def method(self) -> str:
        return self.entries[0].method if self.entries else ""

    @property
    def score(self) -> float:
        return self.entries[0].score if self.entries else 0.0

    @property
    def matched(self) -> str:
        return self.entries[0].matched if self.entries else ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Mention:
    """A part of a text that names entries of one class."""

    start: int
    end: int
    text: str
    kind: str
    ids: tuple[str, ...]
    names: tuple[str, ...]


def kinds_of(kinds: Iterable[str]) -> list[int]:
    """Return the numbers under which node classes are kept; unknown ones have none."""
    return [ALL_KINDS.index(kind) for kind in kinds if kind in ALL_KINDS]
