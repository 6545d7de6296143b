"""Actions that ask the graph by template, and those that start from named diseases."""

from __future__ import annotations

from abc import ABC
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from kgdx.actions.entities import Name, NameList, forms_of, ids_of, looked_up, resolve
from kgdx.answer.answer_phrases import chinese_of
from kgdx.answer.artifacts import Retrieved
from kgdx.episode.operations import Operations
from kgdx.episode.state import Artifact, State
from kgdx.episode.wish import Action
from kgdx.errors import TemplateError, UsageError
from kgdx.graph.protocol import Row
from kgdx.graph.templates import template, templates
from kgdx.results.cited import Resolved
from kgdx.terms.normalise import has_chinese

MAX_ROWS = 10_000
"""Most rows of a template that an episode keeps."""

Limit = Annotated[int, Field(ge=1, le=MAX_ROWS)]


class Retrieve(Action):
    """Run any read template; its header says which parameters it takes."""

    name: ClassVar[str] = "retrieve"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Retrieved

    template: str
    """Name of a read template."""

    arguments: dict[str, Any] = Field(default_factory=dict)
    """Its parameters by name."""

    def run(self, graph: Operations, view: State) -> Retrieved:
        templates()  # a malformed file is the graph's fault, what follows that of who asks
        try:
            template(self.template, "read").bind(self.arguments)
        except TemplateError as error:
            raise UsageError(error.message, hint=error.hint) from error
        return retrieve(graph, self, self.template, self.arguments)


def retrieve(
    graph: Operations, action: Action, template: str, arguments: dict[str, Any], resolved: tuple[Resolved, ...] = ()
) -> Retrieved:
    """Run a template for an action, in its compiled form where it has one."""
    rows = graph.query(template, **arguments)
    return Retrieved(template, arguments, tuple(rows[:MAX_ROWS]), action.name, resolved, graph.ran[-1].digest)


LEAST_PART = 4
"""Letters from which on a name stands for whatever has it in its own."""


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


MOST_OF_DISEASE = 1_000
"""Most rows of one disease that an action asks for."""


class OfDiseases(Action, ABC):
    """What the graph states of named diseases: one template, run for all of them at once."""

    makes: ClassVar[type[Artifact]] = Retrieved
    template: ClassVar[str]
    """The template that answers it."""

    gives: ClassVar[str]
    """Node class of what it gets."""

    usual: ClassVar[Mapping[str, Any]] = {"limit": 200, "forms": True}
    few: ClassVar[int] = 1
    """Of a disease of which fewer rows are stated, those of its forms are got, where they are wanted."""

    diseases: NameList
    """Names of diseases in Chinese or English, or ids."""

    only: NameList | None = None
    """Get these alone, and what is below them."""

    forms: bool = False
    """Where nothing is stated of them, whether to get it of their numbered or named forms."""

    limit: Annotated[int, Field(ge=1, le=MOST_OF_DISEASE)] = 50
    """Most rows of each disease; each row says how many there are in all."""

    def run(self, graph: Operations, view: State) -> Retrieved:
        found = resolve(graph, self.diseases, ("Disease",))
        things = tuple(looked_up(graph, name, (self.gives,)) for name in self.only or ())
        whole = self if self.only is None else self.model_copy(update={"limit": MOST_OF_DISEASE})

        def look_up(diseases: tuple[Resolved, ...]) -> Retrieved:
            every = whole._stated(graph, (*diseases, *things))
            return (
                every
                if self.only is None
                else replace(every, rows=tuple(within(graph, every.rows, things, self.gives)))
            )

        every = look_up(found)
        if not self.forms:
            return every
        counts = Counter(row["disease"] for row in every.rows)
        bare = [each for each in found if sum(counts[id] for id in each.ids) < (self.few if self.only is None else 1)]
        forms = forms_of(graph, bare)
        return look_up((*found, *forms)) if forms else every

    def _stated(self, graph: Operations, found: tuple[Resolved, ...]) -> Retrieved:
        diseases = [each for each in found if "Disease" in each.kinds]
        given = {"diseases": ids_of(diseases), "limit": self.limit}
        arguments = {name: given[name] for name in given if name in template(self.template, "read").parameters}
        return self._wanted(retrieve(graph, self, self.template, arguments, found))

    def _wanted(self, found: Retrieved) -> Retrieved:
        return found


class GetComorbidity(OfDiseases):
    """Diseases that occur together with diseases."""

    name: ClassVar[str] = "get_comorbidity"
    aliases: ClassVar[tuple[str, ...]] = ("GET_COMORBIDITY", "get_comorbidities", "GET_COMORBIDITIES_OF_DISEASE")
    template: ClassVar[str] = "comorbidities_of_diseases"
    gives: ClassVar[str] = "Disease"

    def run(self, graph: Operations, view: State) -> Retrieved:
        whole = self.model_copy(update={"limit": MOST_OF_DISEASE})
        found = super(GetComorbidity, whole).run(graph, view)
        if not found.rows:
            return found
        ids = sorted({row["disease"] for row in found.rows})
        own = {(row["disease"], row["id"]) for row in graph.query("complications_of_diseases", diseases=ids)}
        rows = [{**row, "own": True} if (row["disease"], row["id"]) in own else row for row in found.rows]
        return replace(
            found, rows=tuple(sorted(rows, key=lambda row: "own" not in row)[: self.limit * max(1, len(ids))])
        )


class GetPhenotype(OfDiseases):
    """Findings (HPO) that diseases present with, how often, and on whose word."""

    name: ClassVar[str] = "get_phenotype"
    aliases: ClassVar[tuple[str, ...]] = ("GET_PHENOTYPE", "get_phenotypes", "GET_PHENOTYPES_OF_DISEASE")
    template: ClassVar[str] = "phenotypes_of_diseases"
    gives: ClassVar[str] = "Phenotype"
    few: ClassVar[int] = 3

    aspect: Literal["P", "I", "C"] | None = None
    """Abnormalities (P), modes of inheritance (I), or onset and course (C) alone."""

    def _wanted(self, found: Retrieved) -> Retrieved:
        if self.aspect is None:
            return found
        return replace(found, rows=tuple(row for row in found.rows if (row["aspect"] or "P") == self.aspect))


class GetCooccurrence(Action):
    """Findings (HPO) that were observed in the same patients as one finding, by number of patients."""

    name: ClassVar[str] = "get_cooccurrence"
    makes: ClassVar[type[Artifact]] = Retrieved
    aliases: ClassVar[tuple[str, ...]] = ("GET_COOCCURRENCE", "get_cooccurrences", "GET_COOCCURRENCES_OF_PHENOTYPE")
    template: ClassVar[str] = "cooccurring_phenotypes"

    phenotype: Name
    """A finding in Chinese or English, or its id."""

    source: Annotated[str, Field(max_length=100)] | None = None
    """Only patients of this source."""

    limit: Limit = 20
    """Most findings."""

    def run(self, graph: Operations, view: State) -> Retrieved:
        (found,) = resolve(graph, (self.phenotype,), ("Phenotype",))
        arguments = {"phenotype": found.ids[0], "source": self.source, "limit": self.limit}
        return retrieve(graph, self, self.template, arguments, (found,))
