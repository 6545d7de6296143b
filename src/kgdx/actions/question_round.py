"""The action that proposes a round of questions: those that tell most among all diseases that are likely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from kgdx.case import Status
from kgdx.episode.operations import Operations
from kgdx.episode.state import Artifact, Reads, State, digest_of
from kgdx.episode.wish import Action
from kgdx.rank.belief import BeliefTracker
from kgdx.rank.choices import telling_round


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
