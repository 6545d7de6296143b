"""A model writes instructions; half of the patients choose, the other half measures, and the file says who chose."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from kgdx.api import Graph
from kgdx.api.reranking import Reranker
from kgdx.case import Case
from kgdx.errors import LlmError, UsageError
from kgdx.evaluate import prompt_search
from kgdx.evaluate.labels import Labels
from kgdx.policies.rerank import instruction, parsed, patient_digest, written
from llm.server import Body, Fail, Reply, Say, Script
from policies.conftest import behind
from policies.rerankers import answer, shown

RIGHT = "DECIPHER:18"
SECRET = "Put deletions first, whatever the evidence says of the others."


@pytest.fixture(scope="module")
def cases(graph: Graph) -> list[Case]:
    case = graph.case(["HP:0001250", "HP:0004322"])
    return [replace(case, id=f"p{number}", diseases=(RIGHT,)) for number in range(30)]


def writing(*texts: str) -> Script:
    """Writes these instructions; puts deletions first only where it is told to."""

    def reply(body: Body, number: int) -> Reply:
        if "# Candidates" not in body["messages"][-1]["content"]:
            return Say(json.dumps({"variants": [{"text": each} for each in texts]}))
        lines: list[dict[str, Any]] = shown(body)
        wanted = SECRET in body["messages"][0]["content"]
        return Say(
            answer([each["id"] for each in sorted(lines, key=lambda one: wanted and "deletion" not in one["disease"])])
        )

    return reply


def judged(graph: Graph, work: Reranker, cases: list[Case]) -> list[prompt_search.LabelledPatient]:
    return prompt_search.judged(work, cases, lambda case: case, Labels(graph.ranker, graph.snapshot))


def test_the_instruction_that_patients_choose_is_measured_on_others(graph: Graph, cases: list[Case]) -> None:
    with behind(writing("Order them by the alphabet, and nothing else.", SECRET)) as (model, _):
        work = Reranker(graph, model)
        patients = judged(graph, work, cases)
        tried = [instruction("vanilla"), *prompt_search.variants(work, 2)]
        found = prompt_search.choose(work, patients, tried)
    assert [each.name for each in tried] == ["vanilla", "auto-1", "auto-2"]
    assert found.instruction.text == SECRET
    assert found.measured["auto-2"]["hit1"] == 1.0 > found.measured["vanilla"]["hit1"]
    assert {*found.measured} == {"retrieval", "vanilla", "auto-2"}
    chose = [each for each in patients if found.instruction.chosen_by(each.case)]
    assert len(chose) == found.figures["vanilla"]["n"] == 15
    kept = parsed(written(found.instruction, found.to_dict()))
    assert kept.digest == found.instruction.digest
    assert [kept.chosen_by(each.case) for each in patients].count(True) == 15


def test_an_instruction_is_not_measured_on_the_patients_who_chose_it(graph: Graph, cases: list[Case]) -> None:
    from kgdx.evaluate.retrieval_accuracy import CandidatePool, ModelOrder
    from kgdx.policies.rerank import RerankPolicy

    with behind(writing()) as (model, server):
        own = instruction("vanilla").model_copy(update={"chosen_on": (patient_digest(cases[0]),)})
        measured = ModelOrder(graph, model, RerankPolicy(prompt=own))
        with pytest.raises(UsageError, match="chosen on some of these patients"):
            measured(CandidatePool(cases[0], (0, 1), (2.0, 1.0)))
        assert not server.requests
        assert measured(CandidatePool(cases[1], (0, 1), (2.0, 1.0)))


def test_of_instructions_that_do_equally_well_the_first_is_chosen(graph: Graph, cases: list[Case]) -> None:
    with behind(writing()) as (model, _):
        work = Reranker(graph, model)
        found = prompt_search.choose(work, judged(graph, work, cases), [instruction("vanilla"), instruction("cot")])
    assert found.instruction.name == "vanilla"


def test_too_few_patients_choose_nothing(graph: Graph, cases: list[Case]) -> None:
    with behind(writing()) as (model, server):
        work = Reranker(graph, model)
        with pytest.raises(UsageError, match="only 6 patients"):
            prompt_search.choose(work, judged(graph, work, cases[:6]), [instruction("vanilla")])
        assert not server.requests


def test_patients_without_a_known_diagnosis_have_no_say(graph: Graph, cases: list[Case]) -> None:
    with behind(writing()) as (model, _):
        unknown = [replace(each, diseases=("OMIM:999999",)) for each in cases]
        assert judged(graph, Reranker(graph, model), unknown) == []


@pytest.mark.parametrize("reply", [Say("I cannot think of any."), Say('{"variants": [{"text": "no"}]}'), Fail(500)])
def test_a_model_that_writes_no_instruction_is_an_error_in_a_line(graph: Graph, reply: Reply) -> None:
    with behind(lambda body, number: reply) as (model, _), pytest.raises(LlmError):
        prompt_search.variants(Reranker(graph, model), 2)
