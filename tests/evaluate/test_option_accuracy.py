"""Arms that answer option questions, over HTTP and by scripts: accuracy, pairs, recall, and going on after a stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.scripted_models import scripted_options

from kgdx.answer.option_questions import OptionQuestion
from kgdx.api import Graph
from kgdx.cli import main
from kgdx.config import LlmAccess
from kgdx.errors import LlmError, UsageError
from kgdx.evaluate.generated_options import OptionSettings, generate_options
from kgdx.evaluate.metrics import wilson
from kgdx.evaluate.option_accuracy import ARMS, OptionEvaluation, arm_figures, option_arm, varied
from kgdx.evaluate.option_sets import permuted, write_option_questions
from kgdx.llm.budget import Budget, Meter
from kgdx.llm.chat import ChatModel
from kgdx.llm.connect import connect
from kgdx.render.terminal.console import not_run
from llm.server import Fail, Say, Server, answering, serving

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def asked(chinese: Graph) -> tuple[OptionQuestion, ...]:
    return tuple(generate_options(chinese, OptionSettings(each=5)))


@pytest.fixture
def server(asked: tuple[OptionQuestion, ...]) -> Iterator[Server]:
    with serving(answering(scripted_options("half-knows", asked))) as running:
        yield running


def evaluated(graph: Graph, questions: Any, kind: str, *arms: str, **how: Any) -> dict[str, Any]:
    model = scripted_options(kind, questions)
    return OptionEvaluation(graph, [option_arm(each) for each in arms], {model.name: model}, jobs=8, **how).run(
        questions
    )


def ran(args: list[str]) -> object:
    """The exit status of a command."""
    with pytest.raises(SystemExit) as ended:
        main(args)
    return ended.value.code


def accuracy(found: dict[str, Any]) -> dict[str, float]:
    return {name: told["accuracy"]["share"] for name, told in found["arms"].items()}


def test_who_knows_is_right_in_all_arms_and_who_guesses_gains_from_the_graph(chinese: Graph, asked: Any) -> None:
    arms = ("none", "question", "thought+graph")
    assert set(accuracy(evaluated(chinese, asked, "knows", "none")).values()) == {1.0}
    found = evaluated(chinese, asked, "guesses", *arms)
    assert accuracy(found)["thought+graph"] > accuracy(found)["none"]
    first = found["differences"][0]
    assert (first["arm"], first["against"]) == ("question", "none")
    assert first["wins"] + first["ties"] + first["losses"] == len(asked)


def test_who_half_knows_is_right_about_half_the_time_and_more_with_several_thoughts(chinese: Graph, asked: Any) -> None:
    found = accuracy(evaluated(chinese, asked, "half-knows", "none", "thought+graph", "parallel"))
    assert 0.3 < found["none"] < 0.9
    assert found["parallel"] >= found["thought+graph"] >= found["none"]


def test_an_answer_of_two_letters_is_counted_as_unreadable_and_wrong(chinese: Graph, asked: Any) -> None:
    told = evaluated(chinese, asked[:4], "unsure", "none")["arms"]["none"]
    assert (told["unreadable"], told["accuracy"]["share"]) == (1.0, 0.0)
    assert told["accuracy"]["high"] > 0, "a share of 0 has an interval"


def test_calls_tokens_and_documents_are_counted_by_arm(chinese: Graph, asked: Any) -> None:
    arms = evaluated(chinese, asked[:5], "knows", "none", "thought", "iterative")["arms"]
    assert [round(arms[name]["calls"]) for name in arms] == [1, 2, 5]
    assert arms["none"]["shown"] == 0 < arms["thought"]["shown"]
    assert arms["none"]["read"] < arms["thought"]["read"] < arms["iterative"]["read"]


def test_the_needed_document_is_recalled_by_what_searches_for_it(chinese: Graph) -> None:
    piece = next(each for each in chinese.texts.search("红斑热病", limit=1))
    question = OptionQuestion("q1", "红斑热病有什么特点？", {"A": "假想", "B": "真实"}, "A", (piece[0],))
    arms = evaluated(chinese, [question], "guesses", "none", "question")["arms"]
    assert arms["none"]["needed"] == {"n": 1, "found": 0.0, "shown": 0.0}
    assert arms["question"]["needed"] == {"n": 1, "found": 1.0, "shown": 1.0}


def test_questions_without_a_right_option_are_counted_and_not_asked(chinese: Graph, asked: Any) -> None:
    open_ = OptionQuestion("q0", "Which?", {"A": "x", "B": "y"})
    found = evaluated(chinese, [*asked[:2], open_], "knows", "none")
    assert (found["questions"], found["asked"], found["without_gold"]) == (3, 2, 1)
    with pytest.raises(UsageError, match="no question says which option is right"):
        evaluated(chinese, [open_], "knows", "none")


def test_an_arm_has_settings_and_may_ask_another_model(chinese: Graph, asked: Any) -> None:
    arm = option_arm("thought:documents=4:query=thought@tuned")
    assert (arm.policy.documents, arm.policy.query, arm.policy.facts, arm.model) == (4, "thought", False, "tuned")
    assert list(varied("thought", "documents=1,4")) == ["thought:documents=1", "thought:documents=4"]
    models: dict[str, ChatModel] = {kind: scripted_options(kind, asked) for kind in ("guesses", "knows")}
    arms = [option_arm("none"), option_arm("none@knows")]
    found = accuracy(OptionEvaluation(chinese, arms, models, jobs=4).run(asked))
    assert found["none"] < found["none@knows"] == 1.0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dense", "no arm is called 'dense'"),
        ("thought:k=4", "has no setting 'k'"),
        ("thought:documents", "has no setting 'documents'"),
        ("thought:documents=many", "documents"),
        ("thought:scale=9", "scale"),
    ],
)
def test_an_arm_that_cannot_be_is_refused_in_one_line(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        option_arm(name)
    assert all(option_arm(each).name == each for each in ARMS)


def test_an_arm_whose_source_is_not_indexed_is_not_run_and_the_others_are(chinese: Graph, asked: Any) -> None:
    model = scripted_options("knows", asked)
    lacking = option_arm("thought:sources=statpearls")
    ticks: list[int] = []
    with pytest.raises(UsageError, match="no source of texts is called 'statpearls'"):
        OptionEvaluation(chinese, [lacking], {model.name: model}, progress=lambda: ticks.append(1)).run(asked)
    assert not ticks
    result = OptionEvaluation(chinese, [option_arm("none"), lacking], {model.name: model}).run(asked)
    assert list(result["arms"]) == ["none"] and not result["differences"] and not result["open"]
    assert "no source of texts is called 'statpearls'" in result["not_run"][lacking.name]
    assert [each for each in not_run(result) if each.startswith("not run (no source of texts")]


def test_a_spent_budget_ends_it_and_what_is_finished_is_not_asked_again(
    chinese: Graph, asked: Any, server: Server, tmp_path: Path
) -> None:
    arms = [option_arm("none"), option_arm("thought")]

    def run(calls: int | None) -> dict[str, Any]:
        model = connect(LlmAccess("m", server.url), meter=Meter(budget=Budget(calls=calls)))
        return OptionEvaluation(chinese, arms, {"m": model}, jobs=2).run(asked, tmp_path / "run")

    with pytest.raises(LlmError, match="budget"):
        run(11)
    part = json.loads((tmp_path / "run" / "summary.json").read_text("utf-8"))
    assert part["open"] > 0
    asked_before = len(server.requests)
    whole = run(None)
    assert whole["open"] == 0 and whole["arms"]["none"]["n"] == len(asked)
    assert len(server.requests) - asked_before < 3 * len(asked)
    assert run(0) == whole, "nothing is asked any more"


def test_an_endpoint_that_refuses_ends_it_in_one_line(chinese: Graph, asked: Any) -> None:
    with serving(lambda body, number: Fail(401)) as refusing:
        model = connect(LlmAccess("m", refusing.url, attempts=1))
        with pytest.raises(LlmError, match=r"cannot be asked \(denied\)"):
            OptionEvaluation(chinese, [option_arm("none")], {"m": model}, jobs=2).run(asked)


def test_many_questions_are_under_way_at_the_same_time(chinese: Graph, asked: Any) -> None:
    with serving(answering(scripted_options("knows", asked)), latency=(0.2, 0.2)) as slow:
        model = connect(LlmAccess("m", slow.url, concurrency=32))
        OptionEvaluation(chinese, [option_arm("none")], {"m": model}, jobs=32).run(asked)
    assert slow.busiest > min(8, len(asked) // 2)


def test_a_killed_evaluation_goes_on_and_asks_nothing_twice(chinese_store: Path, asked: Any, tmp_path: Path) -> None:
    """Over real HTTP: the process is killed; at most what was under way is asked again."""
    answer, file, out = answering(scripted_options("knows", permuted(asked))), tmp_path / "q.jsonl", tmp_path / "run"
    file.write_text("\n".join(write_option_questions(asked)), encoding="utf-8")

    def slow(body: Any, number: int) -> Say | Fail | Any:
        time.sleep(0.05)
        return answer(body, number)

    with serving(slow) as running:
        environ = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "KGDX_LLM_BASE_URL": running.url,
            "KGDX_LLM_MODEL": "m",
            "KGDX_HOME": str(tmp_path / "home"),
        }
        command = [sys.executable, "-m", "kgdx", "evaluate", "options", str(file), "--arms", "none,thought", "--json"]
        command += ["--out", str(out), "--jobs", "2", "--max-calls", "1000", "--store", str(chinese_store)]
        child = subprocess.Popen(command, env=environ, start_new_session=True, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while len(running.requests) < 9 and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        done = subprocess.run(command, env=environ, capture_output=True, timeout=120, check=True)
        sent = [json.dumps(body["messages"], ensure_ascii=False) for body in running.requests]
    found = json.loads(done.stdout)
    assert found["open"] == 0 and found["arms"]["thought"]["accuracy"]["share"] == 1.0
    assert len(sent) - len(set(sent)) <= 2, "at most what the kill cut off is asked again"


def test_the_command_prints_the_table_and_writes_a_page(
    chinese_store: Path, asked: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, page = tmp_path / "q.jsonl", tmp_path / "page.html"
    file.write_text("\n".join(write_option_questions(asked)) + "\n{cut", encoding="utf-8")
    args = ["evaluate", "options", str(file), "--llm", "m", "--arms", "none,thought+graph", "--max-calls", "10000"]
    with serving(answering(scripted_options("half-knows", asked)), monkeypatch):
        assert ran([*args, "--vary", "documents=1,8", "--store", str(chinese_store), "--html", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "thought+graph:documents=8" in shown and "difference" in shown and "1 row refused" in shown
    assert "questions share a run of words" in " ".join(shown.split())
    assert "<svg" in page.read_text("utf-8")


def test_a_model_needs_a_budget(
    chinese_store: Path, asked: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text("\n".join(write_option_questions(asked)), encoding="utf-8")
    monkeypatch.setenv("KGDX_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    assert ran(["evaluate", "options", str(file), "--llm", "m", "--store", str(chinese_store)]) == 2
    assert "nothing limits what that costs" in capsys.readouterr().err


def test_intervals_are_over_subjects_and_of_shares_of_one_by_wilson() -> None:
    rows = [
        {"item": str(n), "right": True, "letter": "A", "ms": 1.0, "needed_shown": None, "needed_found": None}
        | dict.fromkeys(("shown", "calls", "read", "written", "cost"), 0)
        | {"error": ""}
        for n in range(10)
    ]
    questions = {str(n): OptionQuestion(str(n), "?", {"A": "x", "B": "y"}, "A") for n in range(10)}
    told = arm_figures(rows, questions)
    assert told is not None and told["accuracy"]["low"] == pytest.approx(wilson(10, 10)[0])
    assert arm_figures([], questions) is None
