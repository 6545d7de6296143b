"""Actions that say what was found: answer, cite publications, declare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from kgdx.actions.describing import named
from kgdx.answer.artifacts import (
    Answered,
    Cited,
    Described,
    Drafted,
    Explained,
    Fitted,
    Named,
    Ranked,
    Retrieved,
    Understood,
    citations_of,
    evidence_of,
)
from kgdx.answer.evidence_pack import language_of, pack
from kgdx.answer.focused_answer import focused
from kgdx.answer.sentences import MAX_CHARS, check
from kgdx.answer.templated_answer import templated
from kgdx.answer.wants import Asked, Want
from kgdx.episode.operations import Operations
from kgdx.episode.state import Artifact, Reads, State
from kgdx.episode.wish import Action
from kgdx.errors import ConfigError, KgdxError, UsageError
from kgdx.graph.protocol import Row
from kgdx.lazy import lazy_pattern
from kgdx.literature import Found, Publication
from kgdx.results.cited import Citation, CitedText


class Respond(Action):
    """Answer the question from the evidence, and end the episode."""

    name: ClassVar[str] = "respond"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Answered
    ends: ClassVar[str] = "answered"
    pure: ClassVar[bool] = True
    private: ClassVar[frozenset[str]] = frozenset({"text", "subjects", "others", "unread", "unused", "without"})

    text: Annotated[str, Field(max_length=10 * MAX_CHARS)] | None = None
    """The answer, each sentence with the marks of its evidence; written from templates when absent."""

    strict: bool = True
    """Whether the answer may rest on nothing but the evidence."""

    language: Literal["en", "zh"] | None = None
    """Language of the answer; that of the question when absent."""

    author: Annotated[str, Field(max_length=200)] = "template"
    """Who wrote the text."""

    wants: tuple[str, ...] = ()
    """What the question wants (:class:`kgdx.answer.wants.Want`), in order; all that was found is told without."""

    subjects: tuple[str, ...] = ()
    """The diseases that it is wanted of, in the question's words."""

    others: tuple[str, ...] = ()
    """What may be stated of them, where the question asks whether something is."""

    unread: str = ""
    """Words by which it wants something of them that has no place in the graph."""

    unused: str = ""
    """Words of the question that nothing was made of."""

    without: tuple[str, ...] = ()
    """Findings that the diseases are not to have."""

    absent: bool = False
    """Whether it asks which of several is not stated."""

    whether: bool = False
    """Whether the question can be answered with yes or no."""

    beside: bool = False
    """Whether what the template says stands behind a text that is given."""

    @property
    def reads(self) -> tuple[Reads, ...]:
        return ("question", "evidence", Retrieved, Fitted, Ranked, Explained, Described, Cited, Named, Understood)

    def run(self, graph: Operations, view: State) -> Artifact:
        return Answered(self.answer(graph, view))

    def answer(self, graph: Operations, view: State) -> CitedText:
        if self.text is not None and not self.text.strip():
            raise UsageError("the answer is empty", hint="write one, or leave the text out to have it made by template")
        evidence = pack(view)
        language = self.language or language_of(view.question)

        def rarity(id: str) -> float:
            row = graph.graph.ranker.names.terms.get(id, -1) if id.startswith("HP:") else -1
            return float(graph.graph.ranker.model.basis.ic[row]) if row >= 0 else 4.0

        def make() -> CitedText:
            if self.text is None:
                return by_template()
            given = check(self.text, evidence, strict=self.strict, language=language, author=self.author)
            first, *others = by_template().sentences if self.beside else (None,)
            behind = () if first is None else (replace(first, gap="\n\n"), *others)
            return replace(given, sentences=(*given.sentences, *behind))

        def by_template() -> CitedText:
            if self.wants:
                asked = Asked(
                    tuple(map(Want, self.wants)),
                    self.subjects,
                    self.others,
                    self.whether,
                    self.unread,
                    self.unused,
                    self.without,
                    self.absent,
                    frozenset(row["id"] for row in graph.graph.sources()),
                    rarity,
                )
                return focused(evidence, asked, language, self.strict)
            return templated(evidence, language, self.strict)

        given = {"items": len(evidence.items), "strict": self.strict, "language": language}
        name = "template" if self.text is None else "citations"
        return graph.tool(name, given, make, lambda made: len(made.sentences))


class Draft(Respond):
    """Write what rules answer, for a model that is to judge it, and go on."""

    name: ClassVar[str] = "draft"
    makes: ClassVar[type[Artifact]] = Drafted
    ends: ClassVar[str] = ""

    def run(self, graph: Operations, view: State) -> Artifact:
        return Drafted(self.answer(graph, view).text)


MAX_CITATIONS = 50
"""Most publications of an episode."""

MAX_SEARCHED = 5
"""Most diseases that PubMed is asked for in one request."""

_PMID = lazy_pattern(r"PMID:0*([1-9]\d{0,8})\Z")


class Cite(Action):
    """Gather publications for what was found. Relations of the graph carry some; PubMed is asked only on request.

    PubMed is given names of diseases as the graph has them, never the words of a patient or user.
    """

    name: ClassVar[str] = "cite"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Cited
    goes_on: ClassVar[bool] = True
    slow: ClassVar[bool] = True

    diseases: Annotated[tuple[str, ...], Field(max_length=MAX_SEARCHED)] | None = None
    """Ids of diseases to search PubMed for; those that were named or found so far when absent."""

    pubmed: bool = False
    """Whether to ask PubMed, too."""

    limit: Annotated[int, Field(ge=1, le=10)] = 3
    """Most publications of PubMed for each disease."""

    @property
    def reads(self) -> tuple[Reads, ...]:
        return (Retrieved, Ranked, Explained)

    def run(self, graph: Operations, view: State) -> Cited:
        carried = _carried(view)
        known = {each.id: each for each in citations_of(view)}
        new = [id for id in carried if id not in known][:MAX_CITATIONS]
        if new:
            rows = graph.query("publications_by_ids", publications=new)
            titles = {row["id"]: row["title"] or "" for row in rows}
            known |= {id: Citation(id, titles.get(id, ""), about=carried[id]) for id in new}
        if self.pubmed:
            self._search(graph, view, known)
        return Cited(tuple(known.values())[:MAX_CITATIONS])

    def _search(self, graph: Operations, view: State, known: dict[str, Citation]) -> None:
        """Add what PubMed has for the diseases, and what it says of the publications that the graph carries.

        Whatever is wrong with PubMed, its settings or what is kept of it, the answer does without, and the log says so.
        """
        ids = list(self.diseases or named(view))[:MAX_SEARCHED]
        rows = graph.query("descriptions_of_diseases", diseases=ids)
        bare = [each.id.removeprefix("PMID:") for each in known.values() if _PMID.match(each.id) and not each.journal]
        try:
            literature = graph.graph.literature
            if literature is None:
                raise ConfigError("it was not asked", hint="set KGDX_PUBMED_EMAIL to the address that NCBI asks for")
            names, given = _names(rows), {"diseases": ids, "publications": len(bare), "limit": self.limit}
            found = graph.tool(
                "pubmed", given, lambda: literature.find(names, bare, self.limit), lambda found: found.count
            )
        except KgdxError as error:
            graph.problem("pubmed", f"PubMed: {error}", type(error).__name__)
            return
        _merge(known, found)
        for problem in found.problems:
            graph.problem("pubmed", f"PubMed: {problem}", "PubMedError")


def _carried(state: State) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for reference, about in _references(state):
        match = _PMID.match(reference)
        if match:
            found.setdefault(f"PMID:{match[1]}", {}).setdefault(about)
    return {id: tuple(filter(None, about)) for id, about in found.items()}


def _references(state: State) -> Iterator[tuple[str, str]]:
    for retrieved in state.all(Retrieved):
        for row in retrieved.rows:
            about = row.get("disease") or ""
            for reference in (*str(row.get("reference") or "").split(";"), *(row.get("publications") or ())):
                yield str(reference).strip(), about if isinstance(about, str) else ""
    for candidate, paths in evidence_of(state).items():
        for path in paths:
            for reference in path.references:
                yield reference, candidate


def _names(rows: Iterable[Row]) -> dict[str, Sequence[str]]:
    """Names to search with by id: PubMed reads English, so those come first; a Chinese one only where there is none."""
    found: dict[str, Sequence[str]] = {}
    for row in rows:
        names = [name for name in (row["name"], *row["synonyms"], row["name_zh"]) if name]
        english = [name for name in names if name.isascii()]
        found[row["id"]] = tuple(dict.fromkeys(english or names))
    return found


def _merge(known: dict[str, Citation], found: Found) -> None:
    for disease, publications in found.by_disease.items():
        for each in publications:
            id = f"PMID:{each.pmid}"
            before = known.get(id)
            about = tuple(dict.fromkeys((*(before.about if before else ()), disease)))
            known[id] = _citation(each, about, before)
    for each in found.publications:
        id = f"PMID:{each.pmid}"
        if id in known:
            known[id] = _citation(each, known[id].about, known[id])


def _citation(found: Publication, about: tuple[str, ...], before: Citation | None) -> Citation:
    return Citation(
        id=f"PMID:{found.pmid}",
        title=found.title or (before.title if before else ""),
        authors=found.authors,
        journal=found.journal,
        year=found.year,
        doi=found.doi,
        abstract=found.abstract,
        about=about,
        origin=before.origin if before else "pubmed",
    )
