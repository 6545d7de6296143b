"""The log of an episode: segments, each with its author, as JSON lines that a training run can read.

A log is the only record of an episode. State, limits, costs, rewards and masks are functions of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import reduce
from typing import Any

from kgdx import errors
from kgdx.errors import KgdxError, LlmError, MissingExtraError, UsageError
from kgdx.llm.budget import Spent
from kgdx.llm.chat import Tokens

VERSION = 2
"""Version of the log's form."""


class Author(StrEnum):
    """Who wrote a segment."""

    POLICY = "policy"
    GRAPH = "graph"
    PATIENT = "patient"
    MODEL = "model"
    LOOP = "loop"
    USER = "user"


class Kind(StrEnum):
    """What a segment records."""

    START = "start"
    """Where the episode began: case, question, seed, limits, policy, graph."""
    WISH = "wish"
    """What the policy wants to happen."""
    RESULT = "result"
    """What came of the wish."""
    ERROR = "error"
    """Why nothing came of it."""
    LIMIT = "limit"
    """A limit is reached; from here on the policy only closes the episode."""
    END = "end"
    """Why the episode ended."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One graph operation that an action ran: a read template, or a tool compiled from the graph.

    Its kind is ``query`` (a template) or ``tool`` (reader, ranker, name index, PubMed); no parameter holds a patient's
    text; by the digest of the rows, empty for a tool, a replay proves them equal. Times are no part of comparisons.
    """

    kind: str
    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    rows: int = 0
    digest: str = ""
    milliseconds: float = field(default=0.0, compare=False)

    def to_dict(self) -> dict[str, Any]:
        told = {name: getattr(self, name) for name in self.__slots__}
        return told | {"parameters": dict(self.parameters), "milliseconds": round(self.milliseconds, 3)}


@dataclass(frozen=True, slots=True)
class Segment:
    """One entry of a log.

    Attributes:
        name: Name of the wish; of a model, patient, limit or reason where there is no wish.
        data: Plain JSON values without anybody's words.
        words: Prompts, answers, texts; left out of :meth:`to_dict` unless asked for, and of the representation.
        tokens: Of each sample of a model, where the backend gives them.
        cost: In the unit of the prices that are set.
        milliseconds: No part of comparisons.
    """

    author: Author
    kind: Kind
    name: str
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)
    words: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    tokens: tuple[Tokens, ...] = field(default=(), repr=False)
    operations: tuple[Operation, ...] = ()
    cost: float = 0.0
    milliseconds: float = field(default=0.0, compare=False)

    def to_dict(self, *, private: bool = False) -> dict[str, Any]:
        """Return the segment as plain JSON values; words and tokens only when ``private``.

        A log without them can be shown, and cannot be resumed.
        """
        document: dict[str, Any] = {
            "author": str(self.author),
            "kind": str(self.kind),
            "name": self.name,
            "data": dict(self.data),
            "cost": self.cost,
            "milliseconds": round(self.milliseconds, 3),
        }
        if self.operations:
            document["operations"] = [each.to_dict() for each in self.operations]
        if private and self.words:
            document["words"] = dict(self.words)
        if private and self.tokens:
            document["tokens"] = [asdict(each) for each in self.tokens]
        return document

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Segment:
        """Read a segment back from :meth:`to_dict`.

        Example:
            >>> segment = Segment(Author.GRAPH, Kind.RESULT, "rank", {"digest": "ab"}, milliseconds=0.5)
            >>> Segment.from_dict(segment.to_dict()) == segment
            True
        """
        try:
            if not all(isinstance(document.get(name, {}), Mapping) for name in ("data", "words")):
                raise TypeError("data and words are objects")
            return cls(
                Author(document["author"]),
                Kind(document["kind"]),
                str(document["name"]),
                document.get("data", {}),
                document.get("words", {}),
                tuple(
                    Tokens(**{key: tuple(value) for key, value in each.items()}) for each in document.get("tokens", ())
                ),
                tuple(Operation(**each) for each in document.get("operations", ())),
                float(document.get("cost", 0.0)),
                float(document.get("milliseconds", 0.0)),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UsageError("the log has an entry that is none", hint="give a log that kgdx wrote, whole") from error


def dump(log: Iterable[Segment], *, private: bool = True) -> str:
    """Return a log as JSON lines, one segment each; without words and tokens it cannot be resumed."""
    return "".join(json.dumps(each.to_dict(private=private), ensure_ascii=False) + "\n" for each in log)


def load(text: str) -> tuple[Segment, ...]:
    """Read a log; a last line that was cut while it was written is left out."""
    lines, found = text.split("\n"), []
    for number, line in enumerate(lines, 1):
        try:
            found += [Segment.from_dict(json.loads(line))] if line.strip() else []
        except ValueError as error:
            if number < len(lines):
                raise UsageError(f"line {number} of the log is no JSON", hint="give a log that kgdx wrote") from error
    return tuple(found)


def error_segment(name: str, error: KgdxError, **told: Any) -> Segment:
    """Return the segment that records an error; what the model had written of its answer goes into the words."""
    data = {"error": type(error).__name__, "message": error.message, "hint": error.hint, "fault": error.fault, **told}
    words = {}
    if isinstance(error, LlmError):
        data["kind"] = error.kind
        words = {"text": error.partial} if error.partial else {}
    return Segment(Author.LOOP, Kind.ERROR, name, data, words)


def error_of(segment: Segment) -> KgdxError:
    """Return the error that a segment records."""
    data = segment.data
    kind = getattr(errors, str(data.get("error", "")), KgdxError)
    if not (isinstance(kind, type) and issubclass(kind, KgdxError)) or issubclass(kind, MissingExtraError):
        kind = KgdxError
    message, hint = str(data.get("message", "")), data.get("hint")
    if issubclass(kind, LlmError):
        partial = str(segment.words.get("text", ""))
        return LlmError(message, hint=hint, kind=data.get("kind", "malformed"), partial=partial)
    found: KgdxError = kind(message, hint=hint)
    return found


def message_of(segment: Segment) -> str:
    """Return what an error says, with what to do about it."""
    message, hint = str(segment.data.get("message", "")), segment.data.get("hint")
    return f"{message}: {hint}" if hint else message


def add_spent(total: Spent, segment: Segment) -> Spent:
    """Return what was spent on language models, with one more segment of a log."""
    data = segment.data
    if segment.kind is Kind.ERROR and "kind" in data:
        return replace(total, failed=total.failed + 1)
    if segment.kind is not Kind.RESULT or segment.author is not Author.MODEL:
        return total
    if data.get("cached"):
        return replace(total, cached=total.cached + 1)
    return replace(
        total,
        calls=total.calls + 1,
        prompt_tokens=total.prompt_tokens + (data.get("prompt_tokens") or 0),
        completion_tokens=total.completion_tokens + (data.get("completion_tokens") or 0),
        uncounted=total.uncounted + (data.get("prompt_tokens") is None),
        cost=total.cost + segment.cost,
    )


def spent(log: Iterable[Segment]) -> Spent:
    """Add up what a log says of language models."""
    return reduce(add_spent, log, Spent())
