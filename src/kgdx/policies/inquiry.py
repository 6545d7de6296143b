"""A consultation by information gain: ask what tells most, update, and declare when it is certain enough.

Each answer changes the case; shares and questions go stale by themselves, and only where they have to: "don't know"
leaves both as they are. Nothing is remembered outside the log, so a consultation waits for as long as a person likes,
and goes on in another process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from kgdx.actions.believing import Believe, ProposeQuestions, ProposeRound, QuestionRound, Questions, Shares
from kgdx.actions.reading import Extract, Rank
from kgdx.answer.artifacts import Read
from kgdx.case import Status
from kgdx.case.ddxplus_release import values_of
from kgdx.episode.policy import Capabilities, Policy
from kgdx.episode.segment import Author, Kind, Segment
from kgdx.episode.state import State
from kgdx.episode.turns import Turn, turns_of
from kgdx.episode.wish import AskPatient, Wish
from kgdx.errors import UsageError
from kgdx.policies.finishing import declaring
from kgdx.rank.complaints import FIRST, NARROWED, said_complaints
from kgdx.rank.proposing import EFFORT, Question
from kgdx.rank.selectors import DEFAULT, make_selector

OPENLY = 2
"""Open questions in a row, the second in other words, after which an answer with nothing found is not asked again."""
LITTLE = 2
"""Findings up to which a patient is first asked openly, where none is a complaint of the table."""
LEAST = 5
"""Questions before a consultation ends with a likely disease: one or two findings fit too much."""
ASKED = 2
"""How often a question is asked to which words are said that answer something else."""


class InquiryPolicy(Policy):
    """Ask the patient the question that tells most, until the leading disease has a large enough share."""

    name: ClassVar[str] = "inquiry"
    capabilities: ClassVar[Capabilities] = Capabilities(asks=True)

    questions: Annotated[int, Field(ge=0)] = 20
    """Most questions; which kind of a finding it is belongs to the question before."""
    certain: Annotated[float, Field(gt=0, le=1)] = 0.6
    """Share of the leading disease at which no more is asked."""
    selector: str = DEFAULT
    """Who chooses the questions, with settings behind a colon."""
    kinds: tuple[str, ...] = ("phenotype", "evidence")
    """What is asked about: phenotype, evidence, symptom, test."""
    costs: dict[str, Annotated[float, Field(gt=0)]] = Field(default_factory=lambda: dict(EFFORT))
    """Price by way of answering (ask, look, examine, laboratory, imaging); by effort unless said."""
    complaints: bool = False
    """Whether what is asked about the patient's complaint comes first, and an end waits for its red flags."""
    named: bool = True
    """Whether a yes is expected to say which finding it is."""
    top: int = 10
    """How many candidates are ranked in the end."""
    explain: int = 3
    """How many of them are explained."""
    language: str | None = None
    """Language of the patient's words; found out when ``None``."""
    speaks: Literal["en", "zh"] | None = None
    """Language of the questions; that of the patient's words when ``None``."""
    narrow: Annotated[int, Field(ge=0, le=100)] = 0
    """How many kinds of a finding are named after a yes, to choose from; 0 asks for none."""
    unchanged: Annotated[int, Field(ge=0)] = 0
    """After so many questions that changed nothing in which diseases lead, ask openly; 0 for never."""

    @field_validator("selector")
    @classmethod
    def _there(cls, selector: str) -> str:
        try:
            make_selector(selector)
        except UsageError as error:
            raise ValueError(str(error)) from error
        return selector

    def choose(self, state: State) -> Wish | None:
        """Return the next step: read what is new, update the shares, ask which kind, ask, or declare."""
        if state.get(Read) is None and (state.case.text or state.case.findings):
            read = Extract(language=self.language)
            if not state.tried(read):
                return read
        before = turns_of(state)
        asked = sum(not each.asked.which for each in before)
        if not state.case.observed:
            said = self.complaints and said_complaints(state.case.text)
            if asked < min(self.questions, 1 if said else OPENLY):
                return AskPatient()
            if not said:
                return self.close(state)
        shares = state.get(Shares)
        if shares is None:
            return None if state.tried(Believe()) else Believe()  # what the graph cannot do now it cannot do again
        if (kind := self._kind(before)) is not None:
            return kind
        if asked >= self.questions or (not self.complaints and shares.shares[0].share >= self.certain):
            return self.close(state)
        return self._next(state, before, shares)

    def close(self, state: State) -> Wish | None:
        """Return what ends the consultation: the last shares, rank, explain, declare."""
        if not (state.case.observed or state.case.phrases):
            return None
        if state.get(Shares) is None and not state.tried(Believe()):
            return Believe()
        return declaring(state, Rank(top=self.top, explain=True), self.explain)

    def _kind(self, before: Sequence[Turn]) -> Wish | None:
        last = before[-1] if before else None
        if not self.narrow or last is None or last.reply is None or last.asked.which or last.asked.term is None:
            return None
        options = values_of(last.asked.term) or last.asked.options
        if last.reply.status is not Status.PRESENT or last.reply.term or not 1 < len(options) <= self.narrow:
            return None
        return last.asked.model_copy(update={"options": options, "which": True, "gain": None})

    def _next(self, state: State, before: Sequence[Turn], shares: Shares) -> Wish | None:
        passed = _passed(before)
        unknown = {each.id for each in state.case.findings if each.status is Status.UNKNOWN} | passed
        propose = ProposeQuestions(
            selector=self.selector,
            unknown=tuple(sorted(unknown)),
            kinds=self.kinds,
            costs=self.costs,
            named=self.named,
            complaints=said_complaints(state.case.text) if self.complaints else None,
            narrow=self.narrow,
        )
        proposed = state.get(Questions)
        if proposed is None:
            return propose
        left = list(_open(state, proposed, passed))
        if self.complaints and not before and _little(state, left):
            return AskPatient()
        if self.complaints and (early := next((each for each in left if each.stage in FIRST), None)) is not None:
            return self._asked(early)
        if self.unchanged and _unchanged(before) >= self.unchanged and not _asked_openly(before):
            return AskPatient()
        if left and not self.complaints:
            return self._asked(left[0])
        due = [each for each in left if each.due]
        if shares.shares[0].share >= self.certain and (due or len(before) >= LEAST or not left):
            return self._asked(due[0]) if due else self.close(state)
        soon = len(before) < NARROWED
        able = [each for each in left if each.due or each.moves or (soon and each.stage)]
        if any(each.due or each.moves for each in able):
            return self._asked(next((each for each in able if not (soon and each.due)), able[0]))
        return self.close(state) if left or state.tried(propose) else propose

    def _asked(self, question: Question) -> AskPatient:
        kind = "" if question.kind == "phenotype" else question.kind
        options = (
            () if values_of(question.id) else tuple((each.id, each.label) for each in question.options[: self.narrow])
        )
        gain = round(question.gain, 6)
        return AskPatient(term=question.id, label=question.label, kind=kind, gain=gain, options=options)


def _open(state: State, proposed: Questions, passed: set[str]) -> Iterator[Question]:
    answers = {finding.id: finding.status for finding in state.case.findings}
    denied = {id for id, status in answers.items() if status in (Status.ABSENT, Status.UNKNOWN)}
    settled = {*answers, *passed, *(id for each in proposed.questions if each.id in denied for id in each.below)}
    yield from (each for each in proposed.questions if each.id not in settled)


def _little(state: State, left: Sequence[Question]) -> bool:
    few = bool(state.case.text) and len(state.case.observed) <= LITTLE
    return few and not any(each.stage in FIRST for each in left)


def _passed(before: Sequence[Turn]) -> set[str]:
    asked = [(term, each.reply) for each in before if (term := each.asked.term) and each.reply and not each.asked.which]
    in_vain = [term for term, reply in asked if not reply.skipped and reply.status is None]
    skipped = {each.asked.term for each in before if each.asked.term and each.reply and each.asked.kind == "history"}
    skipped |= {term for term, reply in asked if reply.skipped}
    return skipped | {term for term in in_vain if in_vain.count(term) >= ASKED}


def _asked_openly(before: Sequence[Turn]) -> bool:
    terms = [each.asked.term is not None for each in before]
    return True in terms and False in terms[terms.index(True) :]


def _unchanged(before: Sequence[Turn]) -> int:
    count = 0
    for each in reversed(before):
        if each.asked.term is None or [one.id for one in each.before] != [one.id for one in each.after]:
            break
        count += not each.asked.which
    return count


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
        return declaring(state, Rank(top=self.top, explain=True, case_bank=self.case_bank), self.explain)

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
