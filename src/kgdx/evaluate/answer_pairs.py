"""Answers with and without the graph, compared in pairs: the same questions, the same model, a judge from 0 to 1.

As DeepDoctor-RAG is evaluated. A question has four arms: the answer with the graph, the answer without it, and a
judgement of each. A piece that fails is counted, and tried again by the next run.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kgdx.answer.cited_answer import Answer
from kgdx.errors import ConfigError, KgdxError, LlmError, MissingExtraError, StoreError, UsageError
from kgdx.evaluate.judges import Judge
from kgdx.evaluate.metrics import MARGIN, compare
from kgdx.evaluate.model_use import ModelUsage
from kgdx.evaluate.question_sets import BenchmarkQuestion, set_digest
from kgdx.evaluate.runner import Record, Runner, finish, kept
from kgdx.graph.protocol import Row
from kgdx.llm.budget import Budget
from kgdx.llm.chat import ChatModel, Prices, Request, prompt

if TYPE_CHECKING:
    from kgdx.api import Graph

Arm = Literal["with", "without"]
ARMS: tuple[Arm, Arm] = ("with", "without")

HOPELESS = (ConfigError, MissingExtraError, StoreError)
"""Errors that are not the question's."""

GROUPS = ("action", "language", "split")

ALIKE = 0.9
"""Share of equal scores from which a judge is said to tell few answers apart."""
TEMPLATE = "template"
"""Author of an answer that no model wrote."""


@dataclass(frozen=True, slots=True)
class GraphAnswer:
    """An answer with its marks, and what is known of it as JSON values; where there is an error, it is none."""

    text: str
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)
    error: KgdxError | None = None


WithGraph = Callable[[BenchmarkQuestion, ChatModel], GraphAnswer]
"""Answers a question with the graph, asking the given model."""


@dataclass(slots=True)
class PairedEvaluation:
    """Compares a model's answers with and without a graph; without a judge the answers are made alone."""

    model: ChatModel
    with_graph: WithGraph
    judge: Judge | None
    about: Mapping[str, Any] = field(default_factory=dict)
    """What else the answers depend on, such as the graph's fingerprint; part of what must not change."""
    prices: Prices = (0.0, 0.0)
    budget: Budget = field(default_factory=Budget)
    margin: float = MARGIN
    seed: int = 0
    jobs: int = 1
    progress: Callable[[], None] = lambda: None
    _texts: dict[tuple[str, str], str] = field(default_factory=dict, init=False)

    def run(self, questions: Sequence[BenchmarkQuestion], folder: Path) -> dict[str, Any]:
        """Do what is not done yet, and return the figures; they are written into the folder, too."""
        if not questions:
            raise UsageError("there is no question", hint="give a question set")
        about = {
            "questions": set_digest(questions),
            "model": self.model.name,
            "prompt": prompt("plain").id,
            "seed": self.seed,
            **self.about,
        }
        with kept(folder, about) as journal:
            runner = Runner(journal, self.jobs, self.progress, budget=self.budget, order=self._order, strict=True)
            self._texts = {(each["item"], each["arm"]): each["text"] for each in runner.records if "text" in each}
            judging = [f"judge {arm} {self._judged_by}" for arm in ARMS] if self.judge else []
            try:
                runner.run(((each.id, each) for each in questions), [*ARMS, *judging], self)
            finally:
                rows = list(results(questions, runner.records, self._judged_by))
                figures = self._figures(questions, rows, runner)
                finish(folder, rows, figures)
            runner.check()
        return figures

    def __call__(self, question: BenchmarkQuestion, arm: str) -> Record | None:
        """Do a piece of work; a judgement of an answer that is not there is none."""
        if arm in ARMS:
            return self._answer(question, arm)
        text = self._texts.get((question.id, arm.split(" ")[1]))
        return None if text is None or self.judge is None else _judged(question, text, self.judge)

    @property
    def _judged_by(self) -> str:
        return "" if self.judge is None else self.judge.id

    def _order(self, id: str, arms: tuple[str, ...]) -> tuple[str, ...]:
        turned = hashlib.sha256(f"{self.seed}/{id}".encode("utf-8", "surrogatepass")).digest()[0] % 2
        judging = [arm for arm in arms if arm not in ARMS]
        return (*(arm for arm in arms if arm in ARMS), *(judging[::-1] if turned else judging))

    def _answer(self, question: BenchmarkQuestion, arm: str) -> Record:
        usage = ModelUsage(self.model, self.prices)
        try:
            if arm == "with":
                made = self.with_graph(question, usage)
            else:
                case = question.case if isinstance(question.case, str) else str(question.case or "")
                messages = prompt("plain").messages(question=question.question, case=case or "(none)")
                made = GraphAnswer(usage.ask(Request(messages)).text)
            error, content = made.error, {"text": made.text, **made.facts}
        except HOPELESS:
            raise
        except KgdxError as caught:
            error, content = caught, {}
        if error is not None:
            return {**usage.to_dict(), **_fault(usage.error or error)}
        self._texts[question.id, arm] = content["text"]
        return {**content, **usage.to_dict()}

    def _figures(
        self, questions: Sequence[BenchmarkQuestion], rows: Sequence[Record], runner: Runner
    ) -> dict[str, Any]:
        failed = [
            {"id": row["id"], "step": step, "error": row["errors"][step]} for row in rows for step in row["errors"]
        ]
        clusters = {each.id: each.cluster for each in questions}
        return {
            "questions": len(questions),
            "answered": {arm: sum(row[arm] is not None for row in rows) for arm in ARMS},
            "judge": self._judged_by or None,
            "model": self.model.name,
            "all": self._compared(rows, clusters),
            "groups": {
                name: {
                    value: self._compared([row for row in rows if row[name] == value], clusters)
                    for value in sorted({row[name] for row in rows if row[name]})
                }
                for name in GROUPS
            },
            "failed": failed,
            "open": sum(row["open"] for row in rows),
            "stopped": runner.stopped,
            "warnings": self._warnings(rows),
            "spent": runner.spent,
        }

    def _compared(self, rows: Sequence[Record], clusters: Mapping[str, Any]) -> dict[str, Any] | None:
        """The comparison over the pairs that are whole, and once more with an answer that failed as 0."""

        def comparison(some: Sequence[Record]) -> dict[str, Any]:
            treated, control = ([row["scores"][arm] or 0.0 for row in some] for arm in ARMS)
            grouped = [clusters[row["id"]] for row in some]
            return compare(treated, control, grouped, margin=self.margin, seed=self.seed)

        whole = [row for row in rows if all(row["scores"][arm] is not None for arm in ARMS)]
        strict = [row for row in rows if all(row["scores"][arm] is not None or arm in row["errors"] for arm in ARMS)]
        more = comparison(strict) if whole and len(strict) > len(whole) else None
        return {**comparison(whole), "failures_as_0": more} if whole else None

    def _warnings(self, rows: Sequence[Record]) -> list[str]:
        warnings = []
        if self.judge is not None and self.judge.name == self.model.name:
            warnings.append("the judge is the model that answers: models prefer their own words")
        if unreferenced := sum(not row["reference"] for row in rows):
            warnings.append(f"{unreferenced:,} of {len(rows):,} questions have no reference: the judge goes by itself")
        scores = Counter(score for row in rows for score in row["scores"].values() if score is not None)
        for score, equal in scores.most_common(1):
            if equal >= ALIKE * (count := scores.total()) and count > len(ARMS):
                warnings.append(f"the judge gave {score:g} to {equal:,} of {count:,} answers: it tells few apart")
        return warnings


def results(questions: Iterable[BenchmarkQuestion], records: Iterable[Record], judge: str) -> Iterator[Record]:
    """Yield what is known of each question: both answers, their scores by the judge with this id, and what failed."""
    last = {(each["item"], each["arm"].removesuffix(f" {judge}") if judge else each["arm"]): each for each in records}
    for question in questions:
        steps = (*ARMS, *(f"judge {arm}" for arm in ARMS))
        found = {step: last.get((question.id, step)) for step in steps}
        good = {step: record for step, record in found.items() if record is not None and "error" not in record}
        scored = {arm: good.get(f"judge {arm}", {}) for arm in ARMS}
        yield {
            **question.to_dict(),
            **{name: getattr(question, name) for name in (*GROUPS, "reference")},
            **{arm: good.get(arm) for arm in ARMS},
            "scores": {arm: scored[arm].get("score") for arm in ARMS},
            "reasons": {arm: scored[arm].get("reason") for arm in ARMS},
            "errors": {step: each["error"] for step, each in found.items() if each is not None and "error" in each},
            "open": any(found[step] is None for step in steps if judge or step in ARMS),
        }


def _judged(question: BenchmarkQuestion, text: str, judge: Judge) -> Record:
    try:
        found = judge.score(question, text)
    except LlmError as error:
        return _fault(error)
    took = {"calls": found.calls, "read": found.read, "written": found.written, "cost": found.cost}
    return {"score": found.score, "reason": found.reason, **took}


def _fault(error: KgdxError) -> Record:
    return {"error": str(error), "kind": error.kind if isinstance(error, LlmError) else type(error).__name__}


@dataclass(frozen=True, slots=True)
class GraphAsker:
    """Asks a graph the questions of a set, by rules or by a model that plans."""

    graph: Graph
    rounds: int = 5
    strict: bool = True

    def __call__(self, question: BenchmarkQuestion, model: ChatModel | None) -> Answer:
        told: dict[str, Any] = {"language": question.language or None, "rounds": self.rounds, "strict": self.strict}
        told["fallback"] = False  # what rules find, and the template says, is none of the model's
        case = None if question.case is None else self.graph.case(question.case)
        return self.graph.ask(question.question, case=case, model=model, **told)

    def answered(self, question: BenchmarkQuestion, model: ChatModel) -> GraphAnswer:
        """Answer a question by a model; see :data:`WithGraph`.

        An answer that fell back to the template because the model failed is none of the model's, and counts as failed.
        """
        answer = self(question, model)
        failed = model.error if isinstance(model, ModelUsage) and answer.text.author == TEMPLATE else None
        more = {"evidence": len(answer.pack.items), "insufficient": answer.text.insufficient, "run": answer.id}
        return GraphAnswer(answer.text.text, {**facts(answer), **more}, failed)


def facts(answer: Answer) -> dict[str, Any]:
    """Return how an answer was made: rounds, why it ended, citations that hold and that did not."""
    text = answer.text
    return {
        "rounds": sum(planned.number > 0 for planned in answer.rounds),
        "reason": answer.reason,
        "cited": sum(len(sentence.cites) for sentence in text.sentences),
        "removed": len(text.removed),
        "unsupported": text.unsupported,
        "disagreeing": text.disagreeing,
    }


@dataclass(frozen=True, slots=True)
class CompiledTemplates:
    """A graph's templates, in their compiled form where they have one."""

    graph: Graph

    def run(self, template: str, /, **parameters: Any) -> list[Row]:
        compiled = self.graph.compiled.has(template)
        return self.graph.compiled.run(template, **parameters) if compiled else self.graph.run(template, **parameters)
