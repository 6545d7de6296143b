"""Who says how good an answer is: a language model with the project's own prompt.

It is told neither where an answer comes from nor that there is another one: marks of evidence are taken out, and each
answer is judged in a conversation of its own.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from kgdx.answer.evidence_pack import clean
from kgdx.config import LlmAccess
from kgdx.errors import LlmError, LlmFault, MissingExtraError
from kgdx.evaluate.labels import Label
from kgdx.evaluate.model_use import ModelUsage
from kgdx.evaluate.osce_agents import names_of
from kgdx.evaluate.question_sets import BenchmarkQuestion
from kgdx.llm.chat import ChatModel, Prices, Request, prompt
from kgdx.llm.structured import structured
from kgdx.policies.doctor_forms import NamedDisease
from kgdx.results.cited import DISAGREES, UNSUPPORTED

if TYPE_CHECKING:
    from kgdx.rank.ranker import Ranker

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


_OTHER = re.compile(r"[^\w]+")


class _Same(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    same: bool


@dataclass(frozen=True)
class DiseaseJudge:
    """Asks a language model whether two names mean the same disease."""

    model: ChatModel

    @property
    def id(self) -> str:
        return f"{self.model.name} {prompt('same_disease').id}"

    def same(self, right: str, stated: str) -> bool:
        """Tell whether both are the same disease; a judgement that cannot be read is a no."""
        messages = prompt("same_disease").messages(right=clean(right, 300), stated=clean(stated, 300))
        try:
            return structured(self.model, Request(messages, max_tokens=400), _Same).value.same
        except LlmError as error:
            if error.kind in ("malformed", "refused", "truncated"):
                return False
            raise


def same_by_graph(named: NamedDisease, diagnosis: str, label: Label, ranker: Ranker) -> bool:
    """Tell whether a disease is the diagnosis: by an id or exact cross-reference of the graph, or by the very name."""
    if any(ranker.number_of(id) in label.right for id in named.ids):
        return True
    return _folded(named.name) in {_folded(each) for each in names_of(diagnosis)} and bool(_folded(named.name))


def _folded(name: str) -> str:
    return " ".join(_OTHER.sub(" ", name.casefold().replace("’s", "").replace("'s", "")).split())


@dataclass(frozen=True, slots=True)
class RagasJudge:
    """RAGAS's ``NumericMetric`` over an endpoint; RAGAS does not tell how many tokens it took."""

    access: LlmAccess
    metric: Any
    model: Any
    version: str

    @classmethod
    def connect(cls, access: LlmAccess) -> RagasJudge:
        """Return a judge that is ready to be asked; nothing is sent before."""
        os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # it reports its use to its makers otherwise
        try:
            import openai
            import ragas
            from ragas.llms import llm_factory
            from ragas.metrics import NumericMetric
        except ImportError:
            raise MissingExtraError("RAGAS's judge (in an environment without kgdx[llm])", "ragas") from None
        client = openai.OpenAI(
            base_url=access.base_url,
            api_key=access.api_key or "none",
            timeout=access.timeout,
            max_retries=max(0, access.attempts - 1),
        )
        metric = NumericMetric(name="answer_quality", prompt=rubric(), allowed_values=(0.0, 1.0))
        return cls(access, metric, llm_factory(access.model, client=client), ragas.__version__)

    @property
    def name(self) -> str:
        return self.access.model

    @property
    def id(self) -> str:
        return f"{self.name} {prompt('judge').id} ragas {self.version}"

    def score(self, question: BenchmarkQuestion, answer: str) -> AnswerGrade:
        asked = {"question": question.question, "reference": question.reference or NO_REFERENCE}
        try:
            found = self.metric.score(llm=self.model, answer=blinded(answer), **asked)
        except Exception as error:  # RAGAS and what it is built on raise errors of many families
            raise _error(self.name, error) from error
        if self.metric.validate_result_value(found.value) is not None:
            raise LlmError(
                f"the judge {self.name} gives no score from 0 to 1", hint="try another model", kind="malformed"
            )
        return AnswerGrade(float(found.value), str(found.reason or ""), calls=1)


def rubric() -> str:
    """Return the judge's prompt in RAGAS's form: one text, with ``{question}``, ``{reference}`` and ``{answer}``."""
    asking = prompt("judge")
    asked, _, _ = asking.user.partition("\n# Your grade")
    fields = {name: f"{{{name}}}" for name in ("question", "reference", "answer")}
    return "\n\n".join(
        Template(part.replace("{", "{{").replace("}", "}}")).substitute(fields) for part in (asking.system, asked)
    ).strip()


def _error(name: str, error: Exception) -> LlmError:
    """What went wrong, told by the kind of error and never in the words of what was asked."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and cause not in causes:
        causes.append(cause)
    statuses = {getattr(each, "status_code", None) for each in causes}
    kinds = {type(each).__name__ for each in causes}
    kind: LlmFault = "malformed"
    if statuses & {401, 403}:
        kind = "denied"
    elif statuses & {400, 404, 422}:
        kind = "rejected"
    elif kinds & {"APIConnectionError", "APITimeoutError", "RateLimitError", "InternalServerError"}:
        kind = "unreachable"
    hints = {"denied": "check the key", "rejected": "check the model's name", "unreachable": "see that it runs"}
    message = f"the judge {name} gives no score through RAGAS ({type(error).__name__})"
    return LlmError(message, hint=hints.get(kind, "try another model"), kind=kind)
