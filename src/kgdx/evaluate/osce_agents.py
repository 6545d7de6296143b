"""Who a doctor meets in an OSCE case: the patient, and whoever examines and measures; by rules, or played by a model.

The patient is told the story alone, never the examination, the tests or the diagnosis, and what it says is checked: a
patient that names the diagnosis is masked, one that tells too much is cut, what it invents is not heard, and one that
fails has the rules stand in.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from kgdx.answer.evidence_pack import clean
from kgdx.case import Case, Status
from kgdx.case.demographics import described
from kgdx.episode.state import State
from kgdx.episode.turns import Turn, turns
from kgdx.episode.wish import AskPatient, Reply
from kgdx.episode.world import Patient
from kgdx.errors import CaseError, LlmError
from kgdx.llm.chat import ChatModel, Message, Request, private_loop, prompt, seed_of
from kgdx.llm.structured import structured
from kgdx.policies.doctor_reading import NOTHING, profile, told
from kgdx.terms.replies import STATUSES, read_reply

NORMAL = "NORMAL READINGS"
"""What is reported of an examination or a test that the case does not have."""

TEST = "test"
"""Kind of a question that a test answers."""

MASK = "[…]"
"""Stands for the diagnosis where a patient names it."""

SENTENCES = 3
"""Sentences of an answer at most."""

FACTS = 2
"""Sentences of the story that one answer tells at most, unless it was asked for openly."""

HISTORY = frozenset({"histo", "medic"})
"""Begins of words that tell no section of a history from another."""

INVENTED = "invented"
"""Remark on a patient who stated a finding that its story does not have."""

Invents = Callable[[str], bool]
"""Tells whether a sentence of the patient states a finding that its story does not have."""


def honest(_: str) -> bool:
    """Tell of no sentence that it is invented."""
    return False


TOKENS = 400
"""Tokens of an answer at most."""

TEMPERATURE = 0.05

_WORD = re.compile(r"[^\W_]+")
_GAP = r"[\s\-–’']"
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])\s*")
_STEM = 5
_words = str.split
_MINOR = frozenset(
    _words("a an the and or of to in on at is are was were be been has have had do does did you your she he her his")
    + _words("they their it its with for from by any not no this that which what when where how who there can could")
    + _words(
        "would please tell me patient reports describes denies other than more about feel feeling ever if so as also"
    )
)


@dataclass(frozen=True, slots=True)
class OsceFact:
    """A sentence of a case, under its headings."""

    topic: str
    text: str

    @property
    def words(self) -> frozenset[str]:
        return _telling(f"{self.topic} {self.text}")


PARTS = ("story", "examination", "tests")
"""What is told of an OSCE case by different people."""


class StagedVignette(BaseModel):
    """Numbers of a vignette's sentences, as a model parts them; all others are the patient's."""

    model_config = ConfigDict(extra="ignore")

    examination: tuple[int, ...] = ()
    tests: tuple[int, ...] = ()
    hidden: tuple[int, ...] = ()


@dataclass(frozen=True)
class Osce:
    """An OSCE case by who knows what."""

    case: Case
    complaint: str
    story: tuple[OsceFact, ...]
    examination: tuple[OsceFact, ...]
    tests: tuple[OsceFact, ...]
    diagnosis: str

    @classmethod
    def of(cls, case: Case) -> Osce:
        """Take an OSCE case apart.

        Example:
            >>> Osce.of(Case("p", extra={"actor": {"History": "Ptosis. Double vision."}})).complaint
            'Ptosis.'
        """
        actor = case.extra.get("actor")
        if not isinstance(actor, Mapping):
            raise CaseError(f"{case.id or 'the case'} is no OSCE case", hint="give cases in AgentClinic's form")
        story = tuple(_facts({key: value for key, value in actor.items() if key != "Demographics"}))
        symptoms = actor.get("Symptoms")
        primary = symptoms.get("Primary_Symptom") if isinstance(symptoms, Mapping) else None
        complaint = primary if isinstance(primary, str) and primary.strip() else (story[0].text if story else "")
        return cls(
            case,
            complaint,
            story,
            tuple(_facts(case.extra.get("examination"))),
            tuple(_facts(case.extra.get("tests"))),
            str(case.extra.get("diagnosis") or ""),
        )

    @classmethod
    def staged(cls, case: Case, model: ChatModel) -> Osce:
        """Have a model part a vignette with its diagnosis into who tells what: by numbers of its sentences alone.

        What names the diagnosis is left out, and a sentence that is put into two parts belongs to the first of hidden,
        tests and examination.
        """
        names = case.extra.get("diagnosis") or case.diseases
        diagnosis = names if isinstance(names, str) else next(iter(names), "")
        sentences = _sentences(case.text)
        if not diagnosis or not sentences:
            raise CaseError(
                f"{case.id or 'the case'} is no vignette with its diagnosis", hint="give text and diagnosis"
            )
        shown = "\n".join(f"{number}. {clean(each, 1_000)}" for number, each in enumerate(sentences, 1))
        parts = structured(model, Request(prompt("vignette").messages(sentences=shown)), StagedVignette).value
        spoilt = [_pattern(name) for name in names_of(diagnosis)]
        hidden = [at for at, each in enumerate(sentences, 1) if any(name.search(each) for name in spoilt)]
        told = {**dict.fromkeys(parts.examination, "examination"), **dict.fromkeys(parts.tests, "tests")}
        told |= dict.fromkeys((*parts.hidden, *hidden), "hidden")
        facts = [(told.get(at, "story"), OsceFact("", each)) for at, each in enumerate(sentences, 1)]
        story, examination, tests = (tuple(fact for part, fact in facts if part == of) for of in PARTS)
        if not story:
            raise CaseError(f"{case.id or 'the vignette'} leaves the patient nothing to tell", hint="try another model")
        return cls(described(case), story[0].text, story, examination, tests, diagnosis)

    @property
    def opening(self) -> Case:
        """What a doctor knows at the door: who it is."""
        return replace(Case(self.case.id, source="osce"), sex=self.case.sex, age=self.case.age)

    @property
    def told(self) -> Case:
        """The case as the patient alone tells it: its words are yet to be read."""
        return replace(self.opening, text="\n".join(each.text for each in self.story))

    @property
    def results(self) -> tuple[OsceFact, ...]:
        return self.examination + self.tests


def _facts(value: object, topic: str = "") -> Iterator[OsceFact]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            name = str(key).replace("_", " ").strip()
            yield from _facts(inner, f"{topic}, {name}" if topic else name)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _facts(inner, topic)
    elif isinstance(value, str | int | float):
        for sentence in _sentences(str(value)):
            yield OsceFact(topic, sentence)


def _sentences(text: str) -> list[str]:
    return [each.strip() for each in _SENTENCE.split(text) if any(letter.isalnum() for letter in each)]


def _telling(text: str) -> frozenset[str]:
    words = (word.casefold() for word in _WORD.findall(text))
    return frozenset(word[:_STEM] for word in words if word not in _MINOR)


def matching(facts: Sequence[OsceFact], asked: str, most: int) -> list[OsceFact]:
    """Return the facts that share most telling words with a question, in the order of the case.

    Example:
        >>> [each.text for each in matching([OsceFact("", "I smoke."), OsceFact("", "I cough.")], "Do you smoke?", 2)]
        ['I smoke.']
    """
    wanted = _telling(asked)
    shared = {at: len(fact.words & wanted) for at, fact in enumerate(facts)}
    best = sorted((at for at in shared if shared[at]), key=lambda at: (-shared[at], at))[:most]
    return [facts[at] for at in sorted(best)]


class Agent(Protocol):
    """Answers what the doctor asks or orders."""

    async def answer(self, asked: AskPatient, state: State) -> Reply: ...


@dataclass(frozen=True)
class RulesPatient:
    """The patient by rules: a finding by what was read from the case, a section of the history by its heading.

    ``knows`` answers for the findings of the story by their ids, such as a
    :class:`~kgdx.episode.recorded_patient.SimulatedPatient`; ``measured`` for those of which the story says nothing.
    """

    osce: Osce
    knows: Patient
    measured: Patient

    async def answer(self, asked: AskPatient, state: State) -> Reply:
        """Answer; an open question gets the complaint, then the rest of the history, then a sentence at a time."""
        if asked.term is not None:
            said = self.knows.reply(asked, state)
            return self.measured.reply(asked, state) if said.status is Status.UNKNOWN else said
        if not state.case.text.strip():
            first = (self.osce.complaint, *(each.text for each in self.osce.story[:1]))
            return Reply(text=" ".join(dict.fromkeys(each if each[-1:] in ".!?" else f"{each}." for each in first)))
        new = [fact for fact in self.osce.story if fact.text not in state.case.text]
        wanted = _telling(asked.spoken) - HISTORY
        found = [fact for fact in new if wanted & (_telling(fact.topic) - HISTORY)] or matching(
            new, asked.spoken, FACTS
        )
        if not found and (not asked.spoken or "more" in _words(asked.spoken.casefold())):
            begun = self.osce.story[0].topic if self.osce.story else ""
            found = [fact for fact in new if fact.topic == begun] or new[:1]
        return Reply(text=" ".join(each.text for each in found)) if found else Reply(status=Status.UNKNOWN)


@dataclass(frozen=True)
class RulesMeasurement:
    """Examinations and tests by rules: what stands under the headings that an order names, or the nearest results."""

    osce: Osce

    async def answer(self, asked: AskPatient, state: State) -> Reply:
        """Report; an examination that is not narrowed down reports all that it finds."""
        ordered = asked.spoken or asked.label
        wanted = _telling(ordered)
        if asked.order == "examination" and wanted <= _telling("full complete general physical examination exam"):
            found: Sequence[OsceFact] = self.osce.examination
        else:
            found = [fact for fact in self.osce.tests if wanted & _telling(fact.topic)] if asked.order == "test" else []
            found = found or matching(self.osce.results, ordered, 4)
        said = [f"{each.topic.rpartition(', ')[2]}: {each.text}" if each.topic else each.text for each in found]
        return Reply(text="\n".join(dict.fromkeys(said)) or NORMAL)


@dataclass(frozen=True)
class ModelAgent:
    """A part that a model plays; the rules stand in where it fails."""

    model: ChatModel
    osce: Osce
    rules: Agent
    hidden: tuple[str, ...] = ()
    invents: Invents = honest

    async def answer(self, asked: AskPatient, state: State) -> Reply:
        """Answer in words, which are checked."""
        request = self._request(asked, state)
        try:
            made = (await self.model.sample(request))[0].whole()
        except LlmError as error:
            if error.kind == "budget":
                raise
            stood_in = await self.rules.answer(asked, state)
            return stood_in.model_copy(update={"remarks": (*stood_in.remarks, f"stood_in:{error.kind}")})
        if asked.order or asked.kind == TEST:
            return Reply(text=made.text.strip()[:4_000])
        openly = not (asked.term or asked.spoken)
        text, remarks = checked(made.text, self.osce.story, self.hidden, openly=openly, invents=self.invents)
        if not text:
            return Reply(status=Status.UNKNOWN, remarks=remarks)
        meaning = read_reply(text).meaning if asked.term else ""
        status: Any = Status(meaning) if meaning in STATUSES else None
        if status is Status.PRESENT and self.invents(f"{asked.label}."):
            return Reply(status=Status.UNKNOWN, remarks=(*remarks, INVENTED))
        return Reply(status=status, text=text, remarks=remarks)

    def _request(self, asked: AskPatient, state: State) -> Request:
        words = asked.spoken or (f"{asked.label or asked.term}?" if asked.term else "What brings you here?")
        question = clean(words, 2_000)
        messages: tuple[Message, ...]
        if not asked.order and asked.kind != TEST:
            said: list[Turn] = [each for each in turns(state.log) if each.reply is not None]
            messages = prompt("patient").messages(
                profile=profile(self.osce.case),
                story="\n".join(f"- {fact.topic}: {fact.text}" for fact in self.osce.story) or NOTHING,
                turns=told(said, of_patient=True),
                question=question,
            )
        else:
            results = "\n".join(f"- {fact.topic}: {fact.text}" for fact in self.osce.results)
            messages = prompt("measurement").messages(results=results or NOTHING, ordered=question)
        seed = seed_of(state.seed, state.counts.questions)
        return Request(messages, max_tokens=TOKENS, temperature=TEMPERATURE, seed=seed)


def checked(
    text: str, story: Sequence[OsceFact], hidden: Iterable[str], *, openly: bool, invents: Invents = honest
) -> tuple[str, tuple[str, ...]]:
    """Return what a patient says as the doctor may hear it, and what was wrong with it; more of it where asked openly.

    Example:
        >>> checked("I have gout. My toe hurts.", (), ("Gout",), openly=True)
        ('I have […]. My toe hurts.', ('masked',))
    """
    remarks: list[str] = []
    masked = text
    for name in sorted(filter(None, hidden), key=len, reverse=True):
        masked = _pattern(name).sub(MASK, masked)
    if masked != text:
        remarks.append("masked")
    kept: list[str] = []
    facts = 0
    for sentence in _sentences(masked):
        if invents(sentence):
            remarks = [*remarks, INVENTED] if INVENTED not in remarks else remarks
            continue
        facts += any(_covers(sentence, fact) for fact in story)
        if len(kept) == SENTENCES or (facts > FACTS and not openly):
            remarks.append("cut")
            break
        kept.append(sentence)
    return " ".join(kept)[:2_000], tuple(remarks)


def names_of(diagnosis: str) -> tuple[str, ...]:
    """Return how a diagnosis may be called: with and without what stands in brackets, and that alone.

    Example:
        >>> names_of("Progressive multifocal encephalopathy (PML)")
        ('Progressive multifocal encephalopathy (PML)', 'Progressive multifocal encephalopathy', 'PML')
    """
    within = re.findall(r"\(([^()]{2,60})\)", diagnosis)
    without = " ".join(re.sub(r"\([^()]*\)", " ", diagnosis).split())
    return tuple(dict.fromkeys(each.strip() for each in (diagnosis, without, *within) if len(each.strip()) > 1))


def _pattern(name: str) -> re.Pattern[str]:
    parts = [re.escape(part) for part in re.split(f"{_GAP}+", name) if part]
    words = f"{_GAP}*".join(parts)
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


def _covers(sentence: str, fact: OsceFact) -> bool:
    words = _telling(fact.text)
    return len(words) > 1 and len(words & _telling(sentence)) >= 0.6 * len(words)


@dataclass(frozen=True)
class Encounter:
    """The patient and whoever measures, of one OSCE case."""

    patient: Agent
    measurement: Agent

    async def awaited(self, asked: AskPatient, state: State) -> Reply:
        agent = self.measurement if asked.order or asked.kind == TEST else self.patient
        return await agent.answer(asked, state)

    def reply(self, asked: AskPatient, state: State) -> Reply:
        return asyncio.run_coroutine_threadsafe(self.awaited(asked, state), private_loop()).result()


def encounter(
    osce: Osce,
    knows: Patient,
    *,
    patient: ChatModel | None = None,
    measured: Patient | None = None,
    invents: Invents = honest,
) -> Encounter:
    """Return who a doctor meets in a case: a model plays both, or rules by what is known and measured of findings.

    Args:
        invents: Tells whether a sentence of the patient states what its story does not have.
    """
    rules, measuring = RulesPatient(osce, knows, measured or knows), RulesMeasurement(osce)
    if patient is None:
        return Encounter(rules, measuring)
    speaking = ModelAgent(patient, osce, rules, names_of(osce.diagnosis), invents)
    return Encounter(speaking, ModelAgent(patient, osce, measuring))
