"""What results have in common as documents: their base, the log in them, and how one is read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from kgdx.case.patient import Issue
from kgdx.errors import UsageError

NOTICE = "Decision support for research; not a medical device, and no substitute for a clinician's judgement."
"""Goes with every result that is shown or written."""


class Plain:
    """Gives parts of results a JSON form of their own."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values.

        Example:
            >>> from kgdx.results.evidence_paths import PathNode
            >>> PathNode("HP:1", "Phenotype", "Fit").to_dict()
            {'id': 'HP:1', 'label': 'Phenotype', 'name': 'Fit'}
        """
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


Issues = Annotated[tuple[Issue, ...], Field(description="What was repaired, left out, doubtful or failed.")]

Trace = Annotated[tuple[LogEntry, ...], Field(description="The episode's log, where it was asked for.")]


class Result(BaseModel):
    """What every result says of itself."""

    model_config = ConfigDict(allow_inf_nan=False, frozen=True, defer_build=True)

    schema_: str = Field("", alias="schema")
    notice: str = Field(NOTICE, description="What the result is not.")
    id: str = Field("", description="Of the run: equal input, graph and policy give an equal id.")
    kgdx_version: str = Field("", description="Version of kgdx.")
    fingerprint: str = Field("", description="Of the graph that it rests on.")
    policy: str = Field("", description="Who chose the actions.")
    reason: str = Field("", description="Why the episode ended.")
    trace: Trace = ()

    def to_dict(self, *without: str) -> dict[str, Any]:
        """Return it as plain JSON values.

        Args:
            without: Fields to leave out.
        """
        found = self.model_dump(mode="json", by_alias=True, exclude={"trace", *without})
        if "trace" not in without:  # entries as their log wrote them
            found["trace"] = [entry.model_dump(mode="json", exclude_unset=True) for entry in self.trace]
        return found

    def to_json(self, *without: str, indent: int | None = None) -> str:
        """Return what :meth:`to_dict` does, without the log, as JSON text: in one step, in a third of the time.

        Args:
            without: More fields to leave out.
            indent: Spaces for each level; ``None`` for one line.
        """
        return self.model_dump_json(by_alias=True, exclude={"trace", *without}, indent=indent)


Form = TypeVar("Form", bound=Result)


def read(form: type[Form], document: Mapping[str, Any]) -> Form:
    """Read a document.

    Args:
        form: What it has to be.
        document: What ``to_dict`` returned, or was read from a file that was written from it.

    Raises:
        UsageError: It is damaged; the message names the first place that is not as it should be.

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
