"""Decisions of people about mappings: kept in the graph folder as SSSOM, and stronger than those of kgdx itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgdx.errors import UsageError, refusing
from kgdx.files.known import write_whole
from kgdx.graph.protocol import GraphTable
from kgdx.schema.model import MATCHES
from kgdx.terms.names.sssom import MappingStatement, read_sssom, write_sssom

FILE = "mappings.sssom.tsv"
"""Where the decisions lie in a graph folder; a rebuild leaves it alone."""

CLASSES = ("Disease", "Phenotype", "Symptom", "MeshDescriptor")
"""Classes whose nodes can be mapped."""

COMPUTED = "kgdx:"
"""How the names of sources begin that kgdx infers itself."""

TYPES: Mapping[tuple[str, str], str] = {
    ("Disease", "Disease"): "SAME_AS",
    ("Disease", "MeshDescriptor"): "MAPPED_TO",
    ("Phenotype", "MeshDescriptor"): "MAPPED_TO",
    ("Symptom", "Phenotype"): "MAPPED_TO",
}
"""Which relation a mapping between nodes of two classes is."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decisions of one graph folder, each pair of ids once."""

    statements: tuple[MappingStatement, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> Decisions:
        """Read the decisions of a graph folder; there are none when it has no such file."""
        file = folder / FILE
        if not file.is_file():
            return cls()
        return cls(tuple(read_sssom(file).statements))

    def write(self, folder: Path) -> None:
        with refusing(UsageError, f"{folder / FILE} cannot be written", "make the folder writable"):
            write_whole(folder / FILE, write_sssom(self.statements, title="Reviewed mappings"))

    def updated(self, more: Iterable[MappingStatement]) -> Decisions:
        """Return the decisions with newer ones; of one pair of ids the newest counts."""
        found = {each.pair: each for each in self.statements}
        for each in more:
            found[each.pair] = each
        return Decisions(tuple(sorted(found.values(), key=lambda each: (each.subject, each.object))))

    @property
    def digest(self) -> str:
        """Changes when a decision does; comments and names make no difference."""
        facts = sorted((e.subject, e.relation, e.object, str(e.denied)) for e in self.statements)
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:16] if facts else "none"

    def unequal(self, tables: Iterable[GraphTable] = ()) -> set[tuple[str, str]]:
        """Return the pairs, both ways, that a person or a loaded table calls something else than equal."""
        pairs = {(each.subject, each.object) for each in self.statements if each.denied or each.relation != "exact"}
        stated = {type: relation for relation, type in MATCHES.items()} | {"MAPPED_TO": "exact"}
        for table in tables:
            if table.ends and table.name in stated:
                for row in table.rows.to_pylist():
                    called = row.get("relation") or stated[table.name]
                    if called != "exact" and not (row.get("source") or "").startswith(COMPUTED):
                        pairs.add((row["start"], row["end"]))
        return pairs | {(object, subject) for subject, object in pairs}

    def stated(self) -> list[MappingStatement]:
        return [each for each in self.statements if not each.denied]


def oriented(statement: MappingStatement, classes: Sequence[str | None]) -> tuple[str, MappingStatement] | None:
    """Return the type of a statement and the statement in the direction in which the graph has it."""
    start, end = classes
    if start is None or end is None:
        return None
    if kind := TYPES.get((start, end)):
        return kind, statement
    kind = TYPES.get((end, start))
    return (kind, statement.turned()) if kind else None
