"""A graph as evaluations ask it: a question set's questions by one policy, or by a model through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgdx.answer.cited_answer import Answer
from kgdx.errors import KgdxError
from kgdx.evaluate.answers import Answered
from kgdx.evaluate.questions import Question
from kgdx.evaluate.tally import Tally
from kgdx.graph.protocol import Row
from kgdx.llm.chat import ChatModel

if TYPE_CHECKING:
    from kgdx.api import Graph

TEMPLATE = "template"
"""Author of an answer that no model wrote."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks a graph.

    Attributes:
        graph: The open graph.
        rounds: Most plans of a model.
        strict: Whether an answer may rest on nothing but the evidence.
    """

    graph: Graph
    rounds: int = 5
    strict: bool = True

    def __call__(self, question: Question, model: ChatModel | None) -> Answer:
        """Answer a question: by rules, or by a model that plans; see :data:`kgdx.evaluate.recall.Asks`."""
        told: dict[str, Any] = {"language": question.language or None, "rounds": self.rounds, "strict": self.strict}
        told["fallback"] = False  # what rules find, and the template says, is none of the model's
        case = None if question.case is None else self.graph.case(question.case)
        return self.graph.ask(question.question, case=case, model=model, **told)

    def answered(self, question: Question, model: ChatModel) -> Answered:
        """Answer a question by a model; see :data:`kgdx.evaluate.answers.WithGraph`.

        An answer that fell back to the template because the model failed is none of the model's, and counts as failed.
        """
        answer = self(question, model)
        text = answer.text
        failed = model.error if isinstance(model, Tally) else None
        facts = {
            "rounds": sum(planned.number > 0 for planned in answer.rounds),
            "reason": answer.reason,
            "evidence": len(answer.pack.items),
            "cited": sum(len(sentence.cites) for sentence in text.sentences),
            "removed": len(text.removed),
            "unsupported": text.unsupported,
            "insufficient": text.insufficient,
            "run": answer.id,
        }
        error: KgdxError | None = failed if text.author == TEMPLATE else None
        return Answered(text.text, facts, error)


@dataclass(frozen=True, slots=True)
class Reading:
    """A graph's templates, in their compiled form where they have one."""

    graph: Graph

    def run(self, template: str, /, **parameters: Any) -> list[Row]:
        """Run a read template by name."""
        if self.graph.compiled.has(template):
            return self.graph.compiled.run(template, **parameters)
        return self.graph.run(template, **parameters)
