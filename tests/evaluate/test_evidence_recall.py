"""What is measured without a judge, and by scripted planners over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from benchmarks.scripted_models import KINDS, PLANNERS, request_of, right_action, scripted

from conftest import require_module
from kgdx.answer.cited_answer import Answer
from kgdx.answer.evidence_pack import EvidencePack
from kgdx.api import Graph
from kgdx.config import LlmAccess
from kgdx.episode import Author, Kind, Segment
from kgdx.errors import LlmError, UsageError
from kgdx.evaluate.answer_pairs import CompiledTemplates, GraphAsker
from kgdx.evaluate.evidence_recall import GoldFound, evaluate_recall, gold_found, measure
from kgdx.evaluate.question_sets import BenchmarkQuestion, Gold, generate
from kgdx.llm.chat import ChatModel, Message, Request, prompt
from kgdx.llm.connect import connect
from kgdx.results.cited import CitedText, EvidenceItem, Sentence
from kgdx.results.evidence_paths import PathNode
from llm.server import Server, answering, serving

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
    log = (planned(1), Segment(Author.POLICY, Kind.WISH, "get_symptom", {}), planned(2, ended=True))
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


@pytest.fixture(scope="module")
def questions(chinese: Graph) -> list[BenchmarkQuestion]:
    return list(generate(CompiledTemplates(chinese), diseases=1))


@contextmanager
def over_http(kind: str, questions: list[BenchmarkQuestion]) -> Iterator[tuple[ChatModel, Server]]:
    require_module("openai", "llm")
    with serving(answering(scripted(kind, questions))) as server:
        yield connect(LlmAccess(f"scripted-{kind}", server.url)), server


def test_right_planner_finds_all_that_the_graph_has(chinese: Graph, questions: list[BenchmarkQuestion]) -> None:
    with over_http("right", questions) as (model, server):
        found = evaluate_recall(questions, GraphAsker(chinese), model)
    assert found["all"]["recall"]["mean"] == 1.0
    assert found["all"]["chose"] == found["all"]["citations"] == found["all"]["supported"] == 1.0
    assert found["all"]["rounds"] == 2.0
    assert found["failed"] == []
    assert found["all"]["calls"] == len(server.requests) / len(questions)
    assert found["language"]["zh"]["calls"] == 3.0


def test_half_right_planner_mends_its_plan_and_its_made_up_citations_go(
    chinese: Graph, questions: list[BenchmarkQuestion]
) -> None:
    with over_http("half-right", questions) as (model, _):
        found = evaluate_recall(questions[::3], GraphAsker(chinese), model)
        answer = GraphAsker(chinese)(questions[0], model)
    assert found["all"]["recall"]["mean"] == 1.0
    assert 0 < found["all"]["citations"] < 1
    assert {"E9999", "PMID:99999999"} & {each.strip("[]") for each in answer.text.removed}
    assert "9999" not in answer.text.text
    refused = [reason for planned in answer.rounds for reason in planned.refused]
    assert any("unknown action" in reason for reason in refused)
    assert any("already" in reason for reason in refused)


@pytest.mark.parametrize("kind", PLANNERS)
def test_episode_ends_and_cites_only_what_exists_whoever_plans(
    chinese: Graph, questions: list[BenchmarkQuestion], kind: str
) -> None:
    before = chinese.status()
    with over_http(kind, questions) as (model, _):
        for question in questions[::3]:
            try:
                answer: Answer = GraphAsker(chinese)(question, model)
            except LlmError as error:
                assert kind == "malformed" and error.kind == "malformed"
                continue
            assert set(answer.text.cited) <= answer.pack.ids
            assert sum(planned.number > 0 for planned in answer.rounds) <= 5
            assert len([segment for segment in answer.trace if segment.kind == "wish"]) <= 60
            ran = [ran for segment in answer.trace for ran in segment.operations if ran.kind == "query"]
            assert all(each.name in chinese_templates() for each in ran)
            json.dumps(answer.to_dict(private=True))
    assert chinese.status() == before


def chinese_templates() -> frozenset[str]:
    from kgdx.graph.templates import templates

    return frozenset(name for name, template in templates().items() if template.kind == "read")


@pytest.mark.parametrize("kind", KINDS)
def test_model_answers_the_same_to_the_same_and_anything_at_all(kind: str, questions: list[BenchmarkQuestion]) -> None:
    model = scripted(kind, questions)
    prompts = [
        "",
        "x" * 100_000,
        "# Question\n\n" + questions[0].question,
        '{"thought"',
        '{"reason"',
        "\nEvidence:\n",
    ]
    for words in prompts:
        request = Request((Message("system", ""), Message("user", words)))
        said = []
        for _ in range(2):
            try:
                said.append(model.ask(request).text)
            except LlmError as error:
                said.append(str(error))
        assert said[0] == said[1]


def test_model_knows_the_question_in_every_prompt_that_it_is_asked_with(
    chinese: Graph, questions: list[BenchmarkQuestion]
) -> None:
    seen: set[str] = set()
    model = scripted("judge", questions)
    with over_http("judge", questions) as (endpoint, server):
        GraphAsker(chinese)(questions[0], endpoint)
        endpoint.ask(Request(prompt("plain").messages(question=questions[0].question, case="(none)")))
        judged = prompt("judge").messages(question=questions[0].question, reference="a、b", answer="a")
        score = json.loads(endpoint.ask(Request(judged)).text)["score"]
        for body in server.requests:
            read = model.prompted(request_of(body))
            assert read.asked == questions[0]
            seen.add(read.task)
    assert seen == {"plan", "answer", "recall", "judge"}
    assert score == 0.5


def test_actions_are_those_of_the_question() -> None:
    get = BenchmarkQuestion(id="q", question="?", action="GET_CURE", entities=("流感",))
    assert right_action(get) == {"action": "get_cure", "diseases": ["流感"]}
    infer = BenchmarkQuestion(id="q", question="?", action="infer_by_test", entities=("血常规", "尿常规"))
    assert right_action(infer) == {"action": "infer_by_test", "tests": ["血常规", "尿常规"], "min_match_count": 2}


def test_unknown_kind_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="one of scripted:right, scripted:half-right, scripted:malformed"):
        scripted("scripted:clever", [])
