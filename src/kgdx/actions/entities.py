"""Resolves the names that an action is given: the graph's name index decides, and the state keeps its decisions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints

from kgdx.errors import UsageError
from kgdx.lazy import lazy_pattern
from kgdx.terms.normalise import fold_name, has_chinese

if TYPE_CHECKING:
    from kgdx.episode.operations import Operations
    from kgdx.results.cited import Resolved
    from kgdx.terms.names.name_decision import NameDecision

MOST = 50
"""Most names that one action takes."""
MOST_IDS = 400
"""Most ids that the names of one action may stand for together."""
MOST_FORMS = 200
"""Most forms of a disease that are looked at."""
NEAR = 3


Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]
"""A name in Chinese or English, or the id of a node."""

NameList = Annotated[
    tuple[Name, ...], Field(min_length=1, max_length=MOST), AfterValidator(lambda names: tuple(dict.fromkeys(names)))
]
"""Names or ids."""


def resolve(graph: Operations, names: Sequence[str], kinds: Sequence[str]) -> tuple[Resolved, ...]:
    """Look up the names that an action was given.

    A name that means nothing is an error only when all of them do; otherwise it is returned without ids.
    """
    found = graph.tool(
        "names",
        {"kinds": list(kinds), "names": len(names)},
        lambda: tuple(looked_up(graph, name, tuple(kinds)) for name in names),
        lambda found: sum(bool(each.ids) for each in found),
    )
    if not any(each.ids for each in found):
        raise UsageError(_unknown(found, kinds), hint=_hint(found))
    return found


def looked_up(graph: Operations, name: str, kinds: tuple[str, ...]) -> Resolved:
    """Return what a name means: an entry, a disease's forms, or the finding that a reader of words takes it for."""
    found = understood(graph.graph.names.resolve(name, kinds))
    if kinds == ("Phenotype",) and not found.ids:  # lay words are no names
        term = graph.graph.reader.resolve(name).finding
        rows: Sequence[Mapping[str, Any]] = [{"id": term.id, "name": term.label}] if term else ()
        if _UNNAMED.search(name):
            rows = rows or graph.query("phenotype_by_name", name=name[0].upper() + name[1:])
        known = (replace(found, ids=(row["id"],), names=(row["name"],), method="id", reason="") for row in rows)
        return next(known, found)
    if found.ids or kinds != ("Disease",):
        return found
    return named_or_forms(graph, name)


_UNNAMED = lazy_pattern(r"\s(?:inheritance|onset)$", re.IGNORECASE)
"""Names of modes of inheritance and ages of onset, which the index of names leaves out."""
_FORM = lazy_pattern(r"[\s,-](?:\d+[A-Za-z]?(?:,.*)?|[IVX]+|type\b.*|due\s+to\b.*|complex)$", re.IGNORECASE)
_AMERICAN = lazy_pattern(r"(?<=[a-z])[ao]e(?=[a-z])", re.IGNORECASE)
FORMS_SCORE = 0.9
"""Score of the forms of a disease that is named without saying which."""


def forms_of(graph: Operations, known: Sequence[Resolved]) -> tuple[Resolved, ...]:
    """The forms of diseases: the entries whose names are theirs with a number, a type or a mode behind."""
    from kgdx.answer.stated_things import family_of  # both load what only builds and questions need
    from kgdx.terms.names.suggestions import lay_names

    made = []
    for each in known:
        named = each.given, _AMERICAN.sub("e", each.given), each.matched, *lay_names(each.given), *each.names
        names = tuple(dict.fromkeys(name for name in named if name.isascii() and name))
        found = [form for name in names for form in graph.graph.names.complete(name, ("Disease",), MOST_FORMS)]
        whole = [f" {fold_name(name)} " for name in names]  # "type II" is not in "type III"
        found = [form for form in found if any(name in f" {fold_name(form.matched)} " for name in whole)]
        families = {family_of(name) for name in names}
        forms = {form.id: form.name for form in found if family_of(form.name) in families}
        decided = map(graph.graph.names.resolve, forms.values())
        same = (pair for found in decided for pair in zip(found.ids, found.names, strict=True))
        new = {id: name for id, name in (*forms.items(), *same) if id not in each.ids}
        if new:
            made.append(replace(each, ids=tuple(new), names=tuple(new.values()), via=(), sources=()))
    return tuple(made)


def named_or_forms(graph: Operations, name: str) -> Resolved:
    """Return the disease that a name means; where no entry is called so, its numbered or named forms."""
    index = graph.graph.names
    read = understood(index.resolve(name))
    if read.ids:
        return read
    if typed := TYPED.search(name):
        return _of_type(graph, read, name[: typed.start()], typed[1] or typed[2])
    finding = index.resolve(name, ("Phenotype",))
    forms = forms_of(graph, (replace(read, matched=name, names=finding.names[:1]),))
    kept = [pair for each in forms for pair in zip(each.ids, each.names, strict=True) if _FORM.search(pair[1])]
    if not kept:
        return read
    ids, names = zip(*kept, strict=True)
    return replace(read, ids=ids, names=names, method="forms", score=FORMS_SCORE, matched=name)


TYPED = lazy_pattern(r",?\s+(?:sub)?type\s+(\S+)$|(\d+|[IVX]+|[一二三四五六七八九十]+)型$")
_DIGITS = {han: str(at) for at, han in enumerate("一二三四五六七八九十", 1)}


def _of_type(graph: Operations, read: Resolved, of: str, number: str) -> Resolved:
    """The disease of a type, however it is written; where there is none, the types that there are come near."""
    from kgdx.answer.stated_things import family_of
    from kgdx.terms.names.suggestions import lay_names

    index, number = graph.graph.names, _DIGITS.get(number, number)
    known = dict.fromkeys((*lay_names(of), *index.resolve(of).names, f"{of} disease", f"{of} syndrome"))
    for other in (f"type {number} {of}", *(f"{each} type {number}" for each in known)):
        if (found := index.resolve(other)).ids:
            return replace(understood(found), given=read.given)
    forms = [each.name for base in (of, *known) for each in index.complete(base, ("Disease",), MOST_FORMS)]
    families = {family_of(base) for base in (of, *known)}
    of_family = tuple(dict.fromkeys(each for each in forms if family_of(each) in families))
    return replace(read, candidates=of_family or read.candidates)


def understood(decision: NameDecision) -> Resolved:
    """Return a decision of the index as the state keeps it."""
    from kgdx.results.cited import Resolved

    return Resolved(
        given=decision.given,
        kinds=decision.kinds,
        ids=decision.ids,
        names=decision.names,
        method=decision.method,
        score=decision.score,
        matched=decision.matched,
        relation=decision.entries[0].relation if decision.entries else "",
        via=tuple(entry.via for entry in decision.entries),
        sources=tuple(entry.source for entry in decision.entries),
        candidates=tuple(dict.fromkeys(entry.matched for entry in decision.candidates)),
        reason=decision.reason,
        left_out=decision.left_out,
    )


def ids_of(resolved: Sequence[Resolved]) -> list[str]:
    """Return the ids that names stand for, each once, at most :data:`MOST_IDS`: of every name its best first."""
    longest = max((len(each.ids) for each in resolved), default=0)
    ranked = (each.ids[place] for place in range(longest) for each in resolved if place < len(each.ids))
    return list(dict.fromkeys(ranked))[:MOST_IDS]


def distinct(resolved: Sequence[Resolved]) -> list[Resolved]:
    """Return the names that stand for different entries: of those that mean the same, the first."""
    first: dict[frozenset[str], Resolved] = {}
    for each in resolved:
        first.setdefault(frozenset(each.ids), each)
    return [each for each in first.values() if each.ids]


def given_rows(resolved: Sequence[Resolved]) -> list[dict[str, Any]]:
    """Return the ids with the number of the name that each stands for: ids of one name count once.

    An entry that two names stand for counts for both, unless it is called by one of them.

    Example:
        >>> from kgdx.results.cited import Resolved
        >>> given_rows([Resolved("fever", ids=("S:1", "S:2")), Resolved("cough", ids=("S:3",))])
        [{'given': '1', 'id': 'S:1'}, {'given': '2', 'id': 'S:3'}, {'given': '1', 'id': 'S:2'}]
    """
    called: dict[str, set[str]] = {}
    stands: dict[str, list[str]] = {}
    for number, each in enumerate(resolved, 1):
        for place, id in enumerate(each.ids):
            stands.setdefault(id, []).append(str(number))
            if each.names[place : place + 1] == (each.given,):
                called.setdefault(id, set()).add(str(number))
    return [
        {"given": number, "id": id}
        for id in ids_of(resolved)
        for number in stands[id]
        if number in called.get(id, {number})
    ]


def _unknown(found: Sequence[Resolved], kinds: Sequence[str]) -> str:
    what = " or ".join(kind.lower() for kind in kinds)
    shown = ", ".join(repr(each.given[:60]) for each in found[:5])
    more = f" (and {len(found) - 5} more)" if len(found) > 5 else ""
    return f"the graph knows no {what} called {shown}{more}"


def _hint(found: Sequence[Resolved]) -> str:
    near = [f"{each.given[:60]!r}: {', '.join(each.candidates[:NEAR])}" for each in found[:5] if each.candidates]
    if near:
        return f"names that come near: {'; '.join(near)}"
    if any(has_chinese(each.given) for each in found):
        return "give another name, or an id; Chinese names come with sources that have them: kgdx sources"
    return "give another name, or an id"
