"""A doctor without a model: the stand-in of :class:`~kgdx.policies.doctor.DoctorPolicy`."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from kgdx.actions.reading import Extract
from kgdx.answer.artifacts import Read
from kgdx.episode.policy import Capabilities, Policy
from kgdx.episode.state import State
from kgdx.episode.wish import AskPatient, Wish
from kgdx.policies.doctor_briefing import LAST
from kgdx.policies.doctor_reading import Forget
from kgdx.policies.inquiry import InquiryPolicy
from kgdx.rank.selectors import DEFAULT

OPENING = "What brings you here today?"

EXAMINATION = "physical examination"

INTERVIEW = (
    OPENING,
    "When did it begin, and how has it changed since?",
    "What makes it better or worse?",
    "What other complaints do you have?",
    "Which diseases have you had before, and which drugs do you take?",
    "Which diseases are there in your family?",
    "Do you smoke, drink alcohol or take other substances, and what is your work?",
    "Have you had fever, weight loss, pain, or trouble with breathing, digestion or urination?",
)
"""What is asked without a graph."""


class RulesDoctorPolicy(Policy):
    """A doctor without a model, on which the one with a model falls back."""

    name: ClassVar[str] = "doctor_by_rules"
    capabilities: ClassVar[Capabilities] = Capabilities(asks=True)

    questions: Annotated[int, Field(ge=0)] = 20
    """Most turns."""
    certain: Annotated[float, Field(gt=0, le=1)] = 0.7
    """Share of the leading disease at which no more is asked."""
    selector: str = DEFAULT
    """Who chooses the questions, with settings behind a colon."""
    graph: bool = True
    """Whether the graph says which question tells most."""
    record: bool = True
    """Whether there is a record; without one, what was said more than three turns ago is forgotten."""
    top: int = 10
    """How many candidates are ranked in the end."""
    explain: int = 3
    """How many of them are explained."""
    examine: bool = False
    """Whether the patient is examined once, after the first answer."""
    language: str | None = None
    """Language of the patient's words; found out when ``None``."""
    speaks: Literal["en", "zh"] | None = None
    """Language of the questions; that of the patient's words when ``None``."""
    narrow: Annotated[int, Field(ge=0, le=100)] = 0
    """How many kinds of a finding are named after a yes, to choose from; 0 asks for none."""
    unchanged: Annotated[int, Field(ge=1)] = 5
    """After so many turns that changed nothing in the differential: ask openly, refute it, or end."""

    def choose(self, state: State) -> Wish | None:
        return self.by_rules(state)

    def close(self, state: State) -> Wish | None:
        return self.inquiry.close(state)

    @property
    def inquiry(self) -> InquiryPolicy:
        """The consultation by the selector."""
        shared = self.model_dump(include=set(InquiryPolicy.model_fields))
        return InquiryPolicy(**shared)

    def by_rules(self, state: State) -> Wish | None:
        """Return the next step by the selector; of a fixed interview where there is no graph."""
        turn = state.counts.questions
        if not self.record and turn > LAST and not state.tried(forget := Forget(turn=turn)):
            return forget
        if self.examine and turn == 1 and self.questions > 1:
            return AskPatient(order="examination", spoken=EXAMINATION)
        if self.graph:
            return self.inquiry.choose(state)
        asked = turn - (self.examine and turn > 1)
        if turn < self.questions and asked < len(INTERVIEW):
            return AskPatient(spoken=INTERVIEW[asked])
        read = Extract(language=self.language)
        if state.get(Read) is None and (state.case.text or state.case.findings) and not state.tried(read):
            return read
        return self.close(state)
