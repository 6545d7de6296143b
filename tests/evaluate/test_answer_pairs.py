"""Answers with and without a graph: what is compared, what is kept, what a crash or a failing model leaves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from benchmarks.scripted_models import scripted

from evaluate.asking import from_evidence, questions
from kgdx.errors import KgdxError, LlmError, StoreError, UsageError
from kgdx.evaluate.answer_pairs import Budget, GraphAnswer, PairedEvaluation
from kgdx.evaluate.judges import AnswerGrade, ModelJudge, blinded
from kgdx.evaluate.question_sets import BenchmarkQuestion
from kgdx.llm.chat import ChatModel, Completion, OnText, Request


class Failing(ChatModel):
    """A model that fails at some of the requests, and counts all."""

    def __init__(self, model: ChatModel, fails: Callable[[int], LlmError | None]) -> None:
        self.model, self.fails, self.asked = model, fails, 0
        self.lock = threading.Lock()

    @property
    def name(self) -> str:
        return self.model.name

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        with self.lock:
            number, self.asked = self.asked, self.asked + 1
        if (error := self.fails(number)) is not None:
            raise error
        return await self.model.complete(request, on_text)


def evaluation(model: ChatModel | None = None, **more: Any) -> PairedEvaluation:
    known = questions(8)
    return PairedEvaluation(
        model or scripted("right", known),
        more.pop("with_graph", from_evidence),
        more.pop("judge", ModelJudge(scripted("judge", known))),
        **more,
    )


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_graph_that_has_the_whole_answer_wins_every_pair(tmp_path: Path) -> None:
    found = evaluation().run(questions(8), tmp_path / "run")
    assert (found["all"]["wins"], found["all"]["ties"], found["all"]["losses"]) == (8, 0, 0)
    assert found["all"]["treated"]["mean"] == 1.0
    assert found["all"]["control"]["mean"] == 0.5
    assert found["all"]["difference"]["low"] == 0.5
    assert {name: group["n"] for name, group in found["groups"]["split"].items()} == {"held_out": 4, "tuned": 4}
    assert found["spent"]["calls"] == 8 * 5
    assert found["failed"] == [] and found["stopped"] is None and found["open"] == 0
    rows = lines(tmp_path / "run" / "results.jsonl")
    assert [row["id"] for row in rows] == [f"q{number}" for number in range(8)]
    assert rows[0]["with"]["rounds"] == 1 and rows[0]["scores"] == {"with": 1.0, "without": 0.5}
    assert json.loads((tmp_path / "run" / "summary.json").read_text("utf-8")) == found


def test_finished_evaluation_asks_nothing_when_it_is_run_again(tmp_path: Path) -> None:
    first = Failing(scripted("right", questions()), lambda number: None)
    before = evaluation(first).run(questions(), tmp_path)
    second = Failing(scripted("right", questions()), lambda number: None)
    assert evaluation(second).run(questions(), tmp_path) == before
    assert (first.asked, second.asked) == (12, 0)


def test_another_judge_scores_the_answers_that_are_there(tmp_path: Path) -> None:
    never: Any = SimpleNamespace(name="strict", id="1", score=lambda *_: AnswerGrade(0.0, "never good enough"))
    answered = evaluation(judge=None).run(questions(), tmp_path)
    assert answered["all"] is None and answered["judge"] is None and answered["open"] == 0
    asked = Failing(scripted("right", questions()), lambda number: None)
    lenient = evaluation(asked).run(questions(), tmp_path)
    strict = evaluation(asked, judge=never).run(questions(), tmp_path)
    assert asked.asked == 0
    assert (lenient["all"]["wins"], strict["all"]["wins"], strict["all"]["ties"]) == (4, 0, 4)
    assert strict["warnings"] == ["the judge gave 0 to 8 of 8 answers: it tells few apart"]


def test_failed_pieces_are_counted_and_tried_again_by_the_next_run(tmp_path: Path) -> None:
    cut = LlmError("the stream broke off", kind="cut")
    failing = Failing(scripted("right", questions()), lambda number: cut if number in (0, 4) else None)
    found = evaluation(failing).run(questions(), tmp_path)
    assert [each["step"] for each in found["failed"]] == ["with", "without"]
    assert found["answered"] == {"with": 3, "without": 3}
    assert found["all"]["n"] == 2
    assert found["all"]["failures_as_0"]["n"] == 4
    again = evaluation(failing).run(questions(), tmp_path)
    assert again["failed"] == [] and again["all"]["n"] == 4 and again["all"]["failures_as_0"] is None


def test_answer_that_an_episode_could_not_give_counts_as_failed(tmp_path: Path) -> None:
    def broken(question: BenchmarkQuestion, model: ChatModel) -> GraphAnswer:
        return GraphAnswer("what the template says", error=KgdxError("the graph is gone"))

    found = evaluation(with_graph=broken).run(questions(2), tmp_path)
    assert found["all"] is None
    assert found["failed"][0] == {"id": "q0", "step": "with", "error": "the graph is gone"}


@pytest.mark.parametrize(("kind", "asked"), [("denied", 1), ("unreachable", 3)])
def test_model_that_cannot_be_asked_stops_the_evaluation(tmp_path: Path, kind: Any, asked: int) -> None:
    failing = Failing(scripted("right", []), lambda number: LlmError("no", hint="check it", kind=kind))
    with pytest.raises(LlmError, match="what is finished stays"):
        evaluation(failing).run(questions(8), tmp_path)
    assert failing.asked == asked
    assert json.loads((tmp_path / "summary.json").read_text("utf-8"))["stopped"].startswith("no")


def test_budget_ends_the_evaluation_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    counting = Failing(scripted("right", questions(8)), lambda number: None)
    found = evaluation(counting, budget=Budget(calls=12)).run(questions(8), tmp_path)
    assert found["stopped"] == "the budget of calls is spent"
    assert 12 <= found["spent"]["calls"] <= 14
    assert found["open"] == 6
    whole = evaluation(counting, budget=Budget(calls=100)).run(questions(8), tmp_path)
    assert whole["stopped"] is None and whole["all"]["n"] == 8
    assert counting.asked == 8 * 3


def test_questions_at_the_same_time_give_the_same_figures(tmp_path: Path) -> None:
    alone = evaluation().run(questions(8), tmp_path / "alone")
    together = evaluation(jobs=4).run(questions(8), tmp_path / "together")
    assert together == alone


def test_folder_of_another_evaluation_is_refused_with_what_differs(tmp_path: Path) -> None:
    evaluation().run(questions(2), tmp_path)
    with pytest.raises(UsageError, match="seed was 0 and is 1"):
        evaluation(seed=1).run(questions(2), tmp_path)
    with pytest.raises(UsageError, match="questions was"):
        evaluation().run(questions(3), tmp_path)


def test_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="no evaluation"):
        evaluation().run(questions(2), tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["thesis.tex"]


@pytest.mark.parametrize("end", [b"", b"{", b'{"question": "q9", "step": "with", "te', b"\xff\xfe"])
def test_line_that_a_crash_cut_off_is_dropped(tmp_path: Path, end: bytes) -> None:
    before = evaluation().run(questions(2), tmp_path)
    with (tmp_path / "journal.jsonl").open("ab") as stream:
        stream.write(end)
    asked = Failing(scripted("right", questions()), lambda number: None)
    assert evaluation(asked).run(questions(2), tmp_path) == before
    assert asked.asked == 0
    assert len(lines(tmp_path / "journal.jsonl")) == 9


def test_line_that_is_damaged_in_the_middle_is_named(tmp_path: Path) -> None:
    evaluation().run(questions(2), tmp_path)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b"{", b"", 1))
    with pytest.raises(StoreError, match=r"journal.jsonl is damaged \(line 1\)"):
        evaluation().run(questions(2), tmp_path)


def test_judge_of_its_own_answers_is_warned_of(tmp_path: Path) -> None:
    model = scripted("judge", questions(2))
    found = evaluation(model, judge=ModelJudge(model)).run(questions(2), tmp_path)
    assert found["warnings"] == ["the judge is the model that answers: models prefer their own words"]


def test_judge_is_told_nothing_of_where_an_answer_comes_from(tmp_path: Path) -> None:
    asked: list[Request] = []

    class Recorded(ChatModel):
        name = "recorded"

        async def complete(self, request: Request, on_text: Any = None) -> Completion:
            asked.append(request)
            return Completion('{"reason": "fine", "score": 0.5}', "recorded")

    evaluation(judge=ModelJudge(Recorded())).run(questions(8), tmp_path)
    prompts = [request.messages[-1].content for request in asked]
    assert len(asked) == 16 and all(len(request.messages) == 2 for request in asked)
    assert not any("[E1]" in words or "graph" in words.casefold() for words in prompts)
    first = [index for index in range(0, 16, 2) if "可能是" in prompts[index]]
    assert 0 < len(first) < 8, "the order is drawn for each question"


@pytest.mark.parametrize(
    ("said", "kind"),
    [('{"reason": "x", "score": 7}', "malformed"), ("0.9", "malformed"), ('{"score": NaN, "reason": ""}', "malformed")],
)
def test_score_that_is_none_is_a_failure_of_the_judge_and_no_zero(tmp_path: Path, said: str, kind: str) -> None:
    class Odd(ChatModel):
        name = "odd"

        async def complete(self, request: Request, on_text: Any = None) -> Completion:
            return Completion(said, "odd")

    found = evaluation(judge=ModelJudge(Odd())).run(questions(1), tmp_path)
    assert found["all"] is None
    assert [each["step"] for each in found["failed"]] == ["judge with", "judge without"]
    assert {record.get("kind") for record in lines(tmp_path / "journal.jsonl")} == {None, kind}


@pytest.mark.parametrize(
    ("answer", "blind"),
    [
        ("发热 [E1]、咳嗽 [E2, E3]。", "发热、咳嗽。"),
        ("发热【E1】。［无依据］", "发热。"),
        ("Type E1 fever [see below].", "Type E1 fever [see below]."),
    ],
)
def test_marks_are_taken_out_and_other_brackets_stay(answer: str, blind: str) -> None:
    assert blinded(answer) == blind
