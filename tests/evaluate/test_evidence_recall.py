"""What is measured without a judge: gold in the evidence, ranks, citations, and what a failure counts for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kgdx.answer.cited_answer import Answer
from kgdx.answer.evidence_pack import EvidencePack
from kgdx.episode import Author, Kind, Segment
from kgdx.errors import LlmError, UsageError
from kgdx.evaluate.evidence_recall import GoldFound, evaluate_recall, gold_found, measure
from kgdx.evaluate.question_sets import BenchmarkQuestion, Gold
from kgdx.evaluate.scripted_models import scripted
from kgdx.llm.chat import ChatModel, Message, Request
from kgdx.results.cited import CitedText, EvidenceItem, Sentence
from kgdx.results.evidence_paths import PathNode

GET = BenchmarkQuestion(
    id="g",
    question="?",
    action="get_symptom",
    subjects=("D:1",),
    gold=(Gold(name="fever", id="S:1"), Gold(name="Skin  Rash")),
    split="tuned",
)
INFER = BenchmarkQuestion(
    id="i", question="?", action="infer_by_symptom", gold=(Gold(name="a", id="D:1"), Gold(name="b", id="D:2"))
)


def relation(subject: str, id: str, name: str) -> EvidenceItem:
    node = PathNode(id, "Symptom", name)
    return EvidenceItem("", "relation", name, subject=PathNode(subject, "Disease", ""), objects=(node,))


def inferred(*ids: str) -> EvidencePack:
    nodes = [PathNode(id, "Disease", f"disease {id}") for id in ids]
    return EvidencePack(items=tuple(EvidenceItem("", "inference", "", subject=node) for node in nodes))


def test_relation_counts_by_id_or_name_and_only_of_the_disease_asked_about() -> None:
    fever, rash = relation("D:1", "S:1", "Fever"), relation("D:1", "S:2", "skin rash")
    assert gold_found(GET, EvidencePack(items=(fever, rash))) == GoldFound(1.0)
    assert gold_found(GET, EvidencePack(items=(fever,))) == GoldFound(0.5)
    assert gold_found(GET, EvidencePack(items=(relation("D:2", "S:1", "fever"),))) == GoldFound(0.0)
    anywhere = GET.model_copy(update={"subjects": ()})
    assert gold_found(anywhere, EvidencePack(items=(relation("D:2", "S:1", "fever"),))) == GoldFound(0.5)
    assert gold_found(GET, inferred("S:1")) == GoldFound(0.0)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (("D:1", "D:2"), GoldFound(1.0, 1.0, 1.0)),
        (("D:9", "D:2", "D:1"), GoldFound(1.0, 0.5, 0.5)),
        (("D:9", "D:8", "D:2"), GoldFound(0.5, 1 / 3, 0.0)),
        (("D:1", "D:1", "D:1", "D:2"), GoldFound(1.0, 1.0, 1.0)),
        ((), GoldFound(0.0, 0.0, 0.0)),
    ],
)
def test_inferred_disease_counts_by_its_place(ids: tuple[str, ...], expected: GoldFound) -> None:
    assert gold_found(INFER, inferred(*ids)) == expected


def test_question_without_gold_has_no_recall() -> None:
    assert gold_found(BenchmarkQuestion(id="q", question="?"), inferred("D:1")) is None


def answer(question: BenchmarkQuestion, model: ChatModel | None) -> Answer:
    if model is not None:
        for _ in range(3):
            model.ask(Request((Message("user", "Why?"),)))
    text = CitedText((Sentence("Fever [E1].", ("E1",)), Sentence("So.", (), False)), removed=("E9",), unsupported=1)
    log = (
        planned(1),
        Segment(Author.POLICY, Kind.WISH, "get_symptom", {}),
        planned(2, ended=True),
    )
    return Answer(question.question, text, EvidencePack(items=(relation("D:1", "S:1", "fever"),)), trace=log)


def planned(number: int, *, ended: bool = False) -> Segment:
    plan = {"round": number, "actions": [], "refused": [], "ended": ended, "failed": False}
    return Segment(Author.GRAPH, Kind.RESULT, "read_plan", {"artifact": plan})


def test_answer_is_measured_with_what_it_took() -> None:
    found = measure(GET, answer, scripted("right", []))
    assert [found[name] for name in ("recall", "chose", "cited", "removed", "unsupported")] == [0.5, True, 1, 1, 1]
    assert (found["calls"], found["rounds"], len(found["round_ms"])) == (3, 2, 2)
    assert 0 <= found["own_ms"] <= found["ms"]


def test_question_that_fails_counts_as_not_found() -> None:
    def failing(question: BenchmarkQuestion, model: ChatModel | None) -> Answer:
        if question.id == "g":
            raise LlmError("the endpoint is down", kind="unreachable")
        return replace(answer(question, model), pack=inferred("D:1", "D:2"))

    found = evaluate_recall([GET, INFER], failing)
    assert found["failed"] == [{"id": "g", "error": "the endpoint is down"}]
    assert found["all"]["recall"]["mean"] == 0.5
    assert found["all"]["failed"] == 1
    assert found["action"]["infer_by_symptom"]["mrr"] == 1.0
    assert found["action"]["get_symptom"]["mrr"] is None


def test_figures_are_of_groups_and_wordings_of_one_question_are_one_cluster() -> None:
    paraphrases = [GET.model_copy(update={"id": f"g{n}", "split": "held_out" if n else "tuned"}) for n in range(4)]
    found = evaluate_recall([*paraphrases, INFER], answer, jobs=3)
    assert found["split"].keys() == {"tuned", "held_out"}
    assert found["split"]["held_out"]["n"] == 3
    assert found["split"]["held_out"]["recall"] == {"mean": 0.5, "low": None, "high": None}
    assert found["action/split"].keys() == {"get_symptom/tuned", "get_symptom/held_out"}
    assert [row["id"] for row in found["questions"]] == ["g0", "g1", "g2", "g3", "i"]
    assert found["all"]["citations"] == 0.5 and found["all"]["supported"] == 0.5


def test_nothing_to_ask_is_refused() -> None:
    with pytest.raises(UsageError, match="no question"):
        evaluate_recall([], answer)


def test_measures_are_json() -> None:
    import json

    found: dict[str, Any] = evaluate_recall([GET], answer, scripted("right", []))
    assert json.loads(json.dumps(found))["questions"][0]["id"] == "g"
