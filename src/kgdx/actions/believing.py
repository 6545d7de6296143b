"""Actions of a consultation: which diseases are how likely, and which questions would tell most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import Field

from kgdx.case import Status
from kgdx.episode.operations import Operations
from kgdx.episode.state import Artifact, Reads, State, digest_of
from kgdx.episode.turns import Leader
from kgdx.episode.wish import Action
from kgdx.rank.belief import BeliefTracker
from kgdx.rank.choices import telling_round
from kgdx.rank.proposing import OPTIONS, Question
from kgdx.rank.selectors import DEFAULT

LEADERS = 50
"""Candidates that beliefs are about."""

SHOWN = 5
"""Leaders that a log names, for its readers and to see whether an answer changed which diseases lead."""

QUESTIONS = 24
"""Questions that are proposed at once: most answers are "unknown", and leave them fresh."""


@dataclass(frozen=True, slots=True)
class Shares(Artifact):
    """The leading diseases with their shares among all annotated diseases, best first."""

    shares: tuple[Leader, ...] = ()

    def digest(self) -> str:
        return digest_of("\n".join(f"{each.id} {each.share:.6f}" for each in self.shares))

    def summary(self) -> dict[str, Any]:
        return {"leaders": [[each.id, each.name, round(each.share, 6)] for each in self.shares[:SHOWN]]}


@dataclass(frozen=True, slots=True)
class Questions(Artifact):
    """Questions, the one first that is expected to tell most."""

    depends: ClassVar[tuple[Reads, ...]] = (Shares, "evidence")

    questions: tuple[Question, ...] = ()

    def digest(self) -> str:
        return digest_of("\n".join(f"{each.id} {each.value:.6f}" for each in self.questions))


class Believe(Action):
    """Say how likely the leading diseases are, as shares among all diseases that are annotated."""

    name: ClassVar[str] = "believe"
    makes: ClassVar[type[Artifact]] = Shares
    planned: ClassVar[bool] = False

    top: Annotated[int, Field(ge=1, le=1000)] = LEADERS
    """How many diseases."""

    def run(self, graph: Operations, view: State) -> Shares:
        ranker, case = graph.graph.ranker, view.case

        def believe() -> tuple[Leader, ...]:
            beliefs = ranker.beliefs(case, self.top)
            named = map(ranker.names.candidate, beliefs.numbers.tolist())
            pairs = zip(named, beliefs.shares.tolist(), strict=True)
            return tuple(Leader(each.id, each.name, share) for each, share in pairs)

        given = {"observed": list(case.observed), "excluded": list(case.excluded)}
        return Shares(graph.tool("beliefs", given, believe, len))


class ProposeQuestions(Action):
    """Propose the questions that are expected to tell most about which disease it is.

    Phenotypes, evidences of DDXPlus, symptoms in words and tests are valued by one selector; its value is divided by
    the price of answering. The gain of each question is the mutual information of answer and disease, in bits.
    """

    name: ClassVar[str] = "propose_questions"
    makes: ClassVar[type[Artifact]] = Questions
    planned: ClassVar[bool] = False

    selector: str = DEFAULT
    """Who values the questions: a name of :data:`~kgdx.rank.selectors.SELECTORS`, with settings behind a colon."""
    count: Annotated[int, Field(ge=1, le=1000)] = QUESTIONS
    """Most questions."""
    unknown: tuple[str, ...] = ()
    """Ids to which the answer was "unknown": neither they nor those below them are proposed."""
    kinds: tuple[str, ...] = ("phenotype",)
    """What may be asked about: phenotype, evidence, symptom, test."""
    costs: dict[str, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    """Price by way of answering (ask, examine, laboratory, imaging); 1 for a way that is not named."""
    among: tuple[str, ...] = ()
    """Ids of the diseases that are to be told apart; all diseases when absent."""
    named: bool = True
    """Whether a yes is followed by "which?"."""
    complaints: tuple[str, ...] | None = None
    """Names of the complaints that are said in words: what is asked about the patient's complaints comes first, unless
    it is absent."""
    narrow: Annotated[int, Field(ge=0, le=100)] = OPTIONS
    """How many narrower findings a question offers after a yes."""

    def run(self, graph: Operations, view: State) -> Questions:
        proposer, case = graph.graph.ranker.proposer, view.case

        def propose() -> tuple[Question, ...]:
            found: tuple[Question, ...] = proposer.propose(
                *(case, self.selector, self.count),
                **{"unknown": self.unknown, "kinds": self.kinds, "costs": self.costs, "among": self.among},
                **{"named": self.named, "seed": view.seed, "complaints": self.complaints},
                narrow=self.narrow,
            )
            return found

        given = {"observed": list(case.observed), "excluded": list(case.excluded), "unknown": list(self.unknown)}
        return Questions(graph.tool("questions", given | {"selector": self.selector}, propose, len))


class RoundQuestion(NamedTuple):
    """A finding to ask for."""

    id: str
    label: str
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionRound(Artifact):
    """A round of questions, or what of it is still to be asked; the most telling one first."""

    depends: ClassVar[tuple[Reads, ...]] = ("case",)
    kept: ClassVar[bool] = True

    questions: tuple[RoundQuestion, ...] = ()

    def digest(self) -> str:
        return digest_of("\n".join(each.id for each in self.questions))

    def to_data(self) -> dict[str, Any]:
        return {"questions": [[each.id, each.label, list(each.below)] for each in self.questions]}

    @classmethod
    def from_log(cls, data: Mapping[str, Any], words: Mapping[str, Any]) -> QuestionRound:
        return cls(tuple(RoundQuestion(id, label, tuple(below)) for id, label, below in data["questions"]))


class ProposeRound(Action):
    """Propose the questions that tell most of which disease it is."""

    name: ClassVar[str] = "propose_round"
    needs_findings: ClassVar[bool] = True
    makes: ClassVar[type[Artifact]] = QuestionRound
    planned: ClassVar[bool] = False

    left: tuple[str, ...] = ()
    """Ids of what is left of a round: where some are given, those of them that are still open."""

    def run(self, graph: Operations, view: State) -> QuestionRound:
        given = {"observed": list(view.case.observed), "excluded": list(view.case.excluded), **self.parameters()}
        found: QuestionRound = graph.tool(
            "questions", given, lambda: self._round(graph.graph.belief_tracker, view), lambda made: len(made.questions)
        )
        return found

    def _round(self, tracker: BeliefTracker, view: State) -> QuestionRound:
        ranker, rows = tracker.ranker, tracker.ranker.names.terms
        unknown = [rows[each.id] for each in view.case.findings if each.status is Status.UNKNOWN and each.id in rows]
        query, _ = ranker.query(view.case.evidence)
        settled = tracker.settled(query, unknown)
        if self.left:
            asked = [row for each in self.left if (row := rows.get(each, -1)) >= 0 and not settled[row]]
        else:
            asked = telling_round(tracker, tracker.of(query), settled).tolist()
        below: dict[int, list[str]] = {}
        for place, term in enumerate(asked):
            for above in set(asked[:place]).intersection(tracker.model.basis.up.columns(term).tolist()):
                below.setdefault(above, []).append(ranker.terms[term])
        ids = [ranker.terms[term] for term in asked]
        return QuestionRound(
            tuple(
                RoundQuestion(id, ranker.names.label(id), tuple(below.get(term, ())))
                for id, term in zip(ids, asked, strict=True)
            )
        )
