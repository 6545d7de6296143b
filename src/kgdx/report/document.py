"""The parts of a result's JSON document that its page shows, checked when it is read: the document may be a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from kgdx.errors import UsageError

Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
"""A string; what is not known is empty."""


class Part(BaseModel):
    """Any object of a document; what it holds beyond the declared fields is not shown."""

    model_config = ConfigDict(allow_inf_nan=False, frozen=True)


class Finding(Part):
    """A finding of the case."""

    id: str
    label: Text = ""
    status: str = "present"
    text: Text = ""
    method: Text = ""
    score: float = 1.0
    onset: Text = ""


class Case(Part):
    """The patient."""

    id: str
    sex: Text = "UNKNOWN"
    age: str | None = None
    source: Text = ""
    findings: tuple[Finding, ...] = ()


class Contribution(Part):
    """What a finding adds to a score through one scorer."""

    finding: str
    status: str = "present"
    scorer: str = ""
    score: float
    rule: str = ""
    matched: Text = ""
    frequency: Text = ""
    references: tuple[str, ...] = ()


class Alike(Part):
    """A patient of the graph with the candidate's disease."""

    id: str
    score: float = 0.0
    shared: tuple[str, ...] = ()
    publications: tuple[str, ...] = ()


class Candidate(Part):
    """A ranked disease."""

    rank: int
    id: str
    name: Text = ""
    name_zh: Text = ""
    members: tuple[str, ...] = ()
    score: float
    parts: Mapping[str, float] = Field(default_factory=dict)
    contributions: tuple[Contribution, ...] = ()
    cases: tuple[Alike, ...] = ()


class Node(Part):
    """A node on a path."""

    id: str
    label: Text = ""
    name: Text = ""


class Relation(Part):
    """A relation between two neighbouring nodes of a path."""

    type: str
    reversed: bool = False
    properties: Mapping[str, Any] = Field(default_factory=dict)


class Way(Part):
    """A path that can be drawn; its last node is the disease, and ways of one kind stand together."""

    kind: str
    finding: str
    frequency: Text = ""
    references: tuple[str, ...] = ()
    nodes: Annotated[tuple[Node, ...], Field(min_length=2)]
    relations: tuple[Relation, ...]
    language: Text = "en"

    @model_validator(mode="after")
    def _connected(self) -> Self:
        if len(self.relations) != len(self.nodes) - 1:
            raise ValueError("a path has one relation fewer than nodes")
        return self


class Path(Way):
    """An evidence path of a candidate."""

    kind: Literal["supports", "against", "typical_unmentioned"]


class Issue(Part):
    """What was doubtful."""

    level: str
    where: Text = ""
    message: str
    remedy: Text = ""


class Segment(Part):
    """An entry of the trace."""

    author: str
    kind: str
    name: str
    parameters: Mapping[str, Any] = Field(default_factory=dict)
    rows: int | None = None
    digest: Text = ""
    milliseconds: float = 0.0
    cost: float = 0.0
    content: Text = ""


class Source(Part):
    """A source of the graph."""

    id: str
    version: Text = ""
    licence: Text = ""
    citation: Text = ""
    checksum: Text = ""
    loaded: int | None = None


class Result(Part):
    """What every result says of itself."""

    notice: Text = ""
    id: Text = ""
    kgdx_version: Text = ""
    fingerprint: Text = ""
    policy: Text = ""
    reason: Text = ""
    created: Text = ""
    issues: tuple[Issue, ...] = ()
    trace: tuple[Segment, ...] = ()
    sources: tuple[Source, ...] = ()
    links: Mapping[str, str] = Field(default_factory=dict)
    """Addresses that draw evidence in Neo4j Browser: by candidate, and of an answer by the empty text."""


class Ranked(Result):
    """A result that may hold ranked diseases."""

    n_candidates: int = 0
    candidates: tuple[Candidate, ...] = ()
    evidence: Mapping[str, tuple[Path, ...]] = Field(default_factory=dict)


class Diagnosis(Ranked):
    """A document of the form ``kgdx.diagnosis/1``."""

    case: Case


class Sentence(Part):
    """A sentence of an answer, with its marks in place."""

    text: str
    cites: tuple[str, ...] = ()
    supported: bool = True
    gap: str = " "


class Written(Part):
    """An answer in words."""

    sentences: tuple[Sentence, ...] = ()
    removed: tuple[str, ...] = ()
    unsupported: int = 0
    insufficient: bool = False
    author: Text = ""
    strict: bool = True
    language: Text = "en"


class Item(Part):
    """A piece of evidence that an answer can cite."""

    id: Annotated[str, Field(pattern=r"^E[0-9]{1,9}$")]
    kind: str
    text: str
    language: Text = "en"
    subject: Node | None = None
    relation: Text = ""
    objects: tuple[Node, ...] = ()
    sources: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    details: Mapping[str, Any] = Field(default_factory=dict)
    frequency: Text = ""
    action: Text = ""


class Mesh(Part):
    """The MeSH heading of a disease, and how it was decided; without an id there is none."""

    id: Text = ""
    heading: Text = ""
    scope_note: Text = ""
    tree_numbers: tuple[str, ...] = ()
    relation: Text = ""
    method: Text = ""
    score: float = 0.0
    origin: Text = ""
    decision: Mapping[str, Any] = Field(default_factory=dict)


class Described(Part):
    """What the graph says of a disease in words."""

    id: str
    names: tuple[str, ...] = ()
    text: Text = ""
    source: Text = ""
    mesh: Mesh | None = None


class Citation(Part):
    """A publication."""

    id: str
    title: Text = ""
    authors: tuple[str, ...] = ()
    journal: Text = ""
    year: Text = ""
    doi: Text = ""
    origin: Text = ""


class Resolved(Part):
    """How a name was understood."""

    given: str
    ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    method: Text = ""
    score: float = 0.0
    candidates: tuple[str, ...] = ()
    reason: Text = ""


class Nothing(Part):
    """A request that found nothing."""

    action: str
    names: tuple[str, ...] = ()


class Pack(Part):
    """What an answer rests on."""

    items: tuple[Item, ...] = ()
    diseases: tuple[Described, ...] = ()
    citations: tuple[Citation, ...] = ()
    resolved: tuple[Resolved, ...] = ()
    nothing: tuple[Nothing, ...] = ()
    left_out: Mapping[str, int] = Field(default_factory=dict)


class Step(Part):
    """An action and what came of it."""

    action: str
    parameters: Mapping[str, Any] = Field(default_factory=dict)
    rows: int | None = None
    error: Text = ""
    milliseconds: float = 0.0


class Round(Part):
    """A plan and its steps."""

    round: int
    thought: Text = ""
    steps: tuple[Step, ...] = ()
    refused: tuple[str, ...] = ()
    ended: bool = False
    failed: bool = False
    by: str = "model"


class Answer(Ranked):
    """A document of the form ``kgdx.answer/1``; of a patient only where the question came with one."""

    case: Case | None = None
    question: str
    model: Text = ""
    answer: Written = Field(default_factory=Written)
    pack: Pack = Field(default_factory=Pack)
    rounds: tuple[Round, ...] = ()
    usage: Mapping[str, int | float] = Field(default_factory=dict)


Form = TypeVar("Form", bound=Part)


def read(form: type[Form], document: Mapping[str, Any]) -> Form:
    """Read a document of one form.

    Raises:
        UsageError: It is none; the message names the first place that is not as it should be.

    Example:
        >>> read(Diagnosis, {"case": {"id": "p"}, "candidates": [{"rank": 1, "id": "X"}]})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        kgdx.errors.UsageError: the document is damaged at candidates.0.score (Field required): ...
    """
    try:
        return form.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part)[:40] for part in first["loc"]) or "its top"
        message = f"the document is damaged at {place} ({first['msg']})"
        raise UsageError(message, hint="write it again with --json") from None
