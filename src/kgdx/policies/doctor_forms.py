"""What a language model writes as a doctor, read from whatever it wrote: records, differentials, turns, hearings.

Nothing of it is trusted. What is not of the form is refused with a reason that holds none of the model's words; what is
too long or too much is cut. A model gets nothing that it did not state: prose is a question, never a diagnosis.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from kgdx.answer.evidence_pack import EvidencePack
from kgdx.case import Status
from kgdx.episode.wish import MAX_SPOKEN
from kgdx.lazy import lazy_pattern
from kgdx.llm.structured import parse
from kgdx.policies.finishing import said_in

MOST_ITEMS = 60
"""Items of a list at most; the rest is left out."""

MOST_LETTERS = 300
"""Letters of an item at most."""

SURE = 4
"""Confidence, of five, at which a doctor who abstains states the diagnosis: somewhat confident."""

MOST_DISEASES = 20
"""Diseases of a differential at most."""

Doing = Literal["question", "examination", "test", "diagnosis"]
"""What a doctor does in a turn."""

_NAMES = ("name", "disease", "diagnosis", "finding", "symptom", "label", "text", "test")
_RESULTS = ("result", "results", "finding", "findings", "value")
_NOTHING = frozenset({"", "null", "none", "n/a", "na", "nil", "no", "-", "unknown", "无"})
_NUMBER = lazy_pattern(r"^\W*(?:\d+\W+)?")
_ORDER = lazy_pattern(r"REQUEST[ _]TEST\W*[:：]\s*(?P<text>[^\n]+)", re.IGNORECASE)
_READY = lazy_pattern(r"DIAGNOSIS[ _]READY\W*[:：]\s*(?P<text>[^\n]+)", re.IGNORECASE)
_MARK = lazy_pattern(r"DIAGNOSIS[ _]READY|REQUEST[ _]TEST", re.IGNORECASE)
_STATUS: Mapping[str, Status] = MappingProxyType(
    {
        **dict.fromkeys(("present", "yes", "true", "positive"), Status.PRESENT),
        **dict.fromkeys(("absent", "no", "false", "negative", "denied"), Status.ABSENT),
        **dict.fromkeys(("unknown", "unclear", "unsure"), Status.UNKNOWN),
    }
)


ODDITIES: Mapping[str, str] = MappingProxyType(
    {
        "instruction": "the patient's answer speaks to a model; it is read as words, and nothing of it is followed",
        "language": "the patient's answer is neither English nor Chinese; findings in it may stay unread",
    }
)
"""What may be odd about an answer, in words."""

_INSTRUCTION = lazy_pattern(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruction|prompt|rule|previous|above|schema)|"
    r"\bsystem prompt\b|\byou are now\b|\bact as\b|(?:忽略|无视|忘记).{0,20}(?:指令|提示|规则|以上|之前)",
    re.IGNORECASE | re.DOTALL,
)


def oddities(text: str) -> tuple[str, ...]:
    """Return what is odd about a patient's answer, of :data:`ODDITIES`."""
    told = EvidencePack()
    foreign = bool(text.strip()) and not said_in("en", text, told) and not said_in("zh", text, told)
    found = {"instruction": _INSTRUCTION.search(text) is not None, "language": foreign}
    return tuple(code for code, holds in found.items() if holds)


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        value = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), "")
    return " ".join(value.split())[:MOST_LETTERS] if isinstance(value, str) else ""


def _items(value: object) -> tuple[str, ...]:
    listed = value if isinstance(value, list | tuple) else [value]
    found = (_text(each) for each in listed[: 10 * MOST_ITEMS])
    return tuple(dict.fromkeys(each for each in found if each.casefold() not in _NOTHING))[:MOST_ITEMS]


def _status(value: object) -> object:
    if isinstance(value, bool):
        return Status.PRESENT if value else Status.ABSENT
    return _STATUS.get(value.strip().casefold().rstrip("."), value) if isinstance(value, str) else value


def _one(value: object) -> str:
    said = _text(value)
    return "" if said.casefold() in _NOTHING else said


def _question(value: object) -> str:
    said = " ".join(value.split())[:MAX_SPOKEN] if isinstance(value, str) else _one(value)
    return "" if said.casefold() in _NOTHING else said


def _of_prose(text: str) -> dict[str, str]:
    if "{" in text:
        raise ValueError("it is no JSON object and no question")
    ready, order = _READY.search(text), _ORDER.search(text)
    if ready is not None and (named := _one(ready["text"].strip(" *.[]"))):
        return {"diagnosis": named}
    if order is not None and (named := _one(order["text"].strip(" *.[]"))):
        return {"test": named}
    if ready is not None or order is not None or _MARK.search(text):
        raise ValueError("it orders or states nothing after its mark")
    words = " ".join(text.split())
    if words.casefold() in _NOTHING or not any(each.isalpha() for each in words) or len(words) > MAX_SPOKEN:
        raise ValueError("it is no JSON object and no question")
    return {"question": words}


Texts = Annotated[tuple[str, ...], BeforeValidator(_items)]
Text = Annotated[str, BeforeValidator(_one)]


class _Form(BaseModel):
    """A form of which a model has to fill in at least one field."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and not cls.model_fields.keys() & given.keys():
            raise ValueError(f"none of {', '.join(cls.model_fields)} is given")
        return given


class Examined(BaseModel):
    """An examination or a test with its result."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: Text = ""
    result: Text = ""

    @model_validator(mode="before")
    @classmethod
    def _put(cls, given: Any) -> Any:
        if isinstance(given, str):
            return {"name": given}
        if isinstance(given, Mapping):
            return {"name": given, "result": next((given[key] for key in _RESULTS if key in given), "")}
        return {}


def _examinations(value: object) -> object:
    if isinstance(value, Mapping):  # name → result
        value = [{"name": key, "result": result} for key, result in value.items()]
    return value[:MOST_ITEMS] if isinstance(value, list | tuple) else ()


class WrittenRecord(_Form):
    """The record of an OSCE station as a model writes it."""

    complaint: Text = ""
    """Why the patient comes."""
    present: Texts = ()
    """Findings."""
    absent: Texts = ()
    """Findings that were denied."""
    history: Texts = ()
    """Earlier diseases, drugs, habits, the family."""
    examinations: Annotated[tuple[Examined, ...], BeforeValidator(_examinations)] = ()
    """What was examined and tested, with the results."""

    @model_validator(mode="after")
    def _in_one_list(self) -> Self:
        both = {each.casefold() for each in self.present} & {each.casefold() for each in self.absent}
        if both:
            raise ValueError(f"{len(both)} findings are present and absent at once")
        return self


class WrittenDifferential(BaseModel):
    """A differential as a model writes it: an object with a list of diseases, or a bare list."""

    openings: ClassVar[str] = "{["

    thought: Text = ""
    diseases: Texts

    @model_validator(mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "diseases" not in given:
            given = next((each for each in given.values() if isinstance(each, list)), [])
        return {"diseases": given} if isinstance(given, list) else given

    @field_validator("diseases")
    @classmethod
    def _named(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        found: dict[str, str] = {}
        for name in (_NUMBER.sub("", each).strip(" .;") for each in given):
            if any(letter.isalpha() for letter in name):
                found.setdefault(name.casefold(), name)
        if not found:
            raise ValueError("it names no disease")
        return tuple(found.values())[:MOST_DISEASES]


class WrittenTurn(_Form):
    """One turn of a doctor as a model writes it: JSON, the marks of AgentClinic, or a question in prose.

    A diagnosis is stated where it stands alone; beside a question it is the likeliest disease so far.
    """

    thought: Text = ""
    differential: Texts = ()
    question: Annotated[str, BeforeValidator(_question)] = ""
    asks: Text = ""
    examination: Text = ""
    test: Text = ""
    diagnosis: Text = ""

    @model_validator(mode="before")
    @classmethod
    def _prose(cls, given: Any) -> Any:
        return _of_prose(given) if isinstance(given, str) else given

    @model_validator(mode="after")
    def _does(self) -> Self:
        if not self.said:
            raise ValueError("it asks nothing, orders nothing and states no diagnosis")
        return self

    @property
    def doing(self) -> Doing:
        does: tuple[Doing, ...] = ("question", "examination", "test")
        return next((each for each in does if getattr(self, each)), "diagnosis")

    @property
    def said(self) -> str:
        return str(getattr(self, self.doing))

    @property
    def thought_of(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(filter(None, (self.diagnosis, *self.differential))))[:MOST_DISEASES]


class WrittenAbstention(WrittenTurn):
    """A turn of a doctor who says how sure it is, and abstains from a diagnosis until it is sure."""

    confidence: Annotated[int, Field(ge=1, le=5)] = 1
    """That the diagnosis is right: 5 is very confident."""

    @property
    def doing(self) -> Doing:
        return "diagnosis" if self.diagnosis and self.confidence >= SURE else super().doing


class Hearing(_Form):
    """What a model understood of a patient's answer."""

    status: Annotated[Literal[Status.PRESENT, Status.ABSENT, Status.UNKNOWN], BeforeValidator(_status)]
    """Of the finding that was asked for."""
    present: Texts = ()
    """Findings that the patient names."""
    absent: Texts = ()
    """Findings that the patient denies."""


class NamedDisease(NamedTuple):
    """A disease as a model named it, with what it is in the graph; without ids where the graph lacks it."""

    name: str
    ids: tuple[str, ...] = ()


def read_turn(
    text: str, offered: Container[str] = (), *, prose: bool = True, form: type[WrittenTurn] = WrittenTurn
) -> WrittenTurn:
    """Read a doctor's turn."""
    said, _ = parse(text, form)
    asking = said.doing == "question"
    if asking and not prose and "{" not in text and not said.question.rstrip("\"'”」) ").endswith(("?", "？")):
        raise ValueError("it is no JSON object and no question")
    return said if asking and said.asks in offered else said.model_copy(update={"asks": ""})


def read_question(text: str) -> str:
    """Read a question that a model has worded: one line that asks."""
    said = " ".join(text.split()).strip("\"'“”「」 ")
    if not 1 < len(said) <= MOST_LETTERS or not said.endswith(("?", "？")) or "{" in said:
        raise ValueError("it is no short question")
    return said
