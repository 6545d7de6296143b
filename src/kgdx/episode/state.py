"""What a policy may look at: the case, typed artifacts bound to what they were made from, and the log they fold from.

A state is immutable: each transition appends one segment and gives another state. So an episode branches for free,
resumes from its log, and a policy is tested with a list of segments.
"""

from __future__ import annotations

import hashlib
import json
import random
from abc import ABC
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, cast

from pydantic import BaseModel, ConfigDict

from kgdx.case import Case
from kgdx.episode.segment import Author, Kind, Segment, add_spent
from kgdx.llm.budget import Spent

A = TypeVar("A", bound="Artifact")
T = TypeVar("T")

Reads = str | type["Artifact"]
"""What an artifact can be made from: ``case`` (all of it), ``evidence`` (what ranking may read of it:
:attr:`kgdx.case.Case.evidence`), ``words`` (the patient's text), ``question``, ``log``, or another kind of artifact."""


class Artifact:
    """Something that an episode found; subclasses are frozen dataclasses, found again by their class.

    An artifact is fresh as long as all that it was made from is the same; :meth:`State.get` gives fresh ones alone.
    """

    __slots__ = ()

    depends: ClassVar[tuple[Reads, ...]] = ("evidence",)
    """What it is made from, unless the action says otherwise (:attr:`kgdx.episode.wish.Action.reads`)."""
    kept: ClassVar[bool] = False
    """Whether the log carries it in full, because the graph cannot make it again (:meth:`to_data`)."""
    many: ClassVar[bool] = False
    """Whether there is one for each different wish, rather than the latest alone."""

    def digest(self) -> str:
        return digest_of(self)

    def summary(self) -> dict[str, Any]:
        return {}

    def to_data(self) -> dict[str, Any]:
        return {}

    def to_words(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_log(cls: type[A], data: Mapping[str, Any], words: Mapping[str, Any]) -> A:
        return cls(**data, **words)


_JSON = frozenset({str, int, bool, type(None)})


def digest_of(value: Any) -> str:
    """Return a short SHA-256 of plain values and of dataclasses of them, in which floats count to nine digits."""
    text = json.dumps(_plain(value), ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if type(value) in _JSON:
        return value  # most are: decided before the slower questions
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    kind: type = type(value)
    if (names := _field_names(kind)) is not None:
        return {name: _plain(getattr(value, name)) for name in names}
    return value


@cache
def _field_names(kind: type) -> tuple[str, ...] | None:
    return tuple(each.name for each in fields(kind)) if is_dataclass(kind) else None


Effect = Literal["graph", "patient", "model", "note", "end"]


class Wish(BaseModel, ABC):
    """What a policy wants to happen. Subclasses give it a :attr:`name`, an :attr:`effect` and fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: ClassVar[str]
    effect: ClassVar[Effect]
    aliases: ClassVar[tuple[str, ...]] = ()
    """Other names under which it is known."""
    private: ClassVar[frozenset[str]] = frozenset()
    """Fields that may hold somebody's words: the log keeps them apart, and shows them only when asked to."""

    def refused(self, state: State) -> str | None:
        return None

    def parameters(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude=set(self.private) or None)

    def words(self) -> dict[str, Any]:
        return self.model_dump(mode="json", include=set(self.private)) if self.private else {}

    @property
    def key(self) -> str:
        return f"{self.name}{self.model_dump_json()}"


@dataclass(frozen=True, slots=True)
class Limits:
    """When an episode ends although its policy would go on; all are functions of the log, so a resume counts on.

    Steps are wishes; stagnation is actions in a row that find nothing new; seconds are worked as the log tells it, a
    person's thinking not counted; errors are failed wishes that a policy may try to mend; calls of language models that
    were kept from before are free. ``None`` is no limit.
    """

    steps: int = 64
    stagnation: int = 3
    seconds: float | None = None
    cost: float | None = None
    errors: int = 0
    calls: int | None = None
    tokens: int | None = None
    questions: int | None = None

    def reached(self, counts: Counts) -> str | None:
        """Return the name of a limit that forbids to go on, or ``None``."""
        if counts.failures > self.errors:
            return "error"
        if counts.steps >= self.steps:
            return "steps"
        if counts.stagnant >= self.stagnation:
            return "stagnation"
        if self.seconds is not None and counts.milliseconds >= 1000 * self.seconds:
            return "time"
        return None

    def model(self, counts: Counts) -> str | None:
        """Return the name of a limit that forbids to ask a model once more, or ``None``."""
        spent = counts.spent
        if self.cost is not None and spent.cost >= self.cost:
            return "cost"
        if self.calls is not None and spent.calls >= self.calls:
            return "calls"
        if self.tokens is not None and spent.prompt_tokens + spent.completion_tokens >= self.tokens:
            return "tokens"
        return None


class Counts(NamedTuple):
    """What limits are about, folded from the log."""

    steps: int = 0
    questions: int = 0
    failures: int = 0
    stagnant: int = 0
    requests: int = 0
    milliseconds: float = 0.0
    spent: Spent = Spent()


class ArtifactEntry(NamedTuple):
    """An artifact with what it was made from; its value is ``None`` between a log's reading and its resume."""

    value: Artifact | None
    digest: str
    reads: tuple[Reads, ...]
    stamp: tuple[Hashable, ...]
    wish: Wish


Artifacts = Mapping[type[Artifact], dict[Any, ArtifactEntry]]


@dataclass(frozen=True, slots=True)
class State:
    """Everything a policy may look at.

    Attributes:
        question: What the user wants to know; may hold a patient's words.
        limited: The limit that is reached; empty while there is none.
        finished: Why it ends after the last segment: ``diagnosed`` or ``answered``; empty while it goes on.
        ended: Why the episode ended; empty while it goes on.
        options: Letters and texts that the question offers to choose from; none where it offers nothing.

    Example:
        >>> State(Case("p"), seed=7).random().random() == State(Case("q"), seed=7).random().random()
        True
    """

    case: Case
    question: str = field(default="", repr=False)
    seed: int = 0
    limits: Limits = Limits()
    log: tuple[Segment, ...] = field(default=(), repr=False)
    artifacts: Artifacts = field(default_factory=dict, repr=False, hash=False, compare=False)
    counts: Counts = field(default_factory=Counts)
    pending: Wish | None = None
    limited: str = ""
    finished: str = ""
    ended: str = ""
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    _known: dict[Reads, Hashable] = field(default_factory=dict, repr=False, hash=False, compare=False)
    _made: dict[str, tuple[Any, Any]] = field(default_factory=dict, repr=False, hash=False, compare=False)

    # -- what was found

    def get(self, kind: type[A]) -> A | None:
        """Return the latest artifact of a class if it is fresh, that is, made from what holds now."""
        entry = self._latest(kind)
        return cast("A", entry.value) if entry is not None and self.fresh(entry) else None

    def all(self, kind: type[A]) -> tuple[A, ...]:
        """Return all fresh artifacts of a class, in the order in which they were first made."""
        entries = self.artifacts.get(kind, {}).values()
        return tuple(cast("A", entry.value) for entry in entries if entry.value is not None and self.fresh(entry))

    def last(self, kind: type[A]) -> A | None:
        """Return the latest artifact of a class, even if it is stale: to show, never to declare."""
        entry = self._latest(kind)
        return None if entry is None else cast("A", entry.value)

    def tried(self, wish: Wish) -> bool:
        """Tell whether the episode has had this wish since the patient last answered, whatever came of it."""
        data = wish.parameters()
        for segment in reversed(self.log):
            if segment.author is Author.PATIENT:
                return False
            if segment.kind is Kind.WISH and segment.name == wish.name and segment.data == data:
                return True
        return False

    def fresh(self, entry: ArtifactEntry) -> bool:
        return all(self.known(each) == was for each, was in zip(entry.reads, entry.stamp, strict=True))

    def known(self, what: Reads) -> Hashable:
        """Return a value that is equal as long as something that artifacts are made from is the same."""
        if what == "log":
            return len(self.log)
        if what not in self._known:
            self._known[what] = self._content(what)
        return self._known[what]

    def stamp(self, reads: Iterable[Reads]) -> tuple[Hashable, ...]:
        return tuple(self.known(each) for each in reads)

    def view(self, reads: Iterable[Reads], previous: type[Artifact] | None = None) -> State:
        """Return a state with nothing but what is read, so that an artifact cannot depend on more than it says."""
        given = set(reads)
        seen = {kind: self.artifacts[kind] for kind in given if not isinstance(kind, str) and kind in self.artifacts}
        if previous is not None and previous in self.artifacts:
            seen[previous] = self.artifacts[previous]
        for entries in seen.values():
            for entry in entries.values():
                self.stamp(entry.reads)  # what is fresh is decided here, where all of it can be seen
        case = self.case if given & {"case", "words"} else cast("Case", self.known("evidence"))
        log = self.log if "log" in given else ()
        question = self.question if "question" in given else ""
        options = self.options if "question" in given else ()
        known = dict(self._known)
        seed, limits, counts = self.seed, self.limits, self.counts
        return State(case, question, seed, limits, log, seen, counts, options=options, _known=known, _made=self._made)

    def kept(self, name: str, made_of: Any, make: Callable[[Any], T]) -> T:
        """Return what this state, or one before it, made of the same; else make it, given the last and what of."""
        before = self._made.get(name)
        if before is None or before[0] != made_of:
            before = self._made[name] = (made_of, make(before))
        return cast("T", before[1])

    def random(self, stream: str = "") -> random.Random:
        return random.Random(f"{self.seed}:{self.counts.steps}:{stream}")

    def _latest(self, kind: type[Artifact]) -> ArtifactEntry | None:
        entries = self.artifacts.get(kind)
        return next(reversed(entries.values())) if entries else None

    def _content(self, what: Reads) -> Hashable:
        if what == "case":
            return self.case
        if what == "evidence":
            return self.case.evidence
        if what == "words":
            return self.case.text
        if what == "question":
            return (self.question, self.options)
        assert not isinstance(what, str)
        return tuple(entry.digest for entry in self.artifacts.get(what, {}).values() if self.fresh(entry))

    # -- the fold

    def add(self, segment: Segment, *, wish: Wish | None = None, case: Case | None = None, finished: str = "") -> State:
        """Return the state after one more segment; the wish that it records is pending from now on."""
        return State(
            self.case if case is None else case,
            self.question,
            self.seed,
            self.limits,
            (*self.log, segment),
            self.artifacts,
            _counted(self.counts, segment, wish, self.pending),
            wish,
            segment.name if segment.kind is Kind.LIMIT else self.limited,
            finished or self.finished,
            segment.name if segment.kind is Kind.END else self.ended,
            self.options,
            self._known if case is None else {what: each for what, each in self._known.items() if what == "question"},
            self._made,
        )

    def found(self, entry: ArtifactEntry, value: Artifact | type[Artifact]) -> State:
        """Return the state with an artifact (or, of a log that is read, the class of one) beside or in place of others.

        It counts as progress unless an equal one was there.
        """
        kind = value if isinstance(value, type) else type(value)
        before = self.artifacts.get(kind, {})
        key: Any = entry.wish.key if kind.many else kind
        same = key in before and before[key].digest == entry.digest and self.fresh(before[key])
        counts = self.counts._replace(stagnant=self.counts.stagnant + 1 if same else 0)
        entries = {**{other: each for other, each in before.items() if kind.many or other != key}, key: entry}
        known: dict[Reads, Hashable] = {what: each for what, each in self._known.items() if isinstance(what, str)}
        return replace(self, artifacts={**self.artifacts, kind: entries}, counts=counts, _known=known)


_MANY = 1_000_000
"""Failures that a policy which cannot choose counts for: it will not choose better again."""


def _counted(counts: Counts, segment: Segment, wish: Wish | None, pending: Wish | None) -> Counts:
    steps, questions, failures, stagnant, requests, worked, total = counts
    kind = segment.kind
    if kind is Kind.WISH:
        effect = wish.effect if wish is not None else ""
        steps += 1
        questions += effect == "patient"
        requests += effect == "model"
    elif kind is Kind.ERROR:
        failures += 1 if "choosing" not in segment.data else _MANY
        stagnant += pending is not None and pending.effect == "graph"
    if segment.author is not Author.PATIENT and segment.milliseconds:
        worked += segment.milliseconds
    if segment.author is Author.MODEL or (kind is Kind.ERROR and "kind" in segment.data):
        total = add_spent(total, segment)
    return Counts(steps, questions, failures, stagnant, requests, worked, total)
