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
    """The rows of some entities, of those that are called alike, and of phenotypes below them."""
    ids = {id for each in things for id in each.ids}
    called = {name.casefold() for each in things for name in (each.given, each.matched, *each.names) if name}
    called |= {term for each in things for term in chinese_of(each.given)}
    parts = [
        word
        for each in called
        if len(word := each.removeprefix("the ").rstrip("s")) >= (2 if has_chinese(each) else LEAST_PART)
    ]
    for row in rows:
        name = (row["name"] or "").casefold()
        same = row["id"] in ids or name in called or any(part in name for part in parts)
        if same or (kind == "Phenotype" and ids & graph.graph.ancestry.ancestors(row["id"])):
            yield row
