"""What actions find: artifacts, and the ways to ask a state for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from kgdx.episode.state import Artifact, Reads, State, digest_of
from kgdx.results.ranked import Reranking

if TYPE_CHECKING:
    from kgdx.graph.protocol import Row
    from kgdx.rank import Ranking
    from kgdx.results.cited import Citation, CitedText, Description, Resolved
    from kgdx.results.evidence_paths import EvidencePath
    from kgdx.results.ranked import Candidate, MoveReason
    from kgdx.terms.names.name_decision import Mention


@dataclass(frozen=True, slots=True)
class Read(Artifact):
    """The case's words have been read up to a place, and its terms brought up to date."""

    depends: ClassVar[tuple[Reads, ...]] = ("words",)

    characters: int = 0
    findings: str = ""
    """Digest of what is known of the patient since."""
    new: tuple[tuple[str, str, str], ...] = ()
    """Id, label and status of each finding that was read in the words."""
    doubts: tuple[tuple[str, str, str], ...] = ()
    """Findings that contradict others: id, what is wrong, what was done."""

    def digest(self) -> str:
        return digest_of({"characters": self.characters, "findings": self.findings})

    def summary(self) -> dict[str, Any]:
        told = {"findings": self.new, "doubts": self.doubts}
        return {name: [list(each) for each in rows] for name, rows in told.items() if rows}


@dataclass(frozen=True, slots=True)
class Mentioned(Artifact):
    """Entities of the graph that the question names."""

    depends: ClassVar[tuple[Reads, ...]] = ("question",)

    mentions: tuple[Mention, ...] = ()


ABSENT = "absent"
"""Reason of a finding that the question says is not there."""


@dataclass(frozen=True, slots=True)
class Understood(Artifact):
    """How names were understood that no part of the question is in full."""

    depends: ClassVar[tuple[Reads, ...]] = ("question",)

    resolved: tuple[Resolved, ...] = ()


NAMED = 5
"""Candidates of a ranking that a log names."""


@dataclass(frozen=True, slots=True)
class Ranked(Artifact):
    """The diseases that fit the case's findings, best first."""

    ranking: Ranking

    def digest(self) -> str:
        return digest_of([(each.id, each.rank, each.score) for each in self.ranking.candidates])

    def summary(self) -> dict[str, Any]:
        return {"ranked": [each.id for each in self.ranking.candidates[:NAMED]]}


@dataclass(frozen=True, slots=True)
class Explained(Artifact):
    """Evidence paths by candidate, bound to the ranking that they explain."""

    depends: ClassVar[tuple[Reads, ...]] = (Ranked, "evidence")
    many: ClassVar[bool] = True

    paths: Mapping[str, tuple[EvidencePath, ...]] = field(default_factory=dict, hash=False)
    candidates: tuple[Candidate, ...] = ()
    """Those of the ranking among them, with what each finding adds to their scores."""

    def digest(self) -> str:
        """Return a digest of the paths and of the parts of the scores."""
        parts = [
            (each.id, [(part.finding, part.rule, part.parts) for part in each.contributions])
            for each in self.candidates
        ]
        return digest_of([{id: [path.to_dict() for path in paths] for id, paths in self.paths.items()}, parts])


@dataclass(frozen=True, slots=True)
class DiseasesNamed(Artifact):
    """The diseases that a model's diagnosis names."""

    depends: ClassVar[tuple[Reads, ...]] = ()

    declared: tuple[str, ...] = ()
    unknown: tuple[str, ...] = field(default=(), repr=False)
    invented: int = 0
    reasons: Mapping[str, MoveReason] = field(default_factory=dict, repr=False, hash=False)

    def summary(self) -> dict[str, Any]:
        return {"declared": list(self.declared), "unknown": len(self.unknown), "invented": self.invented}


@dataclass(frozen=True, slots=True)
class Reranked(Artifact):
    """The ranking's candidates in the order that a language model gave them; their scores stay as they are."""

    depends: ClassVar[tuple[Reads, ...]] = (Ranked, "evidence")

    order: tuple[str, ...] = ()
    """Ids of all candidates of the ranking, best first."""
    reasons: Mapping[str, MoveReason] = field(default_factory=dict, hash=False)
    """Why candidates were moved, by id."""
    told: Reranking = field(default_factory=Reranking)

    def summary(self) -> dict[str, Any]:
        return self.told.to_dict()


@dataclass(frozen=True, slots=True)
class Retrieved(Artifact):
    """Rows that a template returned to the policy, and how the names that it was given were understood."""

    depends: ClassVar[tuple[Reads, ...]] = ()
    many: ClassVar[bool] = True

    template: str
    parameters: Mapping[str, Any] = field(hash=False)
    rows: tuple[Row, ...] = field(hash=False)
    action: str = ""
    resolved: tuple[Resolved, ...] = ()
    rows_digest: str = ""

    def digest(self) -> str:
        return digest_of([self.template, self.parameters, self.rows_digest, [each.ids for each in self.resolved]])

    def summary(self) -> dict[str, Any]:
        """Return the ids of what was put in on request, and of a match what was asked and the diseases found."""
        injected = [row["id"] for row in self.rows if row.get("irrelevant")]
        told: dict[str, Any] = {"irrelevant": injected} if injected else {}
        if self.action == "match":
            rows = (row for row in self.rows if not row.get("irrelevant"))
            found = dict.fromkeys(id for row in rows for id in row.get("diseases") or () if id)
            told |= {"asked": list(self.parameters.get("asked", ())), "diseases": list(found)}
        return told


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a text that a search found."""

    id: str
    title: str
    text: str
    source: str
    score: float
    irrelevant: bool = False


@dataclass(frozen=True, slots=True)
class Searched(Artifact):
    """Passages that a search found, best first."""

    depends: ClassVar[tuple[Reads, ...]] = ()
    many: ClassVar[bool] = True

    query: str = field(repr=False)
    passages: tuple[Passage, ...] = ()

    def digest(self) -> str:
        return digest_of([(each.id, each.score, each.irrelevant) for each in self.passages])

    def summary(self) -> dict[str, Any]:
        return _ids_found(self.passages)


def _ids_found(passages: tuple[Passage, ...]) -> dict[str, Any]:
    told = {"found": [each.id for each in passages if not each.irrelevant]}
    injected = [each.id for each in passages if each.irrelevant]
    return told | ({"irrelevant": injected} if injected else {})


@dataclass(frozen=True, slots=True)
class Fitted(Artifact):
    """The passages that an answer may rest on: those that have room in a prompt."""

    depends: ClassVar[tuple[Reads, ...]] = (Searched,)

    passages: tuple[Passage, ...] = ()
    found: int = 0
    tokens: int = 0
    budget: int = 0
    cut: bool = False
    """Whether not even one had room, so that the best was cut."""

    def summary(self) -> dict[str, Any]:
        told = {"fit": len(self.passages), "of": self.found, "tokens": self.tokens, "budget": self.budget}
        return {**told, **({"cut": True} if self.cut else {}), "found": [each.id for each in self.passages]}


@dataclass(frozen=True, slots=True)
class OptionChosen(Artifact):
    """The option that a question is answered with."""

    depends: ClassVar[tuple[Reads, ...]] = ("question",)

    letter: str = ""
    text: str = field(default="", repr=False)
    votes: Mapping[str, int] = field(default_factory=dict, hash=False)
    answers: int = 0

    def summary(self) -> dict[str, Any]:
        return {"letter": self.letter, "votes": dict(self.votes), "answers": self.answers}


@dataclass(frozen=True, slots=True)
class Summarised(Artifact):
    """The points that passages make for a query, each with the id of its passage where that is known."""

    depends: ClassVar[tuple[Reads, ...]] = (Searched,)
    many: ClassVar[bool] = True

    points: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Text and passage id; none where nothing found is about the query ("no reference")."""
    by: str = "sentences"
    """Who chose them: ``sentences`` by their words, or ``model``."""


@dataclass(frozen=True, slots=True)
class Described(Artifact):
    """What the graph says of diseases in words."""

    depends: ClassVar[tuple[Reads, ...]] = ()
    many: ClassVar[bool] = True

    descriptions: tuple[Description, ...] = ()


@dataclass(frozen=True, slots=True)
class Named(Artifact):
    """What the entities that were found are called in English and in Chinese."""

    depends: ClassVar[tuple[Reads, ...]] = ()

    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)
    """Id → language (``en``, ``zh``) → name."""


@dataclass(frozen=True, slots=True)
class Cited(Artifact):
    """Publications for what was found; the log keeps them, since PubMed need not answer alike again."""

    depends: ClassVar[tuple[Reads, ...]] = ()
    kept: ClassVar[bool] = True

    citations: tuple[Citation, ...] = ()

    def to_data(self) -> dict[str, Any]:
        return {"citations": [each.to_dict() for each in self.citations]}

    @classmethod
    def from_log(cls, data: Mapping[str, Any], words: Mapping[str, Any]) -> Cited:
        from kgdx.results.cited import Citation

        plain: Iterator[dict[str, Any]] = (
            {key: tuple(value) if isinstance(value, list) else value for key, value in each.items()}
            for each in data["citations"]
        )
        return cls(tuple(Citation(**each) for each in plain))


@dataclass(frozen=True, slots=True)
class Answered(Artifact):
    """The answer, with its citations checked."""

    depends: ClassVar[tuple[Reads, ...]] = ("question",)

    answer: CitedText


@dataclass(frozen=True, slots=True)
class KeptText(Artifact):
    """A text that the log keeps, since what is found later does not change it."""

    depends: ClassVar[tuple[Reads, ...]] = ()
    kept: ClassVar[bool] = True

    text: str = field(default="", repr=False)

    def to_words(self) -> dict[str, Any]:
        return {"text": self.text}


class Drafted(KeptText):
    """What rules answer, before a model is asked."""


@dataclass(frozen=True, slots=True)
class Declared(Artifact):
    """The diagnosis: ids of diseases, best first; the ranking's own order where there are none."""

    depends: ClassVar[tuple[Reads, ...]] = ("evidence",)

    diseases: tuple[str, ...] = ()


def ranking_of(state: State) -> Ranking | None:
    found = state.get(Ranked)
    return None if found is None else found.ranking


def evidence_of(state: State) -> dict[str, tuple[EvidencePath, ...]]:
    return {id: paths for each in state.all(Explained) for id, paths in each.paths.items()}


def candidates_of(state: State) -> tuple[Candidate, ...]:
    """Return the ranking's candidates, those that were explained with what each finding adds to their scores."""
    ranking = ranking_of(state)
    told = {each.id: each for found in state.all(Explained) for each in found.candidates}
    return () if ranking is None else tuple(told.get(each.id, each) for each in ranking.candidates)


def resolved_of(state: State) -> tuple[Resolved, ...]:
    """Return how names that were given to actions were understood, each once."""
    before = state.get(Understood)
    later = (each for found in state.all(Retrieved) for each in found.resolved)
    return tuple(dict.fromkeys((*(before.resolved if before is not None else ()), *later)))


def described_of(state: State) -> tuple[Description, ...]:
    return tuple({each.id: each for found in state.all(Described) for each in found.descriptions}.values())


def names_of(state: State) -> Mapping[str, Mapping[str, str]]:
    found = state.last(Named)
    return {} if found is None else found.names


def citations_of(state: State) -> tuple[Citation, ...]:
    found = state.last(Cited)
    return () if found is None else found.citations


def mentions_of(state: State) -> tuple[Mention, ...]:
    found = state.get(Mentioned)
    return () if found is None else found.mentions


def answer_of(state: State) -> CitedText | None:
    found = state.get(Answered)
    return None if found is None else found.answer
