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

ASKED = (  # the second is asked openly
    OPENING,
    "",
    "What other symptoms do you have?",
    "What is your past medical history, and which drugs or medications do you take?",
    "Which diseases are there in your family?",
    "What is your social history: smoking, alcohol or other substances, sexual contacts, travel, work?",
    "In a review of your systems: fever, weight loss, pain, trouble with breathing, digestion or urination?",
)
ORDERED = (
    "blood tests: laboratory work, complete blood count, hematology, serum chemistry, metabolic panel, electrolytes, "
    "glucose, liver, thyroid, iron, hormones, coagulation, serology, gases",
    "urinalysis, urine, stool, toxicology, STI and other screening",
    "imaging: X-ray, radiographs, ultrasound, CT, MRI, echocardiogram, barium swallow",
    "biopsy, aspirate, smear, culture, puncture, scraping, cytometry, genetic testing",
    "electrocardiogram and other recordings, studies of function, special and additional tests",
)
INTERVIEW = (
    *(AskPatient(spoken=each) for each in ASKED),
    AskPatient(order="examination", spoken=EXAMINATION),
    *(AskPatient(order="test", spoken=each) for each in ORDERED),
)
"""What is asked and ordered whatever the patient has; without the orders it is all that is asked where no graph is."""


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
    interview: bool = False
    """Whether the whole history is taken, and examinations and panels of tests are ordered, before the graph asks."""
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
        examined = self.examine and not self.interview
        if examined and turn == 1 and self.questions > 1:
            return AskPatient(order="examination", spoken=EXAMINATION)
        steps = [each for each in INTERVIEW if self.interview or not each.order]
        if (self.interview or not self.graph) and turn < self.questions and turn - (examined and turn > 1) < len(steps):
            return steps[turn - (examined and turn > 1)]
        if self.graph:
            return self.inquiry.choose(state)
        read = Extract(language=self.language)
        if state.get(Read) is None and (state.case.text or state.case.findings) and not state.tried(read):
            return read
        return self.close(state)
