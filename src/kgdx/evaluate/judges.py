"""Who says how good an answer is: a language model with the project's own prompt.

It is told neither where an answer comes from nor that there is another one: marks of evidence are taken out, and each
answer is judged in a conversation of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from kgdx.evaluate.model_use import ModelUsage
from kgdx.evaluate.question_sets import BenchmarkQuestion
from kgdx.llm.chat import ChatModel, Prices, Request, prompt
from kgdx.llm.structured import structured
from kgdx.results.cited import DISAGREES, UNSUPPORTED

LONGEST_ANSWER = 20_000
"""Characters of an answer that are judged."""

NO_REFERENCE = "(none)"

_MARKS = re.compile(r"\s*[\[［【]\s*E\d+(?:\s*[,，、;；-]\s*E?\d+)*\s*[\]］】]")
_UNSUPPORTED = re.compile("|".join(re.escape(each.strip()) for each in (*UNSUPPORTED.values(), *DISAGREES.values())))


@dataclass(frozen=True, slots=True)
class AnswerGrade:
    """A score from 0 to 1, why, and what it took."""

    score: float
    reason: str
    calls: int = 0
    read: int = 0
    written: int = 0
    cost: float = 0.0


class Judge(Protocol):
    """Scores answers."""

    @property
    def name(self) -> str: ...

    @property
    def id(self) -> str: ...

    def score(self, question: BenchmarkQuestion, answer: str) -> AnswerGrade: ...


class _Grade(BaseModel):
    model_config = ConfigDict(extra="ignore")

    reason: str
    score: float = Field(ge=0, le=1, allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """Asks a language model."""

    model: ChatModel
    prices: Prices = (0.0, 0.0)

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def id(self) -> str:
        return f"{self.model.name} {prompt('judge').id}"

    def score(self, question: BenchmarkQuestion, answer: str) -> AnswerGrade:
        messages = prompt("judge").messages(
            question=question.question, reference=question.reference or NO_REFERENCE, answer=blinded(answer)
        )
        tally = ModelUsage(self.model, self.prices)
        grade = structured(tally, Request(messages), _Grade).value
        return AnswerGrade(grade.score, grade.reason, tally.calls, tally.read, tally.written, tally.cost)


def blinded(answer: str) -> str:
    """Return an answer without what tells where it comes from.

    Example:
        >>> blinded("Fever is common [E1][E2, E3]. So is rash. [unsupported]")
        'Fever is common. So is rash.'
    """
    return _UNSUPPORTED.sub("", _MARKS.sub("", answer)).strip()[:LONGEST_ANSWER]
