"""Policies that choose among what is listed: each choice is done as the wishes that it takes, from the log alone.

What is chosen is left to a subclass: a network that was trained, or an agent of the environment, which so play the same
game.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from kgdx.actions.answering import Diagnose
from kgdx.actions.considering import Consider, Considerable, Considered
from kgdx.actions.explaining import Explain
from kgdx.actions.reading import Extract, Rank
from kgdx.actions.tools import Lookup, Match, Search
from kgdx.answer.artifacts import Explained, Ranked, Read
from kgdx.case import Status
from kgdx.episode.policy import Policy
from kgdx.episode.segment import Author, Kind, Segment
from kgdx.episode.state import State
from kgdx.episode.wish import AskPatient, Wish
from kgdx.policies.inquiry import OPENLY
from kgdx.rank.standing import MATCHED, Asked

QUESTIONS = ("ask", "round", "lookup")
"""Kinds of choices that ask the patient."""


class ListedPolicy(Policy):
    """Read what is known, list what could be done, do what is chosen, until that is to diagnose."""

    patient: bool = False
    """Whether there is a patient to ask."""
    questions: Annotated[int, Field(ge=0)] = 200
    """Most questions."""
    top: int = 10
    """How many candidates are declared."""
    explain: int = 3
    """How many of them are explained."""
    language: str | None = None
    """Language of the patient's words; found out when ``None``."""
    speaks: Literal["en", "zh"] | None = None
    """Language of the questions; that of the patient's words when ``None``."""

    def choose(self, state: State) -> Wish | None:
        """Return the next step: read what is new, list what could be done, do the best of it."""
        if state.get(Read) is None and (state.case.text or state.case.findings):
            read = Extract(language=self.language)
            if not state.tried(read):
                return read
        asked = state.counts.questions
        if not state.case.observed:
            return AskPatient() if self.patient and asked < min(self.questions, OPENLY) else None
        since = _since(state.log)
        told = state.last(Considered)
        if told is None or not since:
            return None if state.tried(Consider()) else Consider()
        if self.failed(since):
            return self.close(state)
        if told.asking:
            return self._ask(since, told.asking, asked) or _considered(since)
        choice = self.chosen(told, asked)
        if choice.kind == "lookup" and not _did(since, Lookup):
            return Lookup(diseases=(choice.disease,))
        if choice.kind in QUESTIONS:
            return self._ask(since, choice.findings, asked, choice) or _considered(since, choice)
        if choice.kind == "search":
            search = Search(query=choice.query, limit=MATCHED, without=state.case.publications)
            return _considered(since, choice) if _did(since, Search) else search
        if choice.kind == "match":
            match = Match(findings=tuple(each.id for each in choice.findings), limit=MATCHED)
            return _considered(since, choice) if _did(since, Match) else match
        return self.close(state)

    @abstractmethod
    def chosen(self, told: Considered, asked: int = 0) -> Considerable:
        """Return what is done next: one of what is listed, the same until another list is made.

        Args:
            told: What is listed.
            asked: How many questions were asked.
        """

    def failed(self, since: Sequence[Segment]) -> bool:
        """Tell whether something could not be done since choices were listed; the episode is then closed."""
        return any(segment.kind is Kind.ERROR for segment in since)

    def able(self, told: Considered, asked: int = 0) -> list[Considerable]:
        """Return what of a list can be done: no question where nobody is there, or all were asked."""
        may = self.patient and asked < self.questions
        return [each for each in told.listed if may or each.kind not in QUESTIONS]

    def close(self, state: State) -> Wish | None:
        """Return what ends the episode: rank, explain, and declare the diseases that lead with what matched."""
        told = state.last(Considered)
        if not state.case.observed or told is None:
            return None
        best = tuple(id for id, _, _ in told.leaders[: self.top])
        rank, explain = Rank(top=self.top, also=best, explain=True), Explain(diseases=best[: self.explain])
        if state.get(Ranked) is None:
            return None if state.tried(rank) else rank
        if self.explain and not state.all(Explained) and not state.tried(explain):
            return explain
        return Diagnose(diseases=best)

    def _ask(
        self, since: Sequence[Segment], findings: Sequence[Asked], asked: int, choice: Considerable | None = None
    ) -> Wish | None:
        """Return the next question of some, ``None`` where all are settled; after a yes, see first what is left."""
        settled, yes = set[str | None](), False
        below = {each.id: each.below for each in findings}
        for term, status in _answers(since):
            settled.add(term)
            if status is Status.PRESENT:
                yes = True
            else:
                settled.update(below.get(term or "", ()))
        left = [each for each in findings if each.id not in settled]
        if not left or asked >= self.questions:
            return None
        if yes:
            return _considered(since, choice, tuple(each.id for each in left))
        return AskPatient(term=left[0].id, label=left[0].label)


def _since(log: Sequence[Segment]) -> Sequence[Segment]:
    """Return what came since choices were listed last, beginning with that wish; nothing where they never were."""
    at = next((at for at in range(len(log) - 1, -1, -1) if _wishes(log[at], Consider)), len(log))
    return log[at:]


def _wishes(segment: Segment, kind: type[Wish]) -> bool:
    return segment.kind is Kind.WISH and segment.name == kind.name


def _answers(since: Sequence[Segment]) -> list[tuple[str | None, Status | None]]:
    """Return which findings were asked for, with the answers; ``None`` for one that is neither yes nor no."""
    found: list[tuple[str | None, Status | None]] = []
    for segment in since:
        if _wishes(segment, AskPatient):
            found.append((segment.data.get("term"), None))
        elif segment.author is Author.PATIENT and found:
            status = segment.data.get("status")
            found[-1] = found[-1][0], Status(status) if status else None
    return found


def _did(since: Sequence[Segment], kind: type[Wish]) -> bool:
    return any(_wishes(segment, kind) for segment in since)


def _considered(since: Sequence[Segment], choice: Considerable | None = None, asking: tuple[str, ...] = ()) -> Consider:
    """Return the wish to list what can be done after a choice, of which some questions may be left."""
    given: dict[str, Any] = {**since[0].data, "asking": asking}
    if choice is not None and choice.kind in ("match", "search"):
        ids = tuple(each.id for each in choice.findings)
        if choice.kind == "search":
            return Consider(**{**given, "searches": given["searches"] + 1, "searched": ids})
        return Consider(**{**given, "matches": given["matches"] + 1, "matched": ids, "weight": choice.weight})
    if choice is not None and choice.kind == "ask":
        given["asks"] += 1
    elif choice is not None:
        given["looked"] = (*given["looked"], choice.disease)
    answers = [status for _, status in _answers(since)]
    begun = 0 if choice is not None else given["found"]
    given["found"] = begun + answers.count(Status.PRESENT)
    if _did(since, Extract) or {Status.PRESENT, Status.ABSENT}.intersection(answers):
        given |= {"matched": (), "weight": 0.0, "searched": ()}
    return Consider(**given)
