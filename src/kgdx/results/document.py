"""What results have in common as documents: their base, the log in them, and how one is read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


EARLIER = (1, 2)
"""Versions of documents that are read, too."""


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
    """An entry of the episode's log, in the log's own form; of its first version or the second."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False, defer_build=True)

    author: str = Field(description="Who wrote it.")
    kind: str = Field(description="What it records.")
    name: str = Field(description="The action, template, tool or model.")
    parameters: Mapping[str, Any] = Field(default_factory=dict, description="What it was given (version 1).")
    data: Mapping[str, Any] = Field(default_factory=dict, description="What it was given, or what came of it.")
    words: Mapping[str, Any] = Field(default_factory=dict, description="Prompts, answers and texts, where asked for.")
    operations: tuple[Mapping[str, Any], ...] = Field((), description="What an action ran on the graph.")
    rows: int | None = Field(None, description="How many rows came back (version 1).")
    digest: str = Field("", description="Digest of the rows (version 1).")
    milliseconds: float = Field(0.0, description="How long it took.")
    cost: float = Field(0.0, description="What it cost.")
    content: str = Field("", description="Words (version 1).")

    @property
    def given(self) -> Mapping[str, Any]:
        return self.data or self.parameters

    @property
    def said(self) -> str:
        """The prompt, answer or text."""
        messages = self.words.get("messages")
        if isinstance(messages, list | tuple):
            return "\n\n".join(str(each.get("content", "")) for each in messages if isinstance(each, Mapping))
        return self.content or str(self.words.get("text", ""))


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
        """Fill in what is always written, and bring a document of an earlier version into the form of this one."""
        if not isinstance(document, Mapping):
            return document
        always = {"notice": NOTICE, "candidates": []} if "candidates" in cls.model_fields else {"notice": NOTICE}
        whole = {**always, **upgraded(document)}
        if cls.current and whole.get("schema") in (None, *(f"{cls.current[:-1]}{number}" for number in EARLIER)):
            whole["schema"] = cls.current
        return whole

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


def upgraded(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document of version 1 or 2 in the form of version 3: one contribution for each finding.

    Before, there was one for each finding and scorer. What is no document is returned as it is, to be refused.

    Example:
        >>> rows = [{"finding": "HP:1", "score": 2.0, "scorer": name, "rule": "exact"} for name in "ab"]
        >>> upgraded({"candidates": [{"contributions": rows}]})["candidates"][0]["contributions"]
        [{'finding': 'HP:1', 'score': 4.0, 'rule': 'exact', 'parts': {'a': 2.0, 'b': 2.0}}]
    """
    whole, candidates = dict(document), document.get("candidates")
    if isinstance(candidates, list):
        whole["candidates"] = [
            {**each, "contributions": _by_finding(each["contributions"])}
            if isinstance(each, Mapping) and isinstance(each.get("contributions"), list)
            else each
            for each in candidates
        ]
    return whole


def _by_finding(rows: Sequence[Any]) -> list[Any]:
    found: dict[Any, Any] = {}
    for row in rows:
        if not (isinstance(row, Mapping) and isinstance(row.get("score"), int | float) and "scorer" in row):
            found[len(found)] = row
            continue
        key = tuple(str(row.get(name, "")) for name in ("finding", "status", "rule", "matched", "text", "words"))
        kept = {name: value for name, value in row.items() if name != "scorer"}
        one = found.setdefault(key, {**kept, "score": 0.0, "parts": {}})
        one["score"] += row["score"]
        one["parts"][str(row["scorer"])] = one["parts"].get(str(row["scorer"]), 0.0) + row["score"]
    return list(found.values())


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
