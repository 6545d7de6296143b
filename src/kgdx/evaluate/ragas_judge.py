"""RAGAS's numeric metric as the judge, for figures that are comparable with those of others who use it.

The rubric is that of the project's own judge; how it is asked, and how the number is read, is RAGAS's. RAGAS pins an
older ``openai`` than the extra ``llm`` needs, so it is installed into an environment of its own, where answers that
were made before are judged.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from string import Template
from typing import Any

from kgdx.config import LlmAccess
from kgdx.errors import LlmError, LlmFault, MissingExtraError
from kgdx.evaluate.judges import NO_REFERENCE, AnswerGrade, blinded
from kgdx.evaluate.question_sets import BenchmarkQuestion
from kgdx.llm.chat import prompt

METRIC = "answer_quality"
SCALE = (0.0, 1.0)


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
        metric = NumericMetric(name=METRIC, prompt=rubric(), allowed_values=SCALE)
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
        wrong = self.metric.validate_result_value(found.value)
        if wrong is not None:
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
