"""The commands that measure answers: a question set from the graph, recall by it, and answers in pairs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.scripted_models import scripted

from cli.conftest import Run
from conftest import require_module
from kgdx.evaluate.question_sets import read_questions
from llm.server import answering, serving


@pytest.fixture
def store(zh_graph: Path) -> Path:
    return zh_graph


@pytest.fixture
def asked(store: Path, invoke: Callable[..., Run], tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    done = invoke("evaluate", "questions", "--out", str(path), "--store", str(store), "--language", "zh")
    assert (done.returncode, done.stdout) == (0, "")
    assert "questions written to" in done.stderr
    return path


def test_questions_are_made_from_the_graph(asked: Path, store: Path, invoke: Callable[..., Run]) -> None:
    questions = read_questions(asked)
    assert {question.language for question in questions} == {"zh"}
    assert "甲热" in {name for question in questions for name in question.entities}
    shown = invoke("evaluate", "questions", "--store", str(store), "--language", "zh")
    assert shown.stdout == asked.read_text("utf-8")


def test_recall_is_shown_by_split_and_action(
    asked: Path, store: Path, invoke: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_module("openai", "llm")
    details = tmp_path / "details.jsonl"
    with serving(answering(scripted("right", read_questions(asked))), monkeypatch) as server:
        command = ("evaluate", "recall", str(asked), "--llm", "planner", "--store", str(store))
        done = invoke(*command, "--details", str(details))
    assert done.returncode == 0, done.stderr
    for words in ("answered by planner", "recall by action", "held_out"):
        assert words in done.stdout
    rows = [json.loads(line) for line in details.read_text("utf-8").splitlines()]
    assert {row["recall"] for row in rows} == {1.0}
    with serving(answering(scripted("right", read_questions(asked))), monkeypatch) as server:
        monkeypatch.setenv("KGDX_CACHE", str(tmp_path / "cache"))
        invoke(*command, "--max-calls", "3")
        assert len(server.requests) == 3
    told = invoke("evaluate", "recall", str(asked), "--split", "tuned", "--json", "--store", str(store))
    found = json.loads(told.stdout)
    assert found["model"] is None and found["split"].keys() == {"tuned"} and "questions" not in found


def test_answers_are_compared_over_http_and_judged(
    asked: Path, store: Path, invoke: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_module("openai", "llm")
    out = tmp_path / "run"
    judging = scripted("judge", read_questions(asked))
    with serving(answering(judging)) as server, serving(answering(judging)) as other:
        monkeypatch.setenv("KGDX_LLM_BASE_URL", server.url)
        monkeypatch.setenv("KGDX_LLM_API_KEY", "secret")
        monkeypatch.setenv("KGDX_JUDGE_BASE_URL", other.url)
        command = ("evaluate", "answers", str(asked), "--out", str(out), "--store", str(store), "--split", "tuned")
        done = invoke(*command, "--llm", "planner", "--judge", "grader")
        assert done.returncode == 0, done.stderr
        assert "judged by grader judge@1" in done.stdout and "w/t/l" in done.stdout
        assert server.keys and set(server.keys) == {"Bearer secret"}
        assert other.keys and set(other.keys) == {"Bearer none"}
        before = len(server.requests) + len(other.requests)
        again = invoke(*command, "--llm", "planner", "--judge", "grader", "--json")
        assert len(server.requests) + len(other.requests) == before
    found = json.loads(again.stdout)
    assert found["all"]["losses"] == 0 and found["all"]["n"] == found["questions"]
    assert found["warnings"] == []
    changed = invoke(*command, "--llm", "another", "--judge", "none")
    assert changed.returncode == 2 and "is of another run" in changed.stderr
    assert "remove that file to begin anew" in " ".join(changed.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("recall", "none.jsonl"), 5, "cannot be read"),
        (("recall", "{set}", "--llm", "model"), 2, "no endpoint is set"),
        (("recall", "{set}", "--split", "dev"), 2, "no question is of the split"),
        (("answers", "{set}", "--out", "{out}", "--llm", "gguf:m"), 2, "no language model is named"),
        (
            ("answers", "{set}", "--out", "{out}", "--llm", "gguf:m", "--judge", "none", "--max-cost", "1"),
            2,
            "no prices are set",
        ),
        (("questions", "--language", "fr"), 2, "Invalid value for '--language'"),
        (("questions", "--source", "nowhere"), 2, "no disease of the source"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    asked: Path,
    store: Path,
    invoke: Callable[..., Run],
    tmp_path: Path,
    arguments: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    out = tmp_path / "out"
    words = [word.format(set=asked, out=out) for word in arguments]
    done = invoke("evaluate", *words, "--store", str(store))
    assert (done.returncode, done.stderr.count("\n")) == (code, 1)
    assert said in done.stderr
    shutil.rmtree(out, ignore_errors=True)
