"""Narrows what is stated of diseases to what was asked for, and widens diseases to their forms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kgdx.answer.stated_things import family_of
from kgdx.answer.term_tables import chinese_of
from kgdx.episode.operations import Operations
from kgdx.graph.protocol import Row
from kgdx.results.cited import Resolved
from kgdx.terms.normalise import has_chinese

MOST_FORMS = 30
"""Most forms of a disease that are looked at."""


LEAST_PART = 4
"""Letters from which on a name stands for whatever has it in its own."""


def forms_of(graph: Operations, known: Sequence[Resolved]) -> tuple[Resolved, ...]:
    """The forms of diseases: the entries whose names are theirs with a number, a type or a mode behind."""
    from kgdx.terms.names.suggestions import lay_names  # it loads what only builds and questions need

    made = []
    for each in known:
        names = tuple(
            dict.fromkeys(
                name
                for name in (each.given, each.matched, *lay_names(each.given), *each.names)
                if name.isascii() and name
            )
        )
        found = [form for name in names for form in graph.graph.names.complete(name, ("Disease",), MOST_FORMS)]
        forms = {form.id: form.name for form in found if any(family_of(form.name) == family_of(name) for name in names)}
        new = {id: name for id, name in forms.items() if id not in each.ids}
        if new:
            made.append(replace(each, ids=tuple(new), names=tuple(new.values()), via=(), sources=()))
    return tuple(made)


def within(graph: Operations, rows: Sequence[Row], things: Sequence[Resolved], kind: str) -> Iterator[Row]:
    """The rows of some entities, of those that are called alike, and of phenotypes below them, with what each is."""
    called = [(each, _called(each)) for each in things]
    for row in rows:
        name = (row["name"] or "").casefold()
        above = graph.graph.ancestry.ancestors(row["id"]) if kind == "Phenotype" else frozenset()
        meant = [
            each.given
            for each, parts in called
            if row["id"] in each.ids or any(part in name for part in parts) or not above.isdisjoint(each.ids)
        ]
        if meant:
            yield {**row, "meant": meant}


def _called(thing: Resolved) -> list[str]:
    """The parts of names by which something is known for one of that kind."""
    called = {name.casefold() for name in (thing.given, thing.matched, *thing.names) if name}
    called |= set(chinese_of(thing.given))
    bare = {each.removeprefix("the ").rstrip("s") for each in called}
    return [each for each in bare if len(each) >= (2 if has_chinese(each) else LEAST_PART)]
