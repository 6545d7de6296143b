"""MedKGI's doctor: a language model records, thinks of diseases and asks; the graph says which question tells most.

A turn is: what was said → record → differential → alignment to the graph → subgraph → information gain → question and
differential. Which of that was done in this turn is read from the log. A model that fails leaves its step to rules, and
one that goes on failing the whole consultation; the log says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from kgdx.actions.believing import ProposeQuestions, Questions, Shares
from kgdx.actions.reading import Extract, Rank
from kgdx.actions.retrieving import GetPhenotype
from kgdx.answer.artifacts import Read
from kgdx.answer.evidence_pack import clean
from kgdx.case import Status
from kgdx.episode.conversation import exchanges
from kgdx.episode.policy import Capabilities, Policy
from kgdx.episode.segment import Kind
from kgdx.episode.state import State
from kgdx.episode.turns import Turn, turns
from kgdx.episode.wish import Action, AskModel, AskPatient, Remark, Wish
from kgdx.llm.chat import prompt
from kgdx.policies import doctor_reading as briefing
from kgdx.policies.doctor_forms import (
    ODDITIES,
    Hearing,
    NamedDisease,
    WrittenAbstention,
    WrittenRecord,
    WrittenTurn,
    oddities,
    read_question,
)
from kgdx.policies.doctor_reading import (
    LAST,
    Alignment,
    Chosen,
    Differential,
    Forget,
    ReadAnswer,
    ReadDifferential,
    ReadRecord,
    ReadTurn,
    Recorded,
)
from kgdx.policies.finishing import FINAL, declaring
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


LEFT = "left"
"""Code of the remark that rules take over from a model for the rest of the consultation."""

LACKING = "no_such_disease"
"""Code of the remark that a diagnosis is no disease of the graph."""

PROMPTS = {"medkgi": "turn", "agentclinic": "plain", "thought": "thought", "mediq": "abstain"}
"""By which prompt a model says what it does in a turn."""

MOST_TOKENS = 2_048
"""Tokens of an answer at most, as in the paper."""


class DoctorPolicy(RulesDoctorPolicy):
    """A doctor played by a language model."""

    name: ClassVar[str] = "doctor"
    capabilities: ClassVar[Capabilities] = Capabilities(asks=True, models=True)

    way: Literal["house", "medkgi", "agentclinic", "thought", "mediq"] = "house"
    """``house``: the graph's posterior and selector, the model words the questions and reads the answers. ``medkgi``:
    the paper's loop. ``agentclinic``, ``thought``, ``mediq``: baselines without graph and record; the second thinks by
    steps, the third rates its confidence and abstains from a diagnosis until it is sure (MEDIQ, NeurIPS 2024)."""
    alignment: Alignment = "index"
    """How names of diseases are found in the graph: by its index, or by the paper's rule."""
    candidates: Annotated[int, Field(ge=1, le=20)] = 5
    """Diseases of a differential."""
    offered: Annotated[int, Field(ge=1, le=48)] = 5
    """Questions that the model is shown."""
    patience: Annotated[int, Field(ge=1)] = 3
    """After so many answers in a row that could not be used, rules take over."""
    temperature: float = 0.05
    """Of all answers, as in the paper."""
    model: str = ""
    """Which of the world's models; the only one where empty."""

    def choose(self, state: State) -> Wish | None:
        if (noticed := _noticed(state)) is not None:
            return noticed
        if (why := self._gone(state)) is not None:
            remark = Remark(code=LEFT, text=f"{why}; rules go on with the consultation")
            return self.by_rules(state) if _remarked(state, LEFT) else remark
        if self.way == "house":
            return self._worded(state)
        if not state.counts.questions and not state.case.text and not state.case.findings:
            return AskPatient(spoken=OPENING)
        if state.counts.questions >= self.questions:
            return self._declared(state)
        step = next(self._steps(state), None)
        return self._acted(state) if step is None else step

    def close(self, state: State) -> Wish | None:
        return self.inquiry.close(state) if self.way == "house" else self._declared(state)

    # -- the house's way: the graph chooses, the model speaks and listens

    def _worded(self, state: State) -> Wish | None:
        said = turns(state.log)
        last = said[-1] if said else None
        if last is not None and last.asked.term and last.reply and last.reply.status is None and last.reply.text:
            asked = {"term": last.asked.term, "label": last.asked.label}
            spoken = last.asked.spoken or f"{last.asked.label or last.asked.term}?"
            shown = {"question": spoken, "answer": last.reply.text}
            fields = {"finding": clean(last.asked.label or last.asked.term, 200)} | {
                key: clean(value, briefing.SAID) for key, value in shown.items()
            }
            read = ReadAnswer(turn=state.counts.questions, **asked)
            if (step := self._asked(state, "doctor_hearing", fields, read, Hearing)) is not None:
                return step
        wish = self.by_rules(state)
        if not isinstance(wish, AskPatient) or wish.term is None or wish.spoken or wish.which:
            return wish
        return self._wording(state, wish, said)

    def _wording(self, state: State, wish: AskPatient, said: Sequence[Turn]) -> Wish:
        worded = exchanges(briefing.since_reply(state.log), "doctor_wording@")
        if not worded:
            label = clean(wish.label or wish.term or "", 200)
            shown = {"finding": label, "turns": briefing.told(said, 1), "language": self._tongue(state)}
            return self._request("doctor_wording", shown, None)
        try:
            question = read_question(worded[-1].text)
        except ValueError:
            return wish
        leaders = state.get(Shares)
        names = () if leaders is None else leaders.shares[: self.candidates]
        if any(each.name and each.name.casefold() in question.casefold() for each in names):
            return wish  # a question does not hint at a disease
        return wish.model_copy(update={"spoken": question})

    # -- MedKGI's way, and the baselines

    def _steps(self, state: State) -> Iterator[Wish]:
        turn, paper = state.counts.questions, self.way == "medkgi"
        if paper and self.record:
            shown = {"record": self._record(state), "turns": briefing.told(turns(state.log), 1)}
            yield from self._step(state, "doctor_record", shown, ReadRecord(turn=turn), WrittenRecord)
        if self._reading(state):
            yield Extract(language=self.language)
        if paper:
            read = ReadDifferential(turn=turn, most=self.candidates, alignment=self.alignment)
            shown = {**self._known(state), "most": str(self.candidates)}
            yield from self._step(state, "doctor_differential", shown, read)
        listed = self._offered(state)
        if paper and self.graph:
            yield from self._told_apart(state)
        asked: Any = f"doctor_{PROMPTS[self.way]}"
        read_turn = ReadTurn(
            turn=turn,
            asked=asked,
            offered=tuple(id for id, _, _ in listed),
            prose=self.way == "agentclinic",
            alignment=self.alignment,
        )
        questions = "\n".join(f"{id} {clean(label, 200)} ({gain:.2f} bits)" for id, label, gain in listed)
        shown = {**self._known(state), "questions": questions or briefing.NOTHING, **self._urged(state)}
        form = {"doctor_plain": None, "doctor_abstain": WrittenAbstention}.get(asked, WrittenTurn)
        yield from self._step(state, asked, shown, read_turn, form)

    def _step(self, state: State, name: str, shown: dict[str, str], read: Action, form: Any = None) -> Iterator[Wish]:
        step = self._asked(state, name, shown, read, form)
        if step is not None:
            yield step

    def _told_apart(self, state: State) -> Iterator[Wish]:
        ids = tuple(dict.fromkeys(id for each in self._thought_of(state) for id in each.ids))
        if ids and not state.tried(look := GetPhenotype(diseases=ids)):
            yield look
        unknown = tuple(each.id for each in state.case.findings if each.status is Status.UNKNOWN)
        propose = ProposeQuestions(selector=self.selector, unknown=unknown, among=ids)
        if state.case.observed and not state.tried(propose):
            yield propose

    def _acted(self, state: State) -> Wish | None:
        chosen = state.last(Chosen)
        if chosen is None or chosen.failed or chosen.turn != state.counts.questions:
            return self.by_rules(state)
        if chosen.doing == "diagnosis":
            return self._declared(state)
        if chosen.doing != "question":
            return AskPatient(order=chosen.doing, spoken=chosen.said)
        label = next((label for id, label, _ in self._offered(state) if id == chosen.asks), "")
        return AskPatient(term=chosen.asks or None, label=label, spoken=chosen.said)

    def _declared(self, state: State) -> Wish | None:
        if self._reading(state):
            return Extract(language=self.language)
        named = diagnosis(state)
        if named and not named[0].ids and not _remarked(state, LACKING):
            told = "the diagnosis of the model is no disease of this graph, and stands beside it"
            return Remark(code=LACKING, text=told)
        ids = tuple(dict.fromkeys(id for each in named for id in each.ids))
        rank = Rank(top=self.top, explain=True) if state.case.observed else None
        return declaring(state, rank, self.explain, ids)

    # -- what is asked of the model

    def _asked(self, state: State, name: str, shown: dict[str, str], read: Action, form: Any = None) -> Wish | None:
        turn = briefing.since_reply(state.log)
        if not exchanges(turn, f"{name}@"):
            return self._request(name, {"profile": briefing.profile(state.case), **shown}, form)
        return None if any(each.kind is Kind.WISH and each.name == read.name for each in turn) else read

    def _request(self, name: str, shown: dict[str, str], form: Any) -> AskModel:
        template = prompt(name)
        return AskModel(
            prompt=template.id,
            messages=template.messages(**shown),
            model=self.model,
            output=None if form is None else form.model_json_schema(),
            max_tokens=MOST_TOKENS,
            temperature=self.temperature,
        )

    def _known(self, state: State) -> dict[str, str]:
        said = turns(state.log)
        paper = self.way == "medkgi"
        return {
            "turns": briefing.told(said, briefing.LAST if paper else None),
            "record": self._record(state) if self.record else briefing.NOTHING,
            "differential": briefing.differential(self._thought_of(state)),
            "graph": briefing.triples(state) if self.graph else briefing.NOTHING,
        }

    def _urged(self, state: State) -> dict[str, str]:
        turn = state.counts.questions + 1
        urge = ""
        if turn >= self.questions:
            urge = "It is the last one: state the diagnosis now."
        elif stalled(state) >= self.unchanged:
            urge = (
                f"Your differential has not changed for {self.unchanged} turns: ask what would refute the likeliest "
                "disease, ask openly whether there is anything else, or state the diagnosis."
            )
        return {"turn": str(turn), "most": str(self.questions), "urge": urge, "language": self._tongue(state)}

    def _record(self, state: State) -> str:
        last = next((each for each in reversed(state.all(Recorded)) if each.record is not None), None)
        if last is None or last.record is None:
            return briefing.findings(state.case)
        return briefing.written(last.record)

    def _thought_of(self, state: State) -> tuple[NamedDisease, ...]:
        return next((each.named for each in reversed(state.all(Differential)) if each.named), ())

    def _offered(self, state: State) -> list[tuple[str, str, float]]:
        if self.way != "medkgi" or not self.graph:
            return []
        asked = (each.asked.term for each in turns(state.log) if each.asked.term)
        return briefing.offered(state.get(Questions), self.offered, asked)

    def _tongue(self, state: State) -> str:
        language = self.speaks or ("zh" if any("一" <= each <= "鿿" for each in state.case.text) else "en")
        return briefing.LANGUAGES.get(language, language)

    def _reading(self, state: State) -> bool:
        if state.get(Read) is not None or not (state.case.text or state.case.findings):
            return False
        if self.way == "medkgi" and self.record:
            last = state.last(Recorded)
            if last is not None and not last.failed:
                return False
        return not state.tried(Extract(language=self.language))

    def _gone(self, state: State) -> str | None:
        final = next((each for each in exchanges(state.log, "doctor_") if each.failed in FINAL), None)
        if final is not None:
            return f"the model is not there any more ({final.failed})"
        failed = 0
        for unusable in _outcomes(state):
            failed = failed + 1 if unusable else 0
            if failed >= self.patience:
                return f"the model gave {self.patience} answers in a row that could not be used"
        return None


def diagnosis(state: State) -> tuple[NamedDisease, ...]:
    """Return the diseases that a model has settled on, the diagnosis first; none where it has named none."""
    chosen = next((each for each in reversed(state.all(Chosen)) if each.named), None)
    thought = next((each for each in reversed(state.all(Differential)) if each.named), None)
    if chosen is None or (thought is not None and thought.turn > chosen.turn):
        return () if thought is None else thought.named
    return chosen.named


def stalled(state: State) -> int:
    """Return for how many turns the differential has been the same, in the same order."""
    found = [each.named for each in state.all(Differential) if not each.failed]
    same = 0
    for one, other in zip(found[::-1], found[-2::-1], strict=False):
        if one != other:
            break
        same += 1
    return same


def _outcomes(state: State) -> Iterator[bool]:
    for segment in state.log:
        if segment.kind is Kind.RESULT and "artifact" in segment.data and segment.name.startswith("read_"):
            yield bool(segment.data["artifact"].get("failed"))
    for each in exchanges(state.log, "doctor_wording@"):
        yield bool(each.failed) or not _asks(each.text)


def _asks(text: str) -> bool:
    try:
        return bool(read_question(text))
    except ValueError:
        return False


def _remarked(state: State, code: str) -> bool:
    return any(each.name == "remark" and each.data.get("code") == code for each in state.log if each.kind is Kind.WISH)


def _noticed(state: State) -> Remark | None:
    last = next(reversed(turns(state.log)), None)
    if last is None or last.reply is None or last.asked.order:
        return None
    for code in oddities(last.reply.text):
        remark = Remark(code=code, text=ODDITIES[code])
        if not state.tried(remark):
            return remark
    return None
