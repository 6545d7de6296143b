"""An answer as a document: sentences whose marks point at evidence, the evidence, and how it was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, computed_field

from kgdx.results.document import Created, Issues, Links, Plain, Result, Sources
from kgdx.results.evidence_paths import Evidence, PathNode, frequency_text
from kgdx.results.ranked import Candidates, CaseSummary

ANSWER_SCHEMA: Literal["kgdx.answer/3"] = "kgdx.answer/3"
"""Name and version of the JSON form; a field is only ever added within a version."""

ItemKind = Literal["relation", "inference", "row", "candidate", "description", "passage", "mesh", "publication"]


@dataclass(frozen=True, slots=True)
class Resolved(Plain):
    """How a name that was given to an action was understood.

    Attributes:
        given: The name or id as it was given.
        kinds: Node classes that it could be of.
        ids: Ids that it stands for; several where sources have entries of the same name; none when it is unknown.
        names: Their names, in the same order.
        method: ``id``, ``exact``, ``normalised``, ``edit`` or ``encoder``; empty when it is unknown.
        score: From 0 to 1.
        candidates: Names near it, best first, where it is unknown or doubtful.
        reason: Why it was decided so, in words.
        matched: The name or synonym that was found.
        relation: How what was given relates to the best entry: ``exact``, ``narrower`` or ``broader``.
        via: For each id that a relation says to be the same as another one, that one; empty for the others.
        sources: Which source states each entry.
        left_out: How many further entries it stands for.

    Example:
        >>> Resolved("百日咳", ("Disease",), ("CN:1",), ("百日咳",), "exact", 1.0).ids
        ('CN:1',)
    """

    given: str
    kinds: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    method: str = ""
    score: float = 0.0
    candidates: tuple[str, ...] = ()
    reason: str = ""
    matched: str = ""
    relation: str = ""
    via: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class MeshHeading:
    """The MeSH heading of a disease, and how it was found.

    Attributes:
        id: CURIE of the descriptor; empty when none could be stated.
        heading: Its name.
        scope_note: What MeSH says that it means.
        tree_numbers: Its places in the tree.
        relation: How the disease relates to it: ``exact``, ``narrower`` or ``broader``.
        method: The stage of the alignment that decided, such as ``exact`` or ``edit``.
        score: 0 to 1.
        origin: ``graph`` when a relation of the graph says so, ``name`` when it was looked up by the disease's names.
        decision: The record of the decision: what was considered, what had to be reached, and the reason.
    """

    id: str = ""
    heading: str = ""
    scope_note: str = ""
    tree_numbers: tuple[str, ...] = ()
    relation: str = ""
    method: str = ""
    score: float = 0.0
    origin: str = "name"
    decision: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Description(Plain):
    """What the graph says of a disease in words.

    Attributes:
        id: The disease.
        names: Its names, the preferred one first.
        text: The description; empty where no source has one.
        source: Source of the text.
        mesh: Its MeSH heading; ``None`` where the graph has no MeSH.
    """

    id: str
    names: tuple[str, ...] = ()
    text: str = ""
    source: str = ""
    mesh: MeshHeading | None = None


@dataclass(frozen=True, slots=True)
class Citation(Plain):
    """A publication.

    Attributes:
        id: Its CURIE, such as ``PMID:12345``.
        title: Empty where only the id is known.
        authors: Family name and initials of each.
        journal: Where it appeared.
        year: When.
        doi: Its DOI.
        abstract: What it says in short.
        about: Ids of the entities that it was found for.
        origin: ``graph`` when a relation of the graph carries it, ``pubmed`` when it was searched for.
    """

    id: str
    title: str = ""
    authors: tuple[str, ...] = ()
    journal: str = ""
    year: str = ""
    doi: str = ""
    abstract: str = ""
    about: tuple[str, ...] = ()
    origin: str = "graph"

    @property
    def reference(self) -> str:
        """The publication as in a list of references, without its id."""
        authors = ", ".join(self.authors[:3]) + (" et al" if len(self.authors) > 3 else "")
        place = " ".join(part for part in (self.journal, self.year) if part)
        return ". ".join(part.rstrip(".") for part in (authors, self.title, place) if part)

    def __str__(self) -> str:
        return ". ".join(part for part in (self.reference, self.id) if part)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer.

    Attributes:
        text: Its words, with the marks of its evidence in place.
        cites: Ids of the evidence that it cites.
        supported: It cites evidence, or makes no claim about the matter.
        agrees: Its words name the entities and the relation of the evidence that it cites, as far as they can be
            compared.
        gap: What stands before it: nothing, a space, or new lines.
    """

    text: str
    cites: tuple[str, ...] = ()
    supported: bool = True
    gap: str = " "
    agrees: bool = True


UNSUPPORTED = {"en": " [unsupported]", "zh": "［无依据］"}
"""How a sentence is marked that cites nothing although it has to."""

DISAGREES = {"en": " [not what its evidence says]", "zh": "［与所引证据不符］"}
"""How a sentence is marked whose evidence says something else."""


@dataclass(frozen=True, slots=True)
class CitedText(Plain):
    """An answer whose citations were checked against the evidence.

    Attributes:
        sentences: In order.
        removed: Marks and publications that were taken out because no such evidence exists, each as often as it stood.
        unsupported: How many sentences cite nothing.
        disagreeing: How many sentences say something else than the evidence that they cite.
        insufficient: The evidence was not enough, and the answer says so.
        author: Who wrote it: ``template``, or the model's name.
        strict: Whether it may rest on nothing but the evidence.
        language: ``en`` or ``zh``.

    Example:
        >>> print(CitedText((Sentence("Ptosis is typical [E1][E2].", ("E1", "E2")), Sentence("So it is.", (), False))))
        Ptosis is typical [E1][E2]. So it is. [unsupported]
    """

    sentences: tuple[Sentence, ...] = ()
    removed: tuple[str, ...] = ()
    unsupported: int = 0
    insufficient: bool = False
    author: str = "template"
    strict: bool = True
    language: str = "en"
    disagreeing: int = 0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def text(self) -> str:
        """The answer with its marks; a mark, too, where evidence says something else or, if strict, where none is."""
        language = self.language if self.language in UNSUPPORTED else "en"
        unsupported = UNSUPPORTED[language] if self.strict else ""
        parts = []
        for each in self.sentences:
            mark = unsupported if not each.supported else "" if each.agrees else DISAGREES[language]
            parts.append(each.gap + each.text + mark)
        return "".join(parts).strip()

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cited(self) -> tuple[str, ...]:
        """Ids of all evidence that it cites, each once, in order."""
        return tuple(dict.fromkeys(id for each in self.sentences for id in each.cites))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class ChosenOption(Plain):
    """The option that an answer chooses, of a question that came with some.

    Attributes:
        letter: Of it; empty where the answer chooses none, or more than one.
        text: Its words.
        votes: Letter → how many answers choose it, where several were sampled.
        answers: How many answers there were.
    """

    letter: str = ""
    text: str = ""
    votes: Mapping[str, int] = field(default_factory=dict, hash=False)
    answers: int = 0


@dataclass(frozen=True, slots=True)
class EvidenceItem(Plain):
    """One piece of evidence.

    Attributes:
        id: What an answer cites: ``E1``, ``E2``, … in the order in which it was found.
        kind: ``relation``, ``inference`` (a disease and what it matches), ``row`` (of any other template),
            ``candidate`` (of a ranking), ``description``, ``passage`` (of a document), ``mesh`` or ``publication``.
        text: It in words, on one line.
        language: Of the text: ``zh`` where it has Chinese characters, otherwise ``en``.
        subject: The disease that it is about.
        relation: Type of the relation; the template of a ``row``.
        objects: What is at the relation's other end.
        sources: Who states it; several where sources agree.
        references: What they cite, such as ``PMID:…``.
        details: Counts, frequencies, scores, tree numbers: what else is known of it.
        action: The action that found it.
        template: The template that it came from.
        digest: Digest of that template's rows, as in the trace.
    """

    id: Annotated[str, Field(pattern=r"^E[0-9]{1,9}$")]
    kind: ItemKind
    text: str
    language: str = "en"
    subject: PathNode | None = None
    relation: str = ""
    objects: tuple[PathNode, ...] = ()
    sources: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    action: str = ""
    template: str = ""
    digest: str = ""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def frequency(self) -> str:
        """How often it is so, in words; empty when the source gives none."""
        return frequency_text(self.details)


@dataclass(frozen=True, slots=True)
class Nothing:
    """A request that found nothing: an answer has to say so rather than guess.

    Attributes:
        action: The action that asked.
        template: The template that it ran.
        names: Names (or ids) of what it was asked for.
    """

    action: str
    template: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pack(Plain):
    """What an answer may rest on.

    Attributes:
        question: What was asked; may hold a patient's words, so it is no part of the JSON form.
        items: The evidence, in the order in which it was found.
        diseases: What the graph says in words of the diseases that are named.
        citations: Publications.
        resolved: How names were understood.
        nothing: What was asked for and not found.
        left_out: Action → how many facts it found that are not among the items, because there are too many.
    """

    question: Annotated[str, Field(exclude=True)] = ""
    items: tuple[EvidenceItem, ...] = ()
    diseases: tuple[Description, ...] = ()
    citations: tuple[Citation, ...] = ()
    resolved: tuple[Resolved, ...] = ()
    nothing: tuple[Nothing, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class LookupStep(Plain):
    """One action and what came of it.

    Attributes:
        action: Its name.
        parameters: Its fields.
        rows: How many rows came back; nothing where it asked for none.
        error: Why it failed; empty where it did not.
        milliseconds: How long it took.
    """

    action: str
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    rows: int | None = None
    error: str = ""
    milliseconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class LookupRound(Plain):
    """A plan and its steps; round 0 is what is done before, and without, any plan.

    Attributes:
        round: Which round.
        thought: Why the model chose so, where its own words were asked for.
        steps: What was done.
        refused: What of the plan was not done, and why.
        ended: The plan said that enough was found.
        failed: The model gave no plan, or none that could be read.
        by: ``rules`` for what was looked up because no plan of the model could be used; otherwise ``model``.
    """

    round: int
    thought: str = field(default="", repr=False)
    steps: tuple[LookupStep, ...] = ()
    refused: tuple[str, ...] = ()
    ended: bool = False
    failed: bool = False
    by: str = "model"

    @property
    def number(self) -> int:
        return self.round


class AnswerDocument(Result):
    """An answer to a question; each claim names its evidence."""

    schema_: Literal["", "kgdx.answer/3"] = Field("", alias="schema", description="The form.")
    current: ClassVar[str] = ANSWER_SCHEMA
    model: str = Field("", description="The language model that planned and wrote; empty where there was none.")
    created: Created = ""
    question: str = Field(description="What was asked.")
    answer: CitedText = Field(default_factory=CitedText, description="The words, with marks that point at the pack.")
    option: ChosenOption | None = Field(None, description="What it chooses, where the question came with options.")
    pack: Pack = Field(default_factory=Pack, description="The evidence.")
    rounds: tuple[LookupRound, ...] = Field((), description="What was looked up, round by round.")
    case: CaseSummary | None = Field(None, description="The patient, where the question came with one.")
    candidates: Candidates = ()
    evidence: Evidence = Field(default_factory=dict)
    sources: Sources = ()
    usage: Mapping[str, int | float] = Field(
        default_factory=dict, description="Calls of language models, tokens and cost."
    )
    issues: Issues = ()
    links: Links = Field(default_factory=dict)
