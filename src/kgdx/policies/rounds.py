"""A plan that is fixed beforehand: rounds of the most telling questions, then the ranking with the case bank.

Plans of this kind did no worse on held-out patients than a policy that was trained (docs/benchmarks.md); the number of
rounds was not tuned. It asks where there is somebody to ask; without a patient it ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from kgdx.actions.believing import ProposeRound, QuestionRound
from kgdx.actions.explaining import Explain
from kgdx.actions.reading import Extract, Rank
from kgdx.answer.artifacts import Read
from kgdx.case import Status
from kgdx.episode.policy import Capabilities, Policy
from kgdx.episode.segment import Author, Kind, Segment
from kgdx.episode.state import State
from kgdx.episode.wish import AskPatient, Wish
from kgdx.policies.finishing import declaring
from kgdx.policies.inquiry import OPENLY


class RoundsPolicy(Policy):
    """Ask rounds of ten questions, rank with the graph's other patients where it has some, explain, diagnose."""

    name: ClassVar[str] = "rounds"
    capabilities: ClassVar[Capabilities] = Capabilities(may_ask=True)

    patient: bool = False
    """Whether there is a patient to ask."""
    rounds: Annotated[int, Field(ge=0)] = 8
    """Rounds of questions."""
    questions: Annotated[int, Field(ge=0)] = 200
    """Most questions."""
    top: int = 10
    """How many candidates are ranked."""
    explain: int = 3
    """How many of them are explained."""
    case_bank: bool | None = None
    """Whether to match with the graph's other patients; where it has some when ``None``."""
    language: str | None = None
    """Language of the patient's words; found out when ``None``."""
    speaks: Literal["en", "zh"] | None = None
    """Language of the questions; that of the patient's words when ``None``."""

    def choose(self, state: State) -> Wish | None:
        """Return the next step: read what is new, ask what is left of a round, begin another, or end."""
        if state.get(Read) is None and (state.case.text or state.case.findings):
            read = Extract(language=self.language)
            if not state.tried(read):
                return read
        if not state.case.observed:
            return AskPatient() if self.patient and state.counts.questions < min(self.questions, OPENLY) else None
        return self._ask(state) or self.close(state)

    def close(self, state: State) -> Wish | None:
        """Return what ends the episode: rank, explain, and diagnose."""
        if not state.case.observed:
            return None
        explain = Explain(top=max(1, min(self.explain, self.top))) if self.explain else None
        return declaring(state, Rank(top=self.top, explain=True, case_bank=self.case_bank), explain)

    def _ask(self, state: State) -> Wish | None:
        asked, log = state.counts.questions, state.log
        if not self.patient or not self.rounds or asked >= self.questions:
            return None
        proposals = [at for at, each in enumerate(log) if each.kind is Kind.WISH and each.name == ProposeRound.name]
        if not proposals:
            return ProposeRound()
        since, told = log[proposals[-1] :], state.last(QuestionRound)
        if told is None or any(each.kind is Kind.ERROR for each in since):
            return None
        settled, found = _answered(since, told)
        left = [each for each in told.questions if each.id not in settled]
        if left:
            if found:  # a yes may settle others: see first which
                return ProposeRound(left=tuple(each.id for each in left))
            return AskPatient(term=left[0].id, label=left[0].label)
        begun = sum(not log[at].data["left"] for at in proposals)
        nothing = not told.questions and not since[0].data["left"]
        return None if nothing or begun >= self.rounds else ProposeRound()


def _answered(since: Sequence[Segment], told: QuestionRound) -> tuple[set[str], bool]:
    below = {each.id: each.below for each in told.questions}
    settled, found, term = set[str](), False, ""
    for segment in since:
        if segment.kind is Kind.WISH and segment.name == AskPatient.name:
            term = segment.data.get("term") or ""
            settled.add(term)
        elif segment.author is Author.PATIENT and term:
            if segment.data.get("status") == Status.PRESENT.value:
                found = True
            else:
                settled.update(below.get(term, ()))
    return settled, found
