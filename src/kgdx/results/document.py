"""What results have in common as documents: their base, the log in them, and how one is read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    WrapSerializer,
    model_validator,
)

from kgdx.case.patient import Issue
from kgdx.errors import UsageError

NOTICE = "Decision support for research; not a medical device, and no substitute for a clinician's judgement."
"""Goes with every result that is shown or written."""


class Plain:
    """Gives parts of results a JSON form of their own."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        values: dict[str, Any] = _ADAPTERS[type(self)].dump_python(self, mode="json")
        return values


class _Adapters(dict[type, TypeAdapter[Any]]):
    """What writes each class, made when it is first written."""

    def __missing__(self, kind: type) -> TypeAdapter[Any]:
        return self.setdefault(kind, TypeAdapter(kind))


_ADAPTERS = _Adapters()


@dataclass(frozen=True, slots=True)
class SourceVersion:
    """A source of the graph, and what became of its records.

    Attributes:
        id: Its name.
        version: Its version or release.
        checksum: SHA-256 of its files.
        licence: Its licence.
        citation: How to cite it.
        read: Records read.
        loaded: Records in the graph.
        merged: Records merged with equal ones.
        quarantined: Records refused.
    """

    id: str
    version: str | None = None
    checksum: str | None = None
    licence: str | None = None
    citation: str | None = None
    read: int | None = None
    loaded: int | None = None
    merged: int | None = None
    quarantined: int | None = None


class LogEntry(BaseModel):
    """An entry of the episode's log, or what it ran on the graph, in the log's own form."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False, defer_build=True)

    author: str = Field(description="Who wrote it.")
    kind: str = Field(description="What it records.")
    name: str = Field(description="The action, template, tool or model.")
    parameters: Mapping[str, Any] = Field(default_factory=dict, description="What a look-up was given.")
    data: Mapping[str, Any] = Field(default_factory=dict, description="What it was given, or what came of it.")
    words: Mapping[str, Any] = Field(default_factory=dict, description="Prompts, answers and texts, where asked for.")
    operations: tuple[Mapping[str, Any], ...] = Field((), description="What an action ran on the graph.")
    rows: int | None = Field(None, description="How many rows came back.")
    digest: str = Field("", description="Digest of the rows.")
    milliseconds: float = Field(0.0, description="How long it took.")
    cost: float = Field(0.0, description="What it cost.")

    @property
    def given(self) -> Mapping[str, Any]:
        return self.data or self.parameters

    @property
    def said(self) -> str:
        """The prompt, answer or text."""
        messages = self.words.get("messages")
        if isinstance(messages, list | tuple):
            return "\n\n".join(str(each.get("content", "")) for each in messages if isinstance(each, Mapping))
        return str(self.words.get("text", ""))


Issues = Annotated[tuple[Issue, ...], Field(description="What was repaired, left out, doubtful or failed.")]

_AsWritten = WrapSerializer(lambda entry, _: {name: value for name, value in entry if name in entry.model_fields_set})

Trace = Annotated[
    tuple[Annotated[LogEntry, _AsWritten], ...], Field(description="The episode's log, where it was asked for.")
]


class Result(BaseModel):
    """What every result says of itself. What has its default value is not written."""

    model_config = ConfigDict(allow_inf_nan=False, frozen=True, defer_build=True)
    current: ClassVar[str] = ""

    schema_: str = Field("", alias="schema")
    notice: str = Field("", description="What the result is not.")
    id: str = Field("", description="Of the run: equal input, graph and policy give an equal id.")
    kgdx_version: str = Field("", description="Version of kgdx.")
    fingerprint: str = Field("", description="Of the graph that it rests on.")
    policy: str = Field("", description="Who chose the actions.")
    reason: str = Field("", description="Why the episode ended.")
    trace: Trace = ()

    @model_validator(mode="before")
    @classmethod
    def _of_this_version(cls, document: Any) -> Any:
        """Fill in what is always written."""
        if not isinstance(document, Mapping):
            return document
        always: dict[str, Any] = {"notice": NOTICE, **({"schema": cls.current} if cls.current else {})}
        if "candidates" in cls.model_fields:
            always["candidates"] = []
        return {**always, **document}

    @classmethod
    def of(cls, trace: Iterable[Mapping[str, Any]], **fields: Any) -> Self:
        """Return a document of the library's own values, which are not checked again."""
        entries = tuple(map(LogEntry.model_validate, trace))
        return cls.model_construct(schema_=cls.current, notice=NOTICE, trace=entries, **fields)

    def to_dict(self, *without: str) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return self.model_dump(mode="json", by_alias=True, exclude=set(without), exclude_defaults=True)

    def to_json(self, *without: str, indent: int | None = None) -> str:
        """Return what :meth:`to_dict` does as JSON text, written in one step.

        Args:
            indent: Spaces for each level; ``None`` for one line.
        """
        return self.model_dump_json(by_alias=True, exclude=set(without), exclude_defaults=True, indent=indent)


Form = TypeVar("Form", bound=Result)


def read(form: type[Form], document: Mapping[str, Any]) -> Form:
    """Read a document.

    Args:
        form: What it has to be.
        document: What ``to_dict`` returned, or was read from a file that was written from it.

    Example:
        >>> from kgdx.results.ranked import DiagnosisDocument
        >>> found = {"case": {"id": "p"}, "candidates": [{"rank": 1, "id": "X", "name": "", "members": []}]}
        >>> read(DiagnosisDocument, found)  # doctest: +ELLIPSIS
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


Sources = Annotated[tuple[SourceVersion, ...], Field(description="What the graph was made from.")]

Created = Annotated[str, Field(description="When, in ISO 8601.")]

Links = Annotated[
    Mapping[str, str],
    Field(description="Addresses that draw evidence in Neo4j Browser: by candidate; of an answer by the empty text."),
]
