"""Answers with and without the graph, compared in pairs: the same questions, the same model, a judge from 0 to 1.

As DeepDoctor-RAG is evaluated. A question is four pieces of work: the answer with the graph, the answer without it, and
a judgement of each; each is kept when it is finished, so an evaluation goes on wherever it was stopped. A piece that
fails is counted, and tried again by the next run.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from kgdx.answer.cited_answer import Answer
from kgdx.errors import ConfigError, KgdxError, LlmError, MissingExtraError, StoreError, UsageError
from kgdx.evaluate.journal import Journal
from kgdx.evaluate.judges import Judge
from kgdx.evaluate.model_use import Tally
from kgdx.evaluate.paired import MARGIN, Comparison, compare
from kgdx.evaluate.question_sets import Question, set_digest
from kgdx.graph.protocol import Row
from kgdx.llm.chat import ChatModel, Prices, Request, prompt

if TYPE_CHECKING:
    from kgdx.api import Graph

Arm = Literal["with", "without"]
ARMS: tuple[Arm, Arm] = ("with", "without")

ENDS_ALL = frozenset({"denied", "missing", "budget"})
"""Faults that every further question would meet, too."""

HOPELESS = (ConfigError, MissingExtraError, StoreError)
"""Errors that are not the question's."""

IN_A_ROW = 3
"""Pieces of work that cannot reach the model, one after the other, before the evaluation stops."""

GROUPS = ("action", "language", "split")


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer with the graph.

    Attributes:
        text: The answer, with its marks.
        facts: What is known of it beside the text, as JSON values: rounds, citations, why it ended.
        error: Why it is none, in which case the text does not count.
    """

    text: str
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)
    error: KgdxError | None = None


WithGraph = Callable[[Question, ChatModel], Answered]
"""Answers a question with the graph, asking the given model."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What an evaluation may cost in all, earlier runs of it included; ``None`` for no limit."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None

    def spent(self, total: Mapping[str, float]) -> str | None:
        """Return what is used up, if anything is.

        Example:
            >>> Budget(calls=10).spent({"calls": 10, "read": 0, "written": 0, "cost": 0.0})
            'calls'
        """
        used = {"calls": total["calls"], "tokens": total["read"] + total["written"], "cost": total["cost"]}
        limits = {"calls": self.calls, "tokens": self.tokens, "cost": self.cost}
        return next((name for name, most in limits.items() if most is not None and used[name] >= most), None)


class _Work:
    """One run of an evaluation."""

    def __init__(self, evaluation: PairedEvaluation, journal: Journal) -> None:
        self.evaluation = evaluation
        self.journal = journal
        self.done = {_key(record) for record in journal.records if "error" not in record}
        self.texts = {
            (record["question"], record["step"]): record["text"] for record in journal.records if "text" in record
        }
        self.total = _total(journal.records)
        self.stopped: str | None = None
        self.fatal: LlmError | None = None
        self._unreached = 0
        self._lock = threading.Lock()

    def do(self, questions: Sequence[Question]) -> None:
        with ThreadPoolExecutor(max(1, self.evaluation.jobs)) as pool:
            for _ in pool.map(self._question, questions):
                pass

    def _question(self, question: Question) -> None:
        try:
            for arm in ARMS:
                self._answer(question, arm)
            if self.evaluation.judge is not None:
                for arm in _order(self.evaluation.seed, question.id):
                    self._judge(question, arm, self.evaluation.judge)
        except _Stop:
            return

    def _answer(self, question: Question, arm: Arm) -> None:
        if (question.id, arm, "") in self.done:
            return
        self._may_begin()
        tally = Tally(self.evaluation.model, self.evaluation.prices)
        record: dict[str, Any] = {"question": question.id, "step": arm}
        try:
            answered = self.evaluation.with_graph(question, tally) if arm == "with" else _without(question, tally)
            error: KgdxError | None = answered.error
            content = {"text": answered.text, **answered.facts}
        except HOPELESS as caught:
            self.stopped = str(caught)
            raise
        except KgdxError as caught:
            error, content = caught, {}
        if error is None:
            self._keep({**record, **content, **tally.to_dict()})
            self.texts[question.id, arm] = content["text"]
        else:
            self._fail({**record, **tally.to_dict()}, tally.error or error)

    def _judge(self, question: Question, arm: Arm, judge: Judge) -> None:
        text = self.texts.get((question.id, arm))
        if text is None or (question.id, f"judge {arm}", judge.id) in self.done:
            return
        self._may_begin()
        record = {"question": question.id, "step": f"judge {arm}", "judge": judge.id}
        try:
            found = judge.score(question, text)
        except HOPELESS as caught:
            self.stopped = str(caught)
            raise
        except LlmError as error:
            self._fail({**record, "calls": 0, "read": 0, "written": 0, "cost": 0.0}, error)
            return
        took = {"calls": found.calls, "read": found.read, "written": found.written, "cost": found.cost}
        self._keep({**record, "score": found.score, "reason": found.reason, **took})

    def _may_begin(self) -> None:
        """Begin nothing once the budget is spent, or the model cannot be asked."""
        with self._lock:
            used_up = self.evaluation.budget.spent(self.total)
            if used_up is not None:
                self.stopped = f"the budget of {used_up} is spent"
            if self.stopped is not None:
                raise _Stop

    def _keep(self, record: dict[str, Any]) -> None:
        self.journal.add(record)
        with self._lock:
            self._count(record)
            self._unreached = 0
        self.evaluation.progress()

    def _fail(self, record: dict[str, Any], error: KgdxError) -> None:
        kind = error.kind if isinstance(error, LlmError) else type(error).__name__
        self.journal.add({**record, "error": str(error), "kind": kind})
        self.evaluation.progress()
        with self._lock:
            self._count(record)
            self._unreached = self._unreached + 1 if kind == "unreachable" else 0
            if isinstance(error, LlmError) and (kind in ENDS_ALL or self._unreached >= IN_A_ROW):
                self.stopped = str(error)
                hint = f"{error.hint or 'mend it'}, then run the same command again: what is finished stays"
                self.fatal = LlmError(error.message, hint=hint, kind=error.kind)
                raise _Stop

    def _count(self, record: Mapping[str, Any]) -> None:
        for name in self.total:
            self.total[name] += record[name]


@dataclass(slots=True)
class PairedEvaluation:
    """Compares answers with and without a graph.

    Attributes:
        model: Who answers, in both arms.
        with_graph: How it answers with the graph.
        judge: Who scores; ``None`` to make the answers alone.
        about: What else the answers depend on, such as the graph's fingerprint; part of what must not change.
        prices: Of a million tokens that the model reads and writes.
        budget: When to stop.
        margin: Smallest difference of scores that is no tie.
        seed: Of the order of judging, and of the bootstrap.
        jobs: Questions at the same time.
        progress: Called after each piece of work.
    """

    model: ChatModel
    with_graph: WithGraph
    judge: Judge | None
    about: Mapping[str, Any] = field(default_factory=dict)
    prices: Prices = (0.0, 0.0)
    budget: Budget = field(default_factory=Budget)
    margin: float = MARGIN
    seed: int = 0
    jobs: int = 1
    progress: Callable[[], None] = lambda: None

    def run(self, questions: Sequence[Question], journal: Journal) -> dict[str, Any]:
        """Do what is not done yet, and return the figures; they are written into the folder, too.

        Args:
            questions: What is asked.
            journal: Where finished work is kept.

        Raises:
            LlmError: The key is refused, or the model cannot be reached; what is finished stays.
            UsageError: There is no question, or the folder is of another evaluation.
            StoreLockedError: Another process works in the folder.
            ConfigError: The model is not set rightly; MissingExtraError, StoreError likewise.
        """
        if not questions:
            raise UsageError("there is no question", hint="give a question set")
        about = {
            "questions": set_digest(questions),
            "model": self.model.name,
            "prompt": prompt("plain").id,
            "seed": self.seed,
            **self.about,
        }
        with journal.working(about):
            work = _Work(self, journal)
            try:
                work.do(questions)
            finally:
                figures = self._figures(questions, journal, work)
                journal.finish(results(questions, journal.records, self._judged_by), figures)
            if work.fatal is not None:
                raise work.fatal
        return figures

    @property
    def _judged_by(self) -> str:
        return "" if self.judge is None else self.judge.id

    def _figures(self, questions: Sequence[Question], journal: Journal, work: _Work) -> dict[str, Any]:
        rows = list(results(questions, journal.records, self._judged_by))
        failed = [
            {"id": row["id"], "step": step, "error": row["errors"][step]} for row in rows for step in row["errors"]
        ]
        return {
            "questions": len(questions),
            "answered": {arm: sum(row[arm] is not None for row in rows) for arm in ARMS},
            "judge": self._judged_by or None,
            "model": self.model.name,
            "all": self._compared(questions, rows),
            "groups": {
                name: {
                    value: self._compared(questions, [row for row in rows if row[name] == value])
                    for value in sorted({row[name] for row in rows if row[name]})
                }
                for name in GROUPS
            },
            "failed": failed,
            "open": sum(row["open"] for row in rows),
            "stopped": work.stopped,
            "warnings": self._warnings(rows),
            "spent": _total(journal.records),
        }

    def _compared(self, questions: Sequence[Question], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
        """The comparison over the pairs that are whole, and once more with an answer that failed as 0."""
        clusters = {each.id: each.cluster for each in questions}
        whole = [row for row in rows if row["scores"]["with"] is not None and row["scores"]["without"] is not None]
        if not whole:
            return None
        strict = [row for row in rows if all(row["scores"][arm] is not None or arm in row["errors"] for arm in ARMS)]
        return {
            **self._comparison(whole, clusters).to_dict(),
            "failures_as_0": self._comparison(strict, clusters).to_dict() if len(strict) > len(whole) else None,
        }

    def _comparison(self, rows: Sequence[Mapping[str, Any]], clusters: Mapping[str, Any]) -> Comparison:
        scores = {arm: [row["scores"][arm] or 0.0 for row in rows] for arm in ARMS}
        grouped = [clusters[row["id"]] for row in rows]
        return compare(scores["with"], scores["without"], grouped, margin=self.margin, seed=self.seed)

    def _warnings(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        warnings = []
        if self.judge is not None and self.judge.name == self.model.name:
            warnings.append("the judge is the model that answers: models prefer their own words")
        unreferenced = sum(not row["reference"] for row in rows)
        if unreferenced:
            warnings.append(f"{unreferenced:,} of {len(rows):,} questions have no reference: the judge goes by itself")
        return warnings


class _Stop(Exception):
    """Nothing further is begun."""


def results(
    questions: Iterable[Question], records: Iterable[Mapping[str, Any]], judge: str
) -> Iterator[dict[str, Any]]:
    """Yield what is known of each question: both answers, their scores, and what failed.

    Args:
        questions: The question set.
        records: The journal.
        judge: Id of the judge whose scores are meant.
    """
    last: dict[tuple[str, str], Mapping[str, Any]] = {}
    for record in records:
        key = (record["question"], record["step"])
        other = record.get("judge", judge) != judge
        if not other and ("error" not in record or key not in last or "error" in last[key]):
            last[key] = record
    for question in questions:
        found = {step: last.get((question.id, step)) for step in (*ARMS, *(f"judge {arm}" for arm in ARMS))}
        good = {step: record for step, record in found.items() if record is not None and "error" not in record}
        wanted = [step for step in found if judge or not step.startswith("judge")]
        yield {
            **question.to_dict(),
            **{name: getattr(question, name) for name in (*GROUPS, "reference")},
            **{arm: good.get(arm) for arm in ARMS},
            "scores": {arm: good[f"judge {arm}"]["score"] if f"judge {arm}" in good else None for arm in ARMS},
            "reasons": {arm: good[f"judge {arm}"]["reason"] if f"judge {arm}" in good else None for arm in ARMS},
            "errors": {step: r["error"] for step, r in found.items() if r is not None and "error" in r},
            "open": any(found[step] is None for step in wanted),
        }


def _without(question: Question, model: ChatModel) -> Answered:
    """The answer of the model by itself."""
    case = question.case if isinstance(question.case, str) else "" if question.case is None else str(question.case)
    asked = prompt("plain").messages(question=question.question, case=case or "(none)")
    return Answered(model.ask(Request(asked)).text)


def _order(seed: int, id: str) -> tuple[Arm, ...]:
    """Which answer is judged first: as chance has it, and the same when it is run again."""
    first = hashlib.sha256(f"{seed}/{id}".encode("utf-8", "surrogatepass")).digest()[0] % 2
    return ARMS if first == 0 else ARMS[::-1]


def _key(record: Mapping[str, Any]) -> tuple[str, str, str]:
    return record["question"], record["step"], record.get("judge", "")


def _total(records: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    total: dict[str, float] = {"calls": 0, "read": 0, "written": 0, "cost": 0.0}
    for record in records:
        for name in total:
            total[name] += record.get(name, 0)
    return total


# A graph as evaluations ask it: a question set's questions by one policy, or by a model through it.


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
        """Answer a question: by rules, or by a model that plans; see :data:`kgdx.evaluate.evidence_recall.Asks`."""
        told: dict[str, Any] = {"language": question.language or None, "rounds": self.rounds, "strict": self.strict}
        told["fallback"] = False  # what rules find, and the template says, is none of the model's
        case = None if question.case is None else self.graph.case(question.case)
        return self.graph.ask(question.question, case=case, model=model, **told)

    def answered(self, question: Question, model: ChatModel) -> Answered:
        """Answer a question by a model; see :data:`kgdx.evaluate.answer_pairs.WithGraph`.

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
            "disagreeing": text.disagreeing,
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
