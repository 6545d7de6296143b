"""Makes the GET and INFER actions of DeepDoctor-RAG that are one template each, from the header of that template."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from math import log
from typing import Annotated, Any, ClassVar

from pydantic import Field

from kgdx.actions.entities import NameList, distinct, given_rows, resolve
from kgdx.actions.retrieving import MAX_ROWS, MOST_OF_DISEASE, Limit, OfDiseases, retrieve
from kgdx.answer.artifacts import Retrieved
from kgdx.answer.stated_things import family_of
from kgdx.episode.operations import Operations
from kgdx.episode.state import Artifact, State
from kgdx.episode.wish import Action
from kgdx.errors import StoreError
from kgdx.graph.protocol import Row
from kgdx.graph.templates import Template, templates
from kgdx.lazy import lazy_pattern
from kgdx.results.cited import Resolved

MATCHED = 3_000
"""Most diseases that match and are then put into the ranker's order."""
MOST_FORMS = 200
"""Most diseases of which forms count once."""
UNRANKED = -1e9
"""The score of a disease that is not ranked."""


class DiseasesBy(Action, ABC):
    """The diseases that match most of the named entities, the best first."""

    makes: ClassVar[type[Artifact]] = Retrieved
    template: ClassVar[str]
    """The template that answers it."""

    takes: ClassVar[str]
    """The field with the names."""

    kinds: ClassVar[tuple[str, ...]]
    """What may be named."""

    usual: ClassVar[Mapping[str, Any]] = {"likeliest": True}
    binds: ClassVar[str] = ""
    """The template's parameter for the names, where it is called otherwise than the field."""

    min_match_count: Annotated[int, Field(ge=1)] = 1
    """How many of the named ones a disease must match; of names that are unknown or mean the same, fewer."""

    limit: Limit = 20
    """Most diseases; numbered forms of one count once where the likeliest come first."""

    without: NameList | None = None
    """Leave out diseases that match one of these."""

    likeliest: bool = False
    """Whether those that match most come in the order of the ranker, families of many that match first, rather than
    by id."""

    def run(self, graph: Operations, view: State) -> Retrieved:
        known = resolve(graph, getattr(self, self.takes), self.kinds)
        found = distinct(known)
        arguments = {
            self.binds or self.takes: self.matched(found),
            "min_match_count": min(self.min_match_count, len(found)),
            "limit": MATCHED if self.likeliest or self.without else self.limit,
        }
        every = retrieve(graph, self, self.template, arguments, known)
        if self.without:
            apart = self.matched(distinct(resolve(graph, self.without, self.kinds)))
            having = arguments | {self.binds or self.takes: apart, "min_match_count": 1, "limit": MAX_ROWS}
            left_out = {row["id"] for row in graph.query(self.template, **having)}
            kept = tuple(row for row in every.rows if row["id"] not in left_out)
            every = replace(every, rows=kept if self.likeliest else kept[: self.limit])
        if not self.likeliest:
            return every
        ordered = _likeliest(graph, getattr(self, self.takes), every.rows)
        families = dict.fromkeys(family_of(row["name"] or row["id"]) for row in ordered)
        first = set(list(families)[: self.limit])
        shown = (row for row in ordered if family_of(row["name"] or row["id"]) in first)
        return replace(every, rows=tuple(islice(shown, MOST_FORMS)))

    def matched(self, found: Sequence[Resolved]) -> list[Any]:
        """Return what the template is to match: ids, each with the name that it stands for."""
        return given_rows(found)


def _likeliest(graph: Operations, names: Sequence[str], rows: Sequence[Row]) -> list[Row]:
    """The diseases that match most, and of those the likeliest for the findings that the names mean, first.

    The score of a family is that of its best entry plus the logarithm of how many of it match as much: each entry is
    one way to have it.
    """
    decided = [graph.graph.names.resolve(name, ("Phenotype",)) for name in names]
    observed = tuple(dict.fromkeys(each.ids[0] for each in decided if each.ids))
    if not observed or not rows:
        return list(rows)
    given = {"observed": list(observed)}
    ranked = graph.tool(
        "ranker", given, lambda: graph.graph.ranker.score_all((observed, ())), lambda found: len(found[0])
    )
    most = max(row["matched"] for row in rows)
    scores = dict(zip(ranked[0], ranked[1].tolist(), strict=True))
    families: dict[str, list[float]] = {}
    for row in rows:
        if row["matched"] == most:
            families.setdefault(family_of(row["name"] or row["id"]), []).append(scores.get(row["id"], UNRANKED))
    worth = {name: max(found) + log(len(found)) for name, found in families.items()}

    def order(row: Row) -> tuple[float, float, str, float]:
        family = family_of(row["name"] or row["id"])
        return -row["matched"], -worth.get(family, UNRANKED), family, -scores.get(row["id"], UNRANKED)

    return sorted(rows, key=order)


class InferByPhenotype(DiseasesBy):
    """Diseases that present with most of the findings (HPO); what is annotated below a finding counts for it."""

    name: ClassVar[str] = "infer_by_phenotype"
    aliases: ClassVar[tuple[str, ...]] = ("INFER_BY_PHENOTYPE", "infer_by_phenotypes", "INFER_DISEASES_BY_PHENOTYPES")
    template: ClassVar[str] = "infer_diseases"
    takes: ClassVar[str] = "phenotypes"
    kinds: ClassVar[tuple[str, ...]] = ("Phenotype",)

    phenotypes: NameList
    """Findings in Chinese or English, or ids of the Human Phenotype Ontology."""

    def matched(self, found: Sequence[Resolved]) -> list[Any]:
        return list(dict.fromkeys(each.ids[0] for each in found))


_ACTION = lazy_pattern(r"(?P<names>\w+(?:, \w+)*) of (?P<kind>\w+): (?P<purpose>.+)")


@cache
def classes() -> dict[str, type[OfDiseases | DiseasesBy]]:
    """Return the actions that headers state, by the names of their classes."""
    made = [_class(each) for each in templates().values() if each.action]
    return {each.__name__: each for each in made}


def __getattr__(name: str) -> type[OfDiseases | DiseasesBy]:
    if name.startswith("_") or name not in classes():
        raise AttributeError(name)
    return classes()[name]


def _class(template: Template) -> type[OfDiseases | DiseasesBy]:
    said = _ACTION.fullmatch(template.action)
    if said is None:
        hint = "write `// action: name, other names of NodeClass: what it is for.`"
        raise StoreError(f"the action in the header of template {template.name} cannot be read", hint=hint)
    name, *others = said["names"].split(", ")
    aliases = (name.upper(), *others)
    stated: dict[str, Any] = {
        "__doc__": said["purpose"],
        "__module__": __name__,
        "name": name,
        "template": template.name,
    }
    title = name.title().replace("_", "")
    if "diseases" in template.parameters:
        aliases += (f"GET_{template.name.upper().replace('DISEASES', 'DISEASE')}",)
        stated |= {"aliases": aliases, "gives": said["kind"]}
        return type(title, (OfDiseases,), stated | ({"few": MOST_OF_DISEASE + 1} if said["kind"] == "Gene" else {}))
    (binds,) = (each for each, kind in template.parameters.items() if kind == "rows")
    takes = "diseases" if said["kind"] == "Disease" else binds
    stated |= {"aliases": (*aliases, template.name.upper()), "takes": takes, "binds": binds, "kinds": (said["kind"],)}
    called = {"cures": "Treatments in Chinese or English", "genes": "Symbols of genes"}.get(
        takes, f"{takes.capitalize()} in Chinese or English"
    )
    return type(
        title,
        (DiseasesBy,),
        stated | {"__annotations__": {takes: NameList}, takes: Field(description=f"{called}, or ids.")},
    )
