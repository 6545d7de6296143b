"""A consultation by information gain: ask what tells most, update, and declare when it is certain enough.

Each answer changes the case; shares and questions go stale by themselves, and only where they have to: "don't know"
leaves both as they are. Nothing is remembered outside the log, so a consultation waits for as long as a person likes,
and goes on in another process.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from kgdx.actions.answering import Diagnose
from kgdx.actions.believing import Believe, ProposeQuestions, Questions, Shares
from kgdx.actions.explaining import Explain
from kgdx.actions.reading import Extract, Rank
from kgdx.answer.artifacts import Explained, Ranked, Read
from kgdx.case import Status
from kgdx.episode.policy import Capabilities, Policy
from kgdx.episode.state import State
from kgdx.episode.wish import AskPatient, Wish
from kgdx.rank.proposing import Question
from kgdx.rank.selectors import DEFAULT


class InquiryPolicy(Policy):
    """Ask the patient the question that tells most, until the leading disease has a large enough share.

    Example:
        >>> from kgdx.case import Case
        >>> InquiryPolicy().choose(State(Case("p"))).term is None
        True
    """

    name: ClassVar[str] = "inquiry"
    capabilities: ClassVar[Capabilities] = Capabilities(asks=True)

    questions: Annotated[int, Field(ge=0)] = 20
    """Most questions."""
    certain: Annotated[float, Field(gt=0, le=1)] = 0.7
    """Share of the leading disease at which no more is asked."""
    selector: str = DEFAULT
    """Who chooses the questions, with settings behind a colon."""
    top: int = 10
    """How many candidates are ranked in the end."""
    explain: int = 3
    """How many of them are explained."""
    language: str | None = None
    """Language of the patient's words; found out when ``None``."""

    def choose(self, state: State) -> Wish | None:
        """Return the next step: read what is new, update the shares, ask, or declare."""
        if state.get(Read) is None and (state.case.text or state.case.findings):
            read = Extract(language=self.language)
            if not state.tried(read):
                return read
        if not state.case.observed:
            openly = AskPatient()
            return openly if state.counts.questions < self.questions else None
        shares = state.get(Shares)
        if shares is None:
            return Believe()
        if state.counts.questions >= self.questions or shares.shares[0].share >= self.certain:
            return self.close(state)
        proposed = state.get(Questions)
        if proposed is None:
            unknown = (each.id for each in state.case.findings if each.status is Status.UNKNOWN)
            return ProposeQuestions(selector=self.selector, unknown=tuple(unknown))
        question = next((each for each in proposed.questions if not _settled(state, proposed, each)), None)
        return self.close(state) if question is None else AskPatient(term=question.id, label=question.label)

    def close(self, state: State) -> Wish | None:
        """Return what ends the consultation: rank, explain, declare."""
        if not state.case.observed:
            return None
        if state.get(Ranked) is None:
            return Rank(top=self.top, explain=True)
        if self.explain and not state.all(Explained):
            return Explain(top=min(self.explain, self.top))
        return Diagnose()


def _settled(state: State, proposed: Questions, question: Question) -> bool:
    """Whether a question was answered since it was proposed, or lies below one that was not answered with yes."""
    answers = {finding.id: finding.status for finding in state.case.findings}
    above = (each.id for each in proposed.questions if question.id in each.below)
    return question.id in answers or any(answers.get(term) in (Status.ABSENT, Status.UNKNOWN) for term in above)
