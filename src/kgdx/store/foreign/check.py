"""Whether a mapping fits its database: how much there is of each name, what tells nodes apart, what can be asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kgdx.config import Neo4jAccess
from kgdx.schema import load_schema
from kgdx.store.foreign.database import ForeignDatabase
from kgdx.store.foreign.mapping import ForeignMapping
from kgdx.store.foreign.store import ForeignStore

ASKED = (
    *(f"{what}_of_diseases" for what in ("symptoms", "tests", "drugs", "cures", "comorbidities")),
    *(f"infer_diseases_by_{what}" for what in ("symptoms", "tests", "drugs", "cures", "comorbidities")),
)
"""Templates of the ten actions."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One line of a mapping against its database.

    Attributes:
        name: Our class or relation.
        theirs: What stands for it.
        n: How many there are.
        fault: What is wrong, or empty.
    """

    name: str
    theirs: str
    n: int
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found.

    Attributes:
        lines: Classes, then relations.
        can: Templates of the ten actions that the database can answer.
        cannot: Those that it has nothing for.
    """

    lines: tuple[Checked, ...]
    can: tuple[str, ...]
    cannot: tuple[str, ...]

    @property
    def faults(self) -> tuple[Checked, ...]:
        """Lines with a fault."""
        return tuple(line for line in self.lines if line.fault)

    def to_dict(self) -> dict[str, object]:
        """Return it as a JSON object."""
        lines = [{"name": x.name, "theirs": x.theirs, "n": x.n, "fault": x.fault} for x in self.lines]
        return {"lines": lines, "can": list(self.can), "cannot": list(self.cannot)}


def check(access: Neo4jAccess, mapping: ForeignMapping) -> Report:
    """Hold a mapping against its database.

    Raises:
        StoreError: The server is down or refuses the user, or lacks a name; or a template cannot be read there.
    """
    with ForeignDatabase(access) as database:
        store = ForeignStore(database, mapping)
        store.verify()
        lines = (*_nodes(database, mapping), *_relations(database, store))
        can = tuple(name for name in ASKED if store.answers(name))
    return Report(lines, can, tuple(name for name in ASKED if name not in can))


def _nodes(database: ForeignDatabase, mapping: ForeignMapping) -> Iterator[Checked]:
    for kind, node in mapping.nodes.items():
        for label in node.label:
            found = database.ask("their_nodes", label=label, key=node.key)[0]
            n, fault = found["n"], ""
            if not n:
                fault = "there are none"
            elif found["text"] < found["present"]:
                fault = f"{node.key} is not text in {found['present'] - found['text']:,} of them: choose another key"
            elif found["present"] < n:
                fault = f"{n - found['present']:,} have no {node.key} and are left out"
            elif found["distinct"] < n:
                fault = f"{n - found['distinct']:,} share their {node.key} with others and count as one"
            yield Checked(kind, f"(:{label} {node.key})", n, fault)


def _relations(database: ForeignDatabase, store: ForeignStore) -> Iterator[Checked]:
    schema, counted = load_schema(), store.counts()
    for name, relation in store.mapping.relations.items():
        n = counted.get(name, 0)
        if relation.list is not None:
            yield Checked(name, f"list {relation.list}", n, "" if n else "no node has such a list")
            continue
        for type in relation.type or ():
            there = database.ask("their_relations", type=type)[0]["n"]
            fault = "there are none"
            if there and not n:
                pairs = " or ".join(f"{start} to {end}" for start, end in schema.relations[name].ends)
                fault = f"none goes from {pairs}: is it `reversed`, or another label?"
            arrow = f"<-[:{type}]-" if relation.reversed else f"-[:{type}]->"
            yield Checked(name, arrow, there, fault if not (there and n) else "")
