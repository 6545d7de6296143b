"""The part of a diagnosis' JSON document that its page shows, checked when it is read: the document may be a file."""

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


class Path(Part):
    """An evidence path; its last node is the disease."""

    kind: Literal["supports", "against", "typical_unmentioned"]
    finding: str
    frequency: Text = ""
    references: tuple[str, ...] = ()
    nodes: Annotated[tuple[Node, ...], Field(min_length=2)]
    relations: tuple[Relation, ...]

    @model_validator(mode="after")
    def _connected(self) -> Self:
        if len(self.relations) != len(self.nodes) - 1:
            raise ValueError("a path has one relation fewer than nodes")
        return self


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


class Diagnosis(Result):
    """A document of the form ``kgdx.diagnosis/1``."""

    case: Case
    n_candidates: int = 0
    candidates: tuple[Candidate, ...] = ()
    evidence: Mapping[str, tuple[Path, ...]] = Field(default_factory=dict)


Form = TypeVar("Form", bound=Part)


def read(form: type[Form], document: Mapping[str, Any]) -> Form:
    """Read a document of one form.

    Raises:
        UsageError: It is none; the message names the first place that is not as it should be.

    Example:
        >>> read(Diagnosis, {"case": {"id": "p"}, "candidates": [{"rank": 1, "id": "X"}]})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        kgdx.errors.UsageError: the document is damaged at candidates.0.score (Field required): write it again ...
    """
    try:
        return form.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part)[:40] for part in first["loc"]) or "its top"
        message = f"the document is damaged at {place} ({first['msg']})"
        raise UsageError(message, hint="write it again with `kgdx diagnose CASE --json`") from None
