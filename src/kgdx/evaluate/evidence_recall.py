"""What can be measured of answers without a judge: whether what the graph had to give is in the evidence.

For each question: recall of the gold relations (or diseases) in the evidence pack, how inferred diseases are ranked,
whether citations hold, and what it took: rounds, calls, tokens, time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kgdx.answer.evidence_pack import EvidencePack
from kgdx.episode.segment import Kind
from kgdx.errors import KgdxError, UsageError
from kgdx.evaluate.model_use import Tally
from kgdx.evaluate.paired import interval
from kgdx.evaluate.question_sets import Gold, Question
from kgdx.llm.chat import ChatModel

if TYPE_CHECKING:
    from kgdx.answer.cited_answer import Answer

Asks = Callable[[Question, ChatModel | None], "Answer"]
"""Answers a question with the graph."""

INFERRED = ("inference", "candidate")
"""Kinds of evidence that propose a disease."""

GROUPS = ("split", "language", "action")


@dataclass(frozen=True, slots=True)
class Hits:
    """How much of the gold a pack holds.

    Attributes:
        recall: Share of the gold that is in it.
        reciprocal_rank: Of the first right disease among the inferred ones; ``None`` for relations.
        precision: Share of right ones among as many inferred diseases as are right; ``None`` for relations.
    """

    recall: float
    reciprocal_rank: float | None = None
    precision: float | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of one question.

    Attributes:
        id: The question's.
        action: Its gold action.
        language: Its language.
        split: Its split.
        recall: As :class:`Hits`.
        reciprocal_rank: As :class:`Hits`.
        precision: As :class:`Hits`.
        chose: Whether the gold action was among those run.
        cited: Citations that hold.
        removed: Citations that did not, and were taken out.
        unsupported: Sentences that cite nothing although they had to.
        disagreeing: Sentences that say something else than what they cite.
        sentences: Sentences of the answer.
        rounds: Plans of the model.
        calls: Answers of the model.
        read: Tokens it read.
        written: Tokens it wrote.
        ms: Milliseconds in all.
        own_ms: Of those, what the model did not take.
        round_ms: Between two answers of the model, that is for running what it chose and asking it again.
        reason: Why the episode ended.
        error: Why there is no answer.
    """

    id: str
    action: str
    language: str
    split: str
    recall: float | None = None
    reciprocal_rank: float | None = None
    precision: float | None = None
    chose: bool | None = None
    cited: int = 0
    removed: int = 0
    unsupported: int = 0
    disagreeing: int = 0
    sentences: int = 0
    rounds: int = 0
    calls: int = 0
    read: int = 0
    written: int = 0
    ms: float = field(default=0.0, compare=False)
    own_ms: float = field(default=0.0, compare=False)
    round_ms: tuple[float, ...] = field(default=(), compare=False)
    reason: str = ""
    error: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)


def hits(question: Question, pack: EvidencePack) -> Hits | None:
    """Compare a pack with a question's gold; ``None`` where it has none.

    Gold counts by its id, or by its name where it has no id. For a ``get`` question it counts as a relation of the
    diseases that are asked about; for any other it counts as an inferred disease, in the order of the pack.
    """
    if not question.gold:
        return None
    if question.action.startswith("get_"):
        found = {
            key
            for item in pack.items
            if item.kind == "relation" and _about(question, item.subject)
            for node in item.objects
            for key in (node.id, _plain(node.name))
        }
        return Hits(sum(_key(gold) in found for gold in question.gold) / len(question.gold))
    ranked = [item.subject for item in pack.items if item.kind in INFERRED and item.subject is not None]
    places: dict[str, int] = {}
    for place, id in enumerate(dict.fromkeys(node.id for node in ranked), 1):
        places[id] = place
    for node in ranked:
        places.setdefault(_plain(node.name), places[node.id])
    right = sorted(places[_key(gold)] for gold in question.gold if _key(gold) in places)
    most = len(question.gold)
    return Hits(len(right) / most, 1 / right[0] if right else 0.0, sum(place <= most for place in right) / most)


def measure(question: Question, ask: Asks, model: ChatModel | None) -> Measured:
    """Ask one question and measure the answer; one that fails is measured as having found nothing."""
    told: dict[str, Any] = {
        "id": question.id,
        "action": question.action,
        "language": question.language,
        "split": question.split,
    }
    tally = None if model is None else Tally(model)
    begin = time.perf_counter()
    try:
        answer = ask(question, tally)
    except KgdxError as error:
        nothing = 0.0 if question.gold else None
        return Measured(**told, recall=nothing, reason="error", error=str(error))
    seconds = time.perf_counter() - begin
    found = hits(question, answer.pack)
    ran = {segment.name for segment in answer.trace if segment.kind is Kind.WISH}
    text = answer.text
    return Measured(
        **told,
        recall=None if found is None else found.recall,
        reciprocal_rank=None if found is None else found.reciprocal_rank,
        precision=None if found is None else found.precision,
        chose=question.action in ran if question.action else None,
        cited=sum(len(sentence.cites) for sentence in text.sentences),
        removed=len(text.removed),
        unsupported=text.unsupported,
        disagreeing=text.disagreeing,
        sentences=len(text.sentences),
        rounds=sum(planned.number > 0 for planned in answer.rounds),
        calls=0 if tally is None else tally.calls,
        read=0 if tally is None else tally.read,
        written=0 if tally is None else tally.written,
        ms=1000 * seconds,
        own_ms=1000 * (seconds - (0.0 if tally is None else tally.seconds)),
        round_ms=() if tally is None else tuple(1000 * gap for gap in tally.gaps),
        reason=answer.reason,
        error="" if tally is None or tally.error is None or answer.reason != "error" else str(tally.error),
    )


def evaluate_recall(
    questions: Sequence[Question],
    ask: Asks,
    model: ChatModel | None = None,
    *,
    jobs: int = 1,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Ask every question, and add up what was measured.

    Args:
        questions: What is asked.
        ask: How it is answered.
        model: Who plans; ``None`` where nobody has to.
        jobs: Questions at the same time.
        progress: Called after each question.

    Returns:
        ``all``, and for each of ``split``, ``language``, ``action`` and ``action/split`` the same figures by its
        values (see :func:`figures`); ``failed`` (id and reason); ``questions`` (what was measured of each).

    Raises:
        UsageError: There is no question.
    """
    if not questions:
        raise UsageError("there is no question", hint="give a question set")

    def one(question: Question) -> Measured:
        found = measure(question, ask, model)
        progress()
        return found

    if jobs == 1:
        rows = [one(question) for question in questions]
    else:
        with ThreadPoolExecutor(jobs) as pool:
            rows = list(pool.map(one, questions))
    clusters = {question.id: question.cluster for question in questions}

    def by(name: Callable[[Measured], str]) -> dict[str, Any]:
        values = dict.fromkeys(value for row in rows if (value := name(row)))
        return {value: figures([row for row in rows if name(row) == value], clusters) for value in values}

    return {
        "model": None if model is None else model.name,
        "all": figures(rows, clusters),
        **{group: by(lambda row, group=group: getattr(row, group)) for group in GROUPS},  # type: ignore[misc]
        "action/split": by(lambda row: f"{row.action}/{row.split}" if row.action and row.split else ""),
        "failed": [{"id": row.id, "error": row.error or row.reason} for row in rows if row.reason == "error"],
        "questions": [row.to_dict() for row in rows],
    }


def figures(rows: Sequence[Measured], clusters: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of some questions.

    Returns:
        ``n``; ``recall`` with its interval, ``complete`` (share of questions with all of their gold), ``mrr`` and
        ``precision`` of inferred diseases; ``chose`` (share that ran the gold action); ``citations`` (share that hold),
        ``supported`` (share of sentences); means of ``rounds``, ``calls``, ``read``, ``written``; medians of ``ms``,
        ``own_ms`` and ``round_ms`` (with its 95th percentile); ``failed``. What cannot be said is ``None``.
    """
    judged = [row for row in rows if row.recall is not None]
    recall = interval([row.recall or 0.0 for row in judged], [clusters[row.id] for row in judged]) if judged else None
    cited, removed = sum(row.cited for row in rows), sum(row.removed for row in rows)
    sentences = sum(row.sentences for row in rows)
    rounds = [gap for row in rows for gap in row.round_ms]
    return {
        "n": len(rows),
        "recall": None if recall is None else asdict(recall),
        "complete": _mean(row.recall == 1.0 for row in judged),
        "mrr": _mean(row.reciprocal_rank for row in rows if row.reciprocal_rank is not None),
        "precision": _mean(row.precision for row in rows if row.precision is not None),
        "chose": _mean(row.chose for row in rows if row.chose is not None),
        "citations": cited / (cited + removed) if cited + removed else None,
        "supported": 1 - sum(row.unsupported for row in rows) / sentences if sentences else None,
        "agreeing": 1 - sum(row.disagreeing for row in rows) / sentences if sentences else None,
        **{name: _mean(getattr(row, name) for row in rows) for name in ("rounds", "calls", "read", "written")},
        "ms": float(np.median([row.ms for row in rows])),
        "own_ms": float(np.median([row.own_ms for row in rows])),
        "round_ms": float(np.median(rounds)) if rounds else None,
        "round_ms_p95": float(np.percentile(rounds, 95)) if rounds else None,
        "failed": sum(row.reason == "error" for row in rows),
    }


def _mean(values: Iterable[float]) -> float | None:
    every = list(values)
    return sum(every) / len(every) if every else None


def _about(question: Question, subject: Any) -> bool:
    return not question.subjects or (subject is not None and subject.id in question.subjects)


def _key(gold: Gold) -> str:
    return gold.id or _plain(gold.name)


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())
