"""The state of an episode, and its record: an append-only log of segments, each with its author.

Both are immutable: an action gets a state and returns another. Explanations, replay, costs and rewards are functions
of the log.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from kgdx.actions.evidence import EvidencePath
from kgdx.actions.known import Citation, CitedText, Description, Resolved
from kgdx.case import Case
from kgdx.llm.accounting import Spent
from kgdx.store.protocol import Row

if TYPE_CHECKING:
    from kgdx.align.named import Mention
    from kgdx.rank import Ranking


class Author(StrEnum):
    """Who wrote a segment."""

    POLICY = "policy"
    GRAPH = "graph"
    TOOL = "tool"
    PATIENT = "patient"
    USER = "user"


PRIVATE = frozenset({Author.PATIENT, Author.USER})
"""Authors whose words may identify a patient: their content leaves the process only when asked for."""

PRIVATE_KINDS = frozenset({"prompt", "answer", "thought"})
"""Kinds of segments whose words may repeat those of a patient, whoever wrote them."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One entry of an episode's log.

    Attributes:
        author: Who wrote it.
        kind: ``action`` (a policy's choice), ``query`` (a template that ran), ``tool`` (extractor, ranker),
            ``prompt`` (what a language model was asked), ``answer`` (what it said), ``thought`` (its reason),
            ``plan`` (the actions it will see done), ``text`` (words), ``error`` or ``end``.
        name: Name of the action, template or tool.
        parameters: What it was given; never a patient's text.
        rows: How many rows came back.
        digest: Digest of the rows (:func:`kgdx.store.rows.digest`), so that a replay can prove them equal.
        milliseconds: How long it took; differs from run to run, so it takes no part in comparisons.
        cost: What it cost, in the unit of :attr:`Limits.cost`.
        content: Words: a reason, an answer, an error message; no part of the representation, since it may be a
            patient's.

    Example:
        >>> Segment(Author.POLICY, "action", "rank", {"top": 10}).to_dict()["name"]
        'rank'
    """

    author: Author
    kind: str
    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    rows: int | None = None
    digest: str = ""
    milliseconds: float = field(default=0.0, compare=False)
    cost: float = 0.0
    content: str = field(default="", repr=False)

    def to_dict(self, *, private: bool = False) -> dict[str, Any]:
        """Return the segment as plain JSON values; what may be a patient's or user's words only when ``private``."""
        return {
            "author": str(self.author),
            "kind": self.kind,
            "name": self.name,
            "parameters": dict(self.parameters),
            "rows": self.rows,
            "digest": self.digest,
            "milliseconds": round(self.milliseconds, 3),
            "cost": self.cost,
            "content": "" if self.private and not private else self.content,
        }

    @property
    def private(self) -> bool:
        """Whether its content may hold a patient's or user's words.

        Example:
            >>> Segment(Author.POLICY, "answer", "qwen3", content="{}").private
            True
        """
        return self.author in PRIVATE or self.kind in PRIVATE_KINDS

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Segment:
        """Read a segment back from :meth:`to_dict`.

        Example:
            >>> segment = Segment(Author.GRAPH, "query", "get_disease", {"ids": ["OMIM:1"]}, 1, "ab", 0.5)
            >>> Segment.from_dict(segment.to_dict()) == segment
            True
        """
        return cls(**{**document, "author": Author(document["author"])})


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Rows that a template returned to the policy, and the action that asked for them."""

    template: str
    parameters: Mapping[str, Any] = field(hash=False)
    rows: tuple[Row, ...] = field(hash=False)
    action: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """Everything a policy may look at.

    Attributes:
        case: What is known of the patient.
        read: Whether the case's text has been read and its terms brought up to date.
        ranking: The latest ranking, if any.
        evidence: Paths per candidate id, once explained.
        retrieved: What templates returned on the policy's request, in order.
        done: Whether a diagnosis has been declared, or the answer given.
        log: The record so far.
        seed: Seed of every random choice in the episode.
        question: What the user wants to know; may hold a patient's words, so it is no part of the log.
        mentioned: Entities that the question names; ``None`` before it has been read.
        resolved: How the names that actions were given have been understood.
        described: What the graph says of diseases in words.
        citations: Publications for what was found.
        answer: The answer, with its citations checked.

    Example:
        >>> State(Case("p")).logged(Segment(Author.POLICY, "action", "rank")).steps
        1
    """

    case: Case
    read: bool = False
    ranking: Ranking | None = None
    evidence: Mapping[str, tuple[EvidencePath, ...]] | None = field(default=None, hash=False)
    retrieved: tuple[Retrieved, ...] = ()
    done: bool = False
    log: tuple[Segment, ...] = ()
    seed: int = 0
    question: str = field(default="", repr=False)
    mentioned: tuple[Mention, ...] | None = None
    resolved: tuple[Resolved, ...] = ()
    described: tuple[Description, ...] = ()
    citations: tuple[Citation, ...] = ()
    answer: CitedText | None = None

    def logged(self, *segments: Segment) -> State:
        """Return the state with segments appended to its log."""
        return replace(self, log=(*self.log, *segments))

    @property
    def steps(self) -> int:
        """How many actions have been chosen so far."""
        return sum(segment.kind == "action" for segment in self.log)

    @property
    def cost(self) -> float:
        """Cost of all segments so far."""
        return sum(segment.cost for segment in self.log)

    @property
    def spent(self) -> Spent:
        """What language models were asked so far; see :func:`spent`."""
        return spent(self.log)

    def random(self) -> random.Random:
        """Return the generator of this step's random choices: equal seed and step, equal choices.

        Example:
            >>> State(Case("p"), seed=7).random().random() == State(Case("q"), seed=7).random().random()
            True
        """
        return random.Random(f"{self.seed}:{self.steps}")

    def differs(self, other: State) -> bool:
        """Tell whether anything but the log differs, that is, whether the step between them got anywhere.

        Example:
            >>> before = State(Case("p"))
            >>> before.differs(before.logged(Segment(Author.POLICY, "action", "rank")))
            False
        """
        return self._content() != other._content()

    def _content(self) -> tuple[object, ...]:
        found = (self.mentioned, self.retrieved, self.resolved, self.described, self.citations)
        return (self.case, self.read, self.ranking, self.evidence, *found, self.answer, self.done)


def spent(log: Iterable[Segment]) -> Spent:
    """Add up what the log says of answers of language models.

    Example:
        >>> told = {"prompt": "plan@1", "read": 900, "written": 60, "cached": False}
        >>> spent([Segment(Author.POLICY, "answer", "qwen3", told, cost=0.5)]).calls
        1
    """
    total = Spent()
    for segment in log:
        if segment.kind == "error" and "kind" in segment.parameters:
            total = replace(total, failed=total.failed + 1)
        if segment.kind != "answer":
            continue
        told, cached = segment.parameters, bool(segment.parameters.get("cached"))
        read, written = (0 if cached else told.get(key) or 0 for key in ("read", "written"))
        total = replace(
            total,
            calls=total.calls + (not cached),
            cached=total.cached + cached,
            read=total.read + read,
            written=total.written + written,
            uncounted=total.uncounted + (not cached and told.get("read") is None),
            cost=total.cost + segment.cost,
        )
    return total


@dataclass(frozen=True, slots=True)
class Limits:
    """When an episode ends although its policy would go on.

    Attributes:
        steps: Most actions.
        stagnation: Most actions in a row that change nothing.
        seconds: Most wall-clock time, checked between actions; ``None`` for no limit.
        cost: Most cost; ``None`` for no limit.
        errors: How many failed actions a policy may try to mend before the episode ends.
        calls: Most answers of a language model; those that were kept from before are free.
        tokens: Most tokens that a language model reads and writes.
    """

    steps: int = 64
    stagnation: int = 3
    seconds: float | None = None
    cost: float | None = None
    errors: int = 0
    calls: int | None = None
    tokens: int | None = None
