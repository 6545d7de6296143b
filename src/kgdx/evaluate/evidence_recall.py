"""What can be measured of answers without a judge: whether what the graph had to give is in the evidence.

For each question: recall of the gold relations (or diseases) in the evidence pack, how inferred diseases are ranked,
whether citations hold, and what it took: rounds, calls, tokens, time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kgdx.answer.evidence_pack import EvidencePack
from kgdx.episode.segment import Kind
from kgdx.errors import KgdxError, UsageError
from kgdx.evaluate.answer_pairs import facts
from kgdx.evaluate.metrics import interval, milliseconds
from kgdx.evaluate.model_use import ModelUsage
from kgdx.evaluate.question_sets import BenchmarkQuestion, Gold
from kgdx.evaluate.runner import Record, Runner
from kgdx.llm.chat import ChatModel

if TYPE_CHECKING:
    from kgdx.answer.cited_answer import Answer

Asks = Callable[[BenchmarkQuestion, ChatModel | None], "Answer"]
"""Answers a question with the graph."""

INFERRED = ("inference", "candidate")
"""Kinds of evidence that propose a disease."""

GROUPS = ("split", "language", "action")
ARM = "graph"
"""What the evaluation's only arm is called."""


class GoldFound(NamedTuple):
    """How much of the gold a pack holds; of relations the share alone."""

    recall: float
    reciprocal_rank: float | None = None
    """Of the first right disease among the inferred ones."""
    precision: float | None = None
    """Share of right ones among as many inferred diseases as are right."""


def gold_found(question: BenchmarkQuestion, pack: EvidencePack) -> GoldFound | None:
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
            if item.kind == "relation"
            and (not question.subjects or (item.subject is not None and item.subject.id in question.subjects))
            for node in item.objects
            for key in (node.id, _plain(node.name))
        }
        return GoldFound(sum(_key(gold) in found for gold in question.gold) / len(question.gold))
    ranked = [item.subject for item in pack.items if item.kind in INFERRED and item.subject is not None]
    places: dict[str, int] = {}
    for place, id in enumerate(dict.fromkeys(node.id for node in ranked), 1):
        places[id] = place
    for node in ranked:
        places.setdefault(_plain(node.name), places[node.id])
    right = sorted(places[_key(gold)] for gold in question.gold if _key(gold) in places)
    most = len(question.gold)
    return GoldFound(len(right) / most, 1 / right[0] if right else 0.0, sum(place <= most for place in right) / most)


def measure(question: BenchmarkQuestion, ask: Asks, model: ChatModel | None) -> Record:
    """Ask one question and measure the answer; one that fails is measured as having found nothing.

    Returns:
        ``id``, ``action``, ``language``, ``split`` of the question; ``recall``, ``reciprocal_rank``, ``precision`` (see
        :class:`GoldFound`), ``chose`` (whether the gold action was among those run); of the answer ``cited``
        (citations that hold), ``removed`` (that did not), ``unsupported`` and ``disagreeing`` ones of its
        ``sentences``; ``rounds``, ``calls``, ``read`` and ``written`` (of the model), ``ms`` in all, ``own_ms`` (what
        the model did not take), ``round_ms`` (between two answers of the model); ``reason`` why it ended, ``error``.
    """
    told = {name: getattr(question, name) for name in ("id", "action", "language", "split")}
    usage = None if model is None else ModelUsage(model)
    begin = time.perf_counter()
    try:
        answer = ask(question, usage)
    except KgdxError as error:
        return {**told, **_NOTHING, "recall": 0.0 if question.gold else None, "reason": "error", "error": str(error)}
    seconds = time.perf_counter() - begin
    ran = {segment.name for segment in answer.trace if segment.kind is Kind.WISH}
    found = gold_found(question, answer.pack)
    record = {
        **told,
        **_NOTHING,
        **({} if found is None else found._asdict()),
        **facts(answer),
        "chose": question.action in ran if question.action else None,
        "sentences": len(answer.text.sentences),
        "ms": 1000 * seconds,
        "own_ms": 1000 * seconds,
    }
    if usage is not None:
        record |= {"calls": usage.calls, "read": usage.read, "written": usage.written}
        record |= {"own_ms": 1000 * (seconds - usage.seconds), "round_ms": [1000 * gap for gap in usage.gaps]}
        record["error"] = str(usage.error) if usage.error is not None and answer.reason == "error" else ""
    return record


_NOTHING: Mapping[str, Any] = {
    **dict.fromkeys(("recall", "reciprocal_rank", "precision", "chose")),
    **dict.fromkeys(("cited", "removed", "unsupported", "disagreeing", "sentences", "rounds"), 0),
    **dict.fromkeys(("calls", "read", "written"), 0),
    **dict.fromkeys(("ms", "own_ms"), 0.0),
    "round_ms": (),
    "reason": "",
    "error": "",
}


def evaluate_recall(
    questions: Sequence[BenchmarkQuestion],
    ask: Asks,
    model: ChatModel | None = None,
    *,
    jobs: int = 1,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Ask every question, planned by a model where there is one, and add up what was measured.

    Returns:
        ``all``, and for each of ``split``, ``language``, ``action`` and ``action/split`` the same figures by its
        values (see :func:`figures`); ``failed`` (id and reason); ``questions`` (what was measured of each).
    """
    if not questions:
        raise UsageError("there is no question", hint="give a question set")
    runner = Runner(jobs=jobs, progress=progress)
    measured = runner.run(((each.id, each) for each in questions), [ARM], lambda each, _: measure(each, ask, model))
    rows = [{name: value for name, value in row.items() if name not in ("item", "arm")} for row in measured]
    clusters = {question.id: question.cluster for question in questions}

    def by(name: Callable[[Record], str]) -> dict[str, Any]:
        values = dict.fromkeys(value for row in rows if (value := name(row)))
        return {value: figures([row for row in rows if name(row) == value], clusters) for value in values}

    return {
        "model": None if model is None else model.name,
        "all": figures(rows, clusters),
        **{group: by(lambda row, group=group: row[group]) for group in GROUPS},  # type: ignore[misc]
        "action/split": by(lambda row: f"{row['action']}/{row['split']}" if row["action"] and row["split"] else ""),
        "failed": [{"id": row["id"], "error": row["error"] or row["reason"]} for row in rows if _failed(row)],
        "questions": rows,
    }


def figures(rows: Sequence[Record], clusters: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of some questions.

    Returns:
        ``n``; ``recall`` with its interval, ``complete`` (share of questions with all of their gold), ``mrr`` and
        ``precision`` of inferred diseases; ``chose`` (share that ran the gold action); ``citations`` (share that hold),
        ``supported`` (share of sentences); means of ``rounds``, ``calls``, ``read``, ``written``; medians of ``ms``,
        ``own_ms`` and ``round_ms`` (with its 95th percentile); ``failed``. What cannot be said is ``None``.
    """
    judged = [row for row in rows if row["recall"] is not None]
    recall = interval([row["recall"] for row in judged], [clusters[row["id"]] for row in judged]) if judged else None
    cited, removed, sentences, unsupported, disagreeing = (
        sum(row[name] for row in rows) for name in ("cited", "removed", "sentences", "unsupported", "disagreeing")
    )
    rounds = [gap for row in rows for gap in row["round_ms"]]
    return {
        "n": len(rows),
        "recall": recall,
        "complete": _mean(row["recall"] == 1.0 for row in judged),
        **{name: _mean(_told(rows, of)) for name, of in (("mrr", "reciprocal_rank"), ("precision", "precision"))},
        "chose": _mean(_told(rows, "chose")),
        "citations": cited / (cited + removed) if cited + removed else None,
        "supported": 1 - unsupported / sentences if sentences else None,
        "agreeing": 1 - disagreeing / sentences if sentences else None,
        **{name: _mean(_told(rows, name)) for name in ("rounds", "calls", "read", "written")},
        **{name: milliseconds([row[name] for row in rows])["ms_median"] for name in ("ms", "own_ms")},
        "round_ms": milliseconds(rounds)["ms_median"],
        "round_ms_p95": milliseconds(rounds)["ms_p95"],
        "failed": sum(map(_failed, rows)),
    }


def _failed(row: Record) -> bool:
    return bool(row["reason"] == "error")


def _told(rows: Sequence[Record], name: str) -> Iterator[float]:
    return (row[name] for row in rows if row[name] is not None)


def _mean(values: Iterable[float]) -> float | None:
    every = list(values)
    return sum(every) / len(every) if every else None


def _key(gold: Gold) -> str:
    return gold.id or _plain(gold.name)


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())
