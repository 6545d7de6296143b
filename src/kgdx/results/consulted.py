"""A consultation as documents: the question that is asked, and the record of what was asked, found and thought.

The record follows the structure of an OSCE station (objective structured clinical examination), as MedKGI keeps it:
complaint, findings, examinations and differential, updated each turn.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from kgdx.results.document import Result
from kgdx.terms.normalise import read_table

RECORD_SCHEMA: Literal["kgdx.consultation/1"] = "kgdx.consultation/1"
"""Name and version of the record's JSON form; a field is only ever added within a version."""

Language = Literal["en", "zh"]
Answered = Literal["present", "absent", "unknown", "skipped", "words"]


def say(key: str, language: str = "en", /, **values: Any) -> str:
    english, chinese = _sentences()[key]
    return (chinese if language == "zh" else english).format(**values)


def percent(share: float) -> str:
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{share:.0%}" if share >= 0.0995 or not share else f"{share:.1%}"


@cache
def _sentences() -> dict[str, tuple[str, str]]:
    rows = read_table(Path(__file__).with_name("dialogue.tsv"))
    return {key: (english, chinese) for key, english, chinese in rows}


class ConsultationPart(BaseModel):
    """A part of a consultation's documents."""

    model_config = ConfigDict(frozen=True)


class Choice(ConsultationPart):
    """A finding that can be chosen."""

    id: str
    label: str = Field(description="The ontology's name.")
    name: str = Field(description="The name in the consultation's language; a layperson's where there is one.")


class Lead(ConsultationPart):
    """A leading disease."""

    id: str
    name: str
    share: float = Field(ge=0, le=1, description="Share among the diseases that the graph annotates; no probability.")


class QuestionDocument(ConsultationPart):
    """A question that waits for its answer."""

    number: int = Field(description="Which one it is, from 1; a question which kind of a finding it is has the same.")
    kind: Literal["open", "finding", "which", "test"]
    term: str | None = Field(default=None, description="The finding that is asked for; absent from an open question.")
    label: str = Field(default="", description="The ontology's name of it.")
    name: str = Field(
        default="", description="Its name in the consultation's language, a layperson's where there is one."
    )
    text: str = Field(description="The whole question.")
    why: str = Field(description="Why it is asked.")
    gain: float | None = Field(default=None, description="Bits that the answer is expected to tell.")
    options: tuple[Choice, ...] = ()


class TurnDocument(ConsultationPart):
    """A question that was asked, with its answer and what it changed."""

    number: int
    kind: Literal["open", "finding", "which", "test"]
    term: str | None = None
    label: str = ""
    name: str = Field(default="", description="In the consultation's language, where the graph is at hand.")
    text: str = Field(default="", description="The question as it was put, where somebody has worded it.")
    gain: float | None = None
    answer: Answered | None = Field(default=None, description="Absent while it is waited for.")
    named: tuple[str, ...] = Field(default=(), description="Ids of the narrower findings that were named.")
    words: str = Field(default="", description="What was said, where it was said in words.")
    differential: tuple[Lead, ...] = Field(default=(), description="The leading diseases after the answer.")


class FindingDocument(ConsultationPart):
    """What is known of one finding."""

    id: str
    label: str
    name: str = Field(default="", description="In the consultation's language, where the graph is at hand.")
    status: str
    source: Literal["given", "read", "asked"] = Field(
        description="Known at the beginning, read in words, or an answer to a question."
    )
    turn: int | None = Field(default=None, description="Number of the question that it came up at.")
    words: str = ""


class ExaminationDocument(ConsultationPart):
    """An examination that was ordered."""

    id: str
    name: str
    turn: int
    result: Answered | None = None
    words: str = ""


class ContradictionDocument(ConsultationPart):
    """Two statements that cannot both be true."""

    where: str
    message: str
    remedy: str


class ConsultationRecord(Result):
    """The record of a consultation.

    Example:
        >>> ConsultationRecord(complaint="She has seizures.").to_dict()["schema"]
        'kgdx.consultation/1'
    """

    schema_: Literal["kgdx.consultation/1"] = Field(default=RECORD_SCHEMA, alias="schema")
    author: str = Field(default="rules", description="Who wrote it: rules, or the name of a model.")
    complaint: str = Field(default="", description="What was said at the beginning, or the findings that were given.")
    sex: str = "UNKNOWN"
    age: str | None = None
    findings: tuple[FindingDocument, ...] = ()
    examinations: tuple[ExaminationDocument, ...] = ()
    turns: tuple[TurnDocument, ...] = ()
    differential: tuple[Lead, ...] = ()
    contradictions: tuple[ContradictionDocument, ...] = ()
    remarks: tuple[str, ...] = Field(default=(), description="What else has to be known, such as a model that failed.")
    selector: str = Field(default="", description="How the questions were chosen.")
    language: Language | None = None

    def to_dict(self, *without: str) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True, exclude={"trace", *without})


class ToSettle(ConsultationPart):
    """A dangerous disease that the answers do not exclude."""

    id: str
    name: str
    settled_by: str = Field(description="What settles it, as the table of common conditions says.")


class ConsultationClosing(ConsultationPart):
    """How a consultation ended, and what is to be done at the bedside."""

    ended: Literal["certain", "likely", "settled", "limit", "finished", "nothing"]
    text: str = Field(description="The same in a sentence.")
    not_to_miss: tuple[ToSettle, ...] = ()
    to_examine: tuple[Choice, ...] = Field(default=(), description="What to examine and to test.")


class ConsultationDocument(ConsultationPart):
    """A consultation as it stands: what is asked now, what is known, and what to send back to go on with it."""

    question: QuestionDocument | None = Field(default=None, description="Absent where no question waits any more.")
    language: Language = "en"
    heard: tuple[FindingDocument, ...] = Field(default=(), description="Findings that the last answer brought.")
    contradictions: tuple[str, ...] = Field(default=(), description="What the last answer contradicts.")
    unread: bool = Field(default=False, description="Whether nothing was read in the words of the last answer.")
    differential: tuple[Lead, ...] = ()
    closing: ConsultationClosing | None = Field(default=None, description="Absent while a question waits.")
    record: ConsultationRecord
    transcript: list[dict[str, Any]] = Field(description="The log, with the patient's words: to go on, send it back.")
