"""Actions on the case and the question: read it, recognise its entities, rank diseases for it, and declare them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from kgdx.actions.entities import MOST_FORMS, TYPED, NameList, named_or_forms, understood
from kgdx.answer.artifacts import ABSENT, Declared, Mentioned, Ranked, Read, Understood, mentions_of
from kgdx.case import Case, Extraction, Resolution, Span, Status, read_text
from kgdx.episode.operations import GraphLike, Operations
from kgdx.episode.state import Artifact, Reads, State
from kgdx.episode.wish import Action, Outcome
from kgdx.lazy import lazy_pattern
from kgdx.rank.clauses import unread, with_phrases

if TYPE_CHECKING:
    from kgdx.results.cited import Resolved
    from kgdx.terms.names.name_decision import Mention


class Extract(Action):
    """Read the findings of the case's text, or of what came to it since it was read, and clean the case."""

    name: ClassVar[str] = "extract"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Read
    changes_case: ClassVar[bool] = True
    goes_on: ClassVar[bool] = True

    language: str | None = None
    """Language of the text, ``en`` or ``zh``; found out when absent."""

    def run(self, graph: Operations, view: State) -> Outcome:
        case, before = view.case, view.last(Read)
        begin = 0 if before is None else before.characters
        given = {"characters": len(case.text) - begin, "terms": len(case.findings)}

        def read() -> Case:
            words = graph.graph.in_words
            reader = _Later(graph.graph, begin)
            read = read_text(case, reader, graph.graph.ancestry, language=self.language, words=words)
            read = read.with_issues(issue for issue in unread(read) if issue not in read.issues)
            return with_phrases(read, begin) if words else read

        found = graph.tool("reader", given, read, lambda case: len(case.findings))
        known = {(each.id, each.status) for each in case.findings}
        new = tuple(
            (each.id, each.label, str(each.status)) for each in found.findings if (each.id, each.status) not in known
        )
        doubts = tuple(
            (each.where, each.message, each.remedy)
            for each in found.issues
            if each.level == "warning" and each.where.startswith("HP:") and each not in case.issues
        )
        return Outcome(Read(len(case.text), found.digest, new, doubts), found)


class _Later:
    """A reader of what stands behind a place in the text: what was read before is not read again.

    Terms that are given by their ids need no dictionary, so it is opened for words alone.
    """

    def __init__(self, graph: GraphLike, begin: int) -> None:
        self._graph, self._begin = graph, begin

    def extract(self, text: str, language: str | None = None, patient: Case | None = None) -> Extraction:
        """Read the rest of a text; spans are places in the whole."""
        begin = self._begin
        found = self._graph.reader.extract(text[begin:], language, patient)
        moved = (
            each if each.span is None else replace(each, span=Span(each.span.start + begin, each.span.end + begin))
            for each in found.findings
        )
        # words without a finding are an answer like any other: no reason to describe the patient anew
        issues = tuple(each for each in found.issues if found.findings or not begin or each.where != "text")
        unread = (replace(each, start=each.start + begin, end=each.end + begin) for each in found.unread)
        return replace(found, findings=tuple(moved), issues=issues, unread=tuple(unread))

    def resolve(self, term: str) -> Resolution:
        from kgdx.terms.given_terms import by_id

        return by_id(term.strip(), self._graph.terms) or self._graph.reader.resolve(term)


class Recognise(Action):
    """Find the entities of the graph that the question names."""

    name: ClassVar[str] = "recognise"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Mentioned

    def run(self, graph: Operations, view: State) -> Mentioned:
        said = view.question
        return Mentioned(
            graph.tool("names", {"characters": len(said)}, lambda: tuple(graph.graph.names.mentions(said)), len)
        )


class Understand(Action):
    """Look up what of the question may be the name of a disease, misspelt or shortened."""

    name: ClassVar[str] = "understand"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Understood
    private: ClassVar[frozenset[str]] = frozenset({"names"})

    names: NameList
    """What may be names."""

    read: bool = False
    """Whether findings count that a reader of patients' words finds, where nothing is a name."""

    @property
    def reads(self) -> tuple[Reads, ...]:
        return ("question", Mentioned)

    def run(self, graph: Operations, view: State) -> Understood:
        def look_up() -> tuple[Resolved, ...]:
            strict = any(each.kind == "Disease" for each in mentions_of(view))
            every = [each for name in self.names for each in _meant(graph, name, strict, name in view.question)]
            ends = {name.partition(" ")[2] for each in every if each.method == "short" for name in each.names} - {""}
            bare = [each.given for each in every if not each.ids and " " not in each.given]
            whole = [named_or_forms(graph, f"{name} {end}") for name in bare for end in ends]  # "Becker and Duchenne"
            known = tuple(each for each in (*whole, *every) if each.ids)
            if self.read and (found := tuple(_read_in(graph, view.question, mentions_of(view)))):
                begun = view.question.split(maxsplit=1)[0]  # its capital tells no name
                sure = (each for each in known if _surely(each) and (each.method != "short" or each.given != begun))
                known = (*found, *(each for each in sure if not any(each.given in one.given for one in found)))
            return known or tuple(every)

        return Understood(graph.tool("names", {"names": len(self.names)}, look_up, len))


def _read_in(graph: Operations, question: str, mentions: Sequence[Mention]) -> Iterator[Resolved]:
    """The findings that a reader of patients' words finds beyond what is named: "I can't sweat"."""
    from kgdx.results.cited import Resolved

    for each in graph.graph.reader.extract(question).findings:
        span = each.span
        crossed = (one for one in mentions if span is not None and one.start < span.end and span.start < one.end)
        if span is not None and all(
            span.start <= one.start and one.end - one.start < span.end - span.start for one in crossed
        ):
            words, why = question[span.start : span.end], ABSENT if each.status is Status.ABSENT else ""
            yield Resolved(words, ("Phenotype",), (each.id,), (each.label,), each.method, each.score, reason=why)


def _meant(graph: Operations, name: str, strict: bool, said: bool) -> Iterator[Resolved]:
    """What a name means: an entry, the numbered forms of a disease, or what runs of its words mean."""
    whole = named_or_forms(graph, name)
    if whole.method == "short" and name.islower():  # a word of findings, as "tall", is short for no disease
        found = graph.graph.names.complete(name, ("Phenotype",), MOST_FORMS)
        if sum(name in each.name.casefold().split() for each in found) > 1:
            return
    if whole.ids and (not strict or _surely(whole)):
        yield whole
        return
    if said and " " in name and (term := graph.graph.names.resolve(name, ("Phenotype",))).ids:
        yield understood(term)  # "renal Fanconi" is a finding in full but for its last word
        return
    if TYPED.search(name):  # another type is another disease
        yield replace(whole, ids=(), names=())
        return
    words, taken = name.split() if said else [], set[int]()
    for size in range(len(words) - 1, 0, -1):
        for at in range(len(words) - size + 1):
            places = set(range(at, at + size))
            numbered = _NUMBER.match(" ".join(words[at + size :]))  # another form is another disease
            part = None if taken & places or numbered else named_or_forms(graph, " ".join(words[at : at + size]))
            if part is not None and part.ids and _surely(part):
                taken |= places
                yield part
    if not taken:
        yield replace(whole, ids=(), names=())


def _surely(part: Resolved) -> bool:
    """Whether a part of what was asked for is a name: no typo, and short for one only where it is written as such."""
    if part.method == "short":
        drug = _BY_DRUG.search(part.matched) and not _BY_DRUG.search(part.given)
        return not drug and (
            any(word[:1].isupper() for word in part.given.split()) or _HEADED.search(part.matched) is not None
        )
    return part.method in ("exact", "normalised", "same", "forms") or (part.method == "edit" and " " in part.given)


_NUMBER = lazy_pattern(r"(?:(?:syndrome|disease|disorder)\s+)?(?:type\s+)?(?:\d+[A-Za-z]?|[IVX]+)\b")
_HEADED = lazy_pattern(r"\S(?:\s(?:disease|syndrome|disorder|complex|an(?:a)?emia|dystrophy)|[病症征])$", re.IGNORECASE)
_BY_DRUG = lazy_pattern(r"poisoning|toxicity|embryopathy|f[eo]*tal|intoxication|overdose", re.IGNORECASE)
"""Words of diseases that are named after what brings them about."""

MAX_TOP = 100_000
"""More candidates than any graph has diseases."""


class Rank(Action):
    """Rank all diseases by the case's findings and keep the best."""

    name: ClassVar[str] = "rank"
    needs_findings: ClassVar[bool] = True
    makes: ClassVar[type[Artifact]] = Ranked

    top: Annotated[int, Field(ge=1, le=MAX_TOP)] = 10
    """How many candidates to keep."""

    also: tuple[str, ...] = ()
    """Diseases to keep beside them, wherever they stand."""

    case_bank: bool | None = None
    """Whether to match with the graph's other patients too; ``None`` where it has some."""

    explain: bool = False
    """Whether to say what each finding adds to each candidate's score, which takes as long again."""

    gates: bool = True
    """Whether diseases that sex or age rules out are left out."""

    abstain: bool = False
    """Whether nothing is ranked where a text holds too little to go on."""

    @property
    def reads(self) -> tuple[Reads, ...]:
        """The findings; the whole case, where its own publications are withheld or its text is judged."""
        return ("evidence",) if self.case_bank is False and not self.abstain else ("case",)

    def run(self, graph: Operations, view: State) -> Ranked:
        case = view.case
        given = {"observed": list(case.observed), "excluded": list(case.excluded)}
        given |= self.model_dump(mode="json", include={"top", "also", "case_bank"})
        bank = None
        if self.case_bank is not False:
            bank = graph.graph.bank if self.case_bank else graph.graph.bank_if_any
        return Ranked(
            graph.tool(
                "ranker",
                given,
                lambda: graph.graph.ranker.rank(
                    case,
                    top=self.top,
                    also=self.also,
                    bank=bank,
                    explain=self.explain,
                    by_family=True,
                    abstain=self.abstain,
                    gates=self.gates,
                ),
                lambda ranking: len(ranking.candidates),
            )
        )


class Diagnose(Action):
    """Declare the present ranking, or an order of diseases, as the diagnosis and end the episode."""

    name: ClassVar[str] = "diagnose"
    planned: ClassVar[bool] = False
    makes: ClassVar[type[Artifact]] = Declared
    ends: ClassVar[str] = "diagnosed"
    pure: ClassVar[bool] = True

    diseases: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    """Ids of diseases, best first; the ranking's own order when absent."""

    @property
    def reads(self) -> tuple[Reads, ...]:
        """The ranking; an order of diseases stands alone."""
        return () if self.diseases else (Ranked,)

    def refused(self, state: State) -> str | None:
        """Refuse to declare a ranking that was made of an older case, or none."""
        if self.diseases or state.get(Ranked) is not None:
            return None
        if state.last(Ranked) is not None:
            return "the ranking was made before the case's findings changed: run the action rank again"
        return "there is no ranking to declare: run the action rank first"

    def run(self, graph: Operations, view: State) -> Declared:
        return Declared(self.diseases)
