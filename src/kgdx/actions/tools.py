"""The tools of Deep-DxSearch as actions: look diseases up, match cases, search texts, summarise what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from kgdx.actions.entities import Name, NameList, understood
from kgdx.actions.retrieving import Limit, retrieve
from kgdx.answer.artifacts import Passage, Retrieved, Searched, Summarised
from kgdx.answer.passages import by_sentences, from_model
from kgdx.answer.saved_runs import case_key
from kgdx.case import Case
from kgdx.episode.operations import Operations
from kgdx.episode.state import Artifact, Reads, State, digest_of
from kgdx.episode.wish import Action
from kgdx.errors import CaseError, UsageError
from kgdx.graph.case_index import UNIT, SimilarCases
from kgdx.rank.near_findings import NearFindings
from kgdx.results.cited import Resolved

MOST_NAMES = 10
"""Diseases that one look-up takes, as the paper has it."""
MOST_IRRELEVANT = 100
"""Most of what is put in on request."""
SPARE = 4
"""Passages that are found in addition for each text that is left out."""

MOST_SEARCHED = 20_000
"""Characters of a query at most."""

Query = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MOST_SEARCHED)]
"""What is searched for."""
Irrelevant = Annotated[int, Field(ge=0, le=MOST_IRRELEVANT)]


class Lookup(Action):
    """Look up the findings (HPO) that diseases typically present with, the most frequent first.

    A name that is no disease of the graph gives no row, and says so: "no reference".
    """

    name: ClassVar[str] = "lookup"
    aliases: ClassVar[tuple[str, ...]] = ("LOOKUP", "look_up")
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Retrieved
    template: ClassVar[str] = "typical_phenotypes"

    diseases: Annotated[NameList, Field(max_length=MOST_NAMES)]
    """Names of diseases in Chinese or English, or ids."""

    limit: Annotated[int, Field(ge=1, le=100)] = 10
    """Most findings of each disease."""

    letter: bool = False
    """Whether names are found by BM25 alone, as the paper has it, rather than by the graph's name index first."""

    def run(self, graph: Operations, view: State) -> Retrieved:
        found = graph.tool(
            "names",
            {"kinds": ["Disease"], "names": len(self.diseases), "letter": self.letter},
            lambda: tuple(self._understood(graph, name) for name in self.diseases),
            lambda found: sum(bool(each.ids) for each in found),
        )
        ids = list(dict.fromkeys(id for each in found for id in each.ids))
        every = retrieve(graph, self, self.template, {"diseases": ids, "limit": self.limit}, found)
        stated = {row["disease"] for row in every.rows}
        best = {next((id for id in each.ids if id in stated), "") for each in found}
        return replace(every, rows=tuple(row for row in every.rows if row["disease"] in best))

    def _understood(self, graph: Operations, name: str) -> Resolved:
        if not self.letter:
            decision = graph.graph.names.resolve(name, ("Disease",))
            if decision.entries:
                return understood(decision)
        return understood(graph.graph.disease_words.resolve(name))


class Match(Action):
    """Match the patients of the graph: those whose findings are most similar to the case's, or to what is given.

    Equation 21 of Deep-DxSearch: the mean over what is asked of the similarity of a patient's nearest finding. The case
    itself, and patients reported in its publications, are never found.
    """

    name: ClassVar[str] = "match"
    aliases: ClassVar[tuple[str, ...]] = ("MATCH", "match_cases")
    needs_findings: ClassVar[bool] = True
    makes: ClassVar[type[Artifact]] = Retrieved
    private: ClassVar[frozenset[str]] = frozenset({"phrases"})
    template: ClassVar[str] = "similar_cases"

    findings: NameList | None = None
    """Ids or names of findings; the case's own where neither these nor phrases are given."""

    phrases: Annotated[tuple[Name, ...], Field(max_length=50)] = ()
    """Findings in words: read by the graph's names, or compared as they are ``by`` meaning."""

    by: Literal["ontology", "meaning"] = "ontology"
    """Similarity of findings: of the ontology, or the cosine of the sentence encoder."""

    limit: Limit = 20
    """Most patients."""

    irrelevant: Irrelevant = 0
    """How many patients that have least in common with it are put in, as in the paper's trials with noise."""

    seed: int = 0
    """Of the choice of what is put in."""

    @property
    def reads(self) -> tuple[Reads, ...]:
        return ("case",)

    def run(self, graph: Operations, view: State) -> Retrieved:
        case = view.case
        asked, resolved = self._asked(graph, case)
        without, publications = [case.id, case_key(case)], list(case.publications)
        given = {"by": self.by, "limit": self.limit}
        near = self._near(graph, asked)
        if near is not None and graph.graph.compiled.has(self.template):
            rows = graph.tool(
                self.template,
                given | {"asked": len(asked)},
                lambda: graph.graph.compiled.similar(near, without, publications, self.limit),
                len,
            )
        elif self.irrelevant:
            raise UsageError("patients to put in are drawn from a compiled graph", hint="leave out `irrelevant`")
        else:
            alike = ({"asked": number, "id": id, "similarity": UNIT} for number, id in enumerate(asked))
            listed = [*alike] if near is None else graph.graph.nearness.rows(near)
            parameters = {"near": listed, "asked": len(asked), "without": without, "publications": publications}
            rows = list(graph.query(self.template, **parameters, limit=self.limit))
        if self.irrelevant:
            drawn = graph.graph.compiled.unlike(near, without, publications, self.irrelevant, self.seed)
            rows = [*rows, *({**row, "irrelevant": True} for row in drawn)]
        proof = digest_of([(row["id"], row["score"]) for row in rows])
        return Retrieved(self.template, given | {"asked": asked}, tuple(rows), self.name, resolved, proof)

    def _asked(self, graph: Operations, case: Case) -> tuple[list[str], tuple[Resolved, ...]]:
        """What is asked: ids of findings, or phrases by meaning; and how names were understood."""
        names = (*(self.findings or ()), *(self.phrases if self.by != "meaning" else ()))
        resolved = tuple(understood(graph.graph.names.resolve(name, ("Phenotype",))) for name in names)
        asked = [each.ids[0] for each in resolved if each.ids]
        asked += self.phrases if self.by == "meaning" else ()
        if self.findings is None and not self.phrases:
            asked = list(case.observed)
        if not asked:
            known = "nothing that was given is a finding of the graph" if resolved else "the case has no finding"
            raise CaseError(f"there is nothing to match patients with: {known}", hint="give names or ids of findings")
        return list(dict.fromkeys(asked)), resolved

    def _near(self, graph: Operations, asked: Sequence[str]) -> list[SimilarCases] | None:
        """What is similar to each thing; ``None`` in a database that others built, where a finding is but itself."""
        nearness: NearFindings | None = graph.graph.nearness
        if self.by == "ontology":
            return None if nearness is None else nearness.by_ontology(asked)
        if nearness is None:
            raise UsageError("this database is not matched by meaning", hint="match by ontology")
        return nearness.by_meaning([nearness.name(each) for each in asked])


class Search(Action):
    """Search texts by the words of a query: the graph's documents and publications, and the user's folders."""

    name: ClassVar[str] = "search"
    aliases: ClassVar[tuple[str, ...]] = ("SEARCH", "search_texts")
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Searched
    private: ClassVar[frozenset[str]] = frozenset({"query"})

    query: Query
    """What is searched for."""

    sources: tuple[Name, ...] = ()
    """Tags of the sources to search; all without any."""

    limit: Annotated[int, Field(ge=1, le=100)] = 5
    """Most passages."""

    dense: bool = False
    """Whether passages are compared by meaning, with the sentence encoder, rather than by words."""

    irrelevant: Irrelevant = 0
    """How many passages that share no word with the query are put in, as in the paper's trials with noise."""

    seed: int = 0
    """Of the choice of what is put in."""

    without: tuple[str, ...] = ()
    """Ids of publications and documents to leave out, such as those that report the case itself."""

    def run(self, graph: Operations, view: State) -> Searched:
        given = {"characters": len(self.query), "sources": list(self.sources), "limit": self.limit, "dense": self.dense}
        texts, most = graph.graph.texts, self.limit + SPARE * len(self.without)
        found = graph.tool("texts", given, lambda: texts.search(self.query, self.sources, most, dense=self.dense), len)
        passages = [one for each in found if not self._left_out(one := Passage(*each))][: self.limit]
        if self.irrelevant:
            unlike = texts.unlike(self.query, self.sources, self.irrelevant, self.seed)
            unlike = [replace(Passage(*each), irrelevant=True) for each in unlike]
            passages += [each for each in unlike if not self._left_out(each)]
        return Searched(self.query, tuple(passages))

    def _left_out(self, passage: Passage) -> bool:
        return passage.id.partition("#")[0] in self.without


class Summarise(Action):
    """Summarise what the searches found for a query: by a model's answer, or by choosing sentences."""

    name: ClassVar[str] = "summarise"
    aliases: ClassVar[tuple[str, ...]] = ("SUMMARISE", "summarize")
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Summarised
    pure: ClassVar[bool] = True
    private: ClassVar[frozenset[str]] = frozenset({"query", "answer"})

    query: Query
    """What the summary is to be about."""

    points: Annotated[int, Field(ge=1, le=50)] = 10
    """Most points."""

    answer: Annotated[str, Field(max_length=100_000)] | None = None
    """A model's answer to :func:`kgdx.answer.passages.request`; sentences are chosen where absent."""

    def refused(self, state: State) -> str | None:
        return None if state.all(Searched) else "nothing was searched yet: run the action search first"

    def run(self, graph: Operations, view: State) -> Summarised:
        passages = tuple(dict.fromkeys(each for found in view.all(Searched) for each in found.passages))
        if self.answer is None:
            return Summarised(by_sentences(self.query, passages, self.points))
        return Summarised(from_model(self.answer, passages, self.points), by="model")
