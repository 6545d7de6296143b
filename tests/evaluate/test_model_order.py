"""Layer two of a comparison: scripted models re-order what was retrieved, and can do nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluate.test_retrieval_accuracy import Comparison
from kgdx.api import Graph
from kgdx.case import Case, Finding
from kgdx.errors import LlmError
from kgdx.evaluate.labels import Labels
from kgdx.evaluate.retrieval_accuracy import Arm, ModelAlone, ModelOrder, RetrievedCases
from kgdx.evaluate.runner import Runner, kept
from kgdx.llm.chat import ChatModel, Completion, OnText, Request, Usage
from kgdx.policies.rerank import RerankPolicy
from kgdx.rank.retrieval import Fused

MARKS = re.compile(r'"id": "(C\d+)"')


class Saying(ChatModel):
    """Answers with what a function makes of the ids that it was shown, until its calls are used up."""

    def __init__(self, answer: Callable[[list[str]], str], calls: int = 1000) -> None:
        self._answer, self.left, self.asked = answer, calls, 0

    @property
    def name(self) -> str:
        return "scripted"

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        if self.left == 0:
            raise LlmError("the budget is spent", hint="raise it", kind="budget")
        self.left, self.asked = self.left - 1, self.asked + 1
        shown = list(dict.fromkeys(MARKS.findall(request.messages[-1].content)))
        return Completion(self._answer(shown), "scripted", Usage(100, 10))


def turned(shown: list[str]) -> str:
    return json.dumps({"order": shown[::-1]})


@pytest.fixture
def measure(graph: Graph) -> Callable[[ChatModel], Comparison]:
    method = Fused.open(graph.snapshot, graph.ranker.model)

    def make(model: ChatModel) -> Comparison:
        order = ModelOrder(graph, model, RerankPolicy(candidates=3), prices=(1.0, 2.0))
        arms = [Arm("fused", method, kept=3), Arm("asked", method, order, 3)]
        labels = Labels(graph.ranker, graph.snapshot)
        return Comparison(RetrievedCases(arms, graph.ranker, graph.snapshot, labels))

    return make


Measure = Callable[[ChatModel], Comparison]
CASES = [Case(id, (Finding("HP:0001250"),), diseases=("OMIM:100001",)) for id in ("a", "b")]


def test_a_model_moves_the_candidates_that_were_retrieved(measure: Measure) -> None:
    measured = measure(Saying(turned))
    measured.run(CASES)
    plain, asked = (measured.found[name][0] for name in ("fused", "asked"))
    assert (plain["rank"], asked["retrieved"], asked["rank"]) == (1, 1, 3)
    assert asked["stage"] == "lost in re-ranking"
    orders = measured.report((1, 3))["methods"]["asked"]["orders"]
    assert (orders["asked"], orders["failed"], orders["omitted"]) == (2, 0, 0)


@pytest.mark.parametrize(
    "answer", ["I believe it is the second one.", "", '{"order": ["C9", "OMIM:100001"]}'], ids=["prose", "none", "own"]
)
def test_the_order_of_retrieval_stands_where_a_model_gives_none(measure: Measure, answer: str) -> None:
    measured = measure(Saying(lambda shown: answer))
    measured.run(CASES)
    assert [each["rank"] for each in measured.found["asked"]] == [each["rank"] for each in measured.found["fused"]]
    assert measured.report((1,))["methods"]["asked"]["orders"]["failed"] > 0


def test_ids_that_were_refused_and_left_out_are_counted(measure: Measure) -> None:
    measured = measure(Saying(lambda shown: json.dumps({"order": [shown[1], shown[1], "C77"]})))
    measured.run(CASES[:1])
    orders = measured.report((1,))["methods"]["asked"]["orders"]
    assert (orders["unknown"], orders["repeated"], orders["omitted"]) == (1, 1, 2)


def test_a_spent_budget_ends_the_evaluation_which_goes_on_later(measure: Measure, tmp_path: Path) -> None:
    many = [Case(str(n), (Finding("HP:0001250"),), diseases=("OMIM:100001",)) for n in range(70)]
    about = {"what": "retrieval"}
    with kept(tmp_path / "run", about) as journal:
        runner = Runner(journal)
        measure(Saying(turned, calls=66)).run(many, runner)
    with pytest.raises(LlmError, match="the budget is spent"):
        runner.check()
    rest = Saying(turned)
    measured = measure(rest)
    with kept(tmp_path / "run", about) as journal:
        measured.run(many, Runner(journal))
    assert rest.asked == 4
    assert {each["rank"] for each in measured.found["asked"]} == {3}


def test_what_a_model_names_without_the_graph_is_an_arm(graph: Graph) -> None:
    named, labels = graph.ranker.names.candidate(0), Labels(graph.ranker, graph.snapshot)
    saying = Saying(lambda shown: f"Diagnosis: Brain cloud\nDiagnosis: {named.name}")
    arms = [Arm("alone", Fused.open(graph.snapshot, graph.ranker.model), ModelAlone(graph, saying))]
    measured = Comparison(RetrievedCases(arms, graph.ranker, graph.snapshot, labels))
    measured.run([Case(id, CASES[0].findings, diseases=(id,)) for id in (named.id, graph.ranker.names.candidate(1).id)])
    assert [each["rank"] for each in measured.found["alone"]] == [1, None]


def test_the_cost_is_estimated_before_anything_is_sent(graph: Graph) -> None:
    model = Saying(turned)
    order = ModelOrder(graph, model, RerankPolicy(candidates=3), prices=(1000.0, 1000.0))
    estimate = order.estimate(CASES, 20)
    assert (estimate.patients, estimate.calls, model.asked) == (20, 20, 0)
    assert estimate.cost > 0
