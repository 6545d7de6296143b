"""Scripted planners over real HTTP: the loop reaches what a right model allows, and survives every other one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conftest import require_module
from kgdx.answer.cited_answer import Answer
from kgdx.api import Graph
from kgdx.config import LlmAccess
from kgdx.errors import LlmError, UsageError
from kgdx.evaluate.answer_pairs import CompiledTemplates, GraphAsker
from kgdx.evaluate.evidence_recall import evaluate_recall
from kgdx.evaluate.question_sets import BenchmarkQuestion, generate
from kgdx.evaluate.scripted_models import KINDS, PLANNERS, request_of, right_action, scripted
from kgdx.llm.chat import ChatModel, Message, Request, prompt
from kgdx.llm.connect import connect
from llm.server import Server, answering, serving


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
