"""`kgdx ask` as a user meets it: by rules, with a model over HTTP, and with what can go wrong."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from llm.server import Body, Fail, Reply, Say, serving

Run = subprocess.CompletedProcess[str]
Invoke = Callable[..., Run]
pytestmark = pytest.mark.usefixtures("own_model")
QUESTION = "甲热吃什么药"
PLAN = json.dumps({"thought": "药物。", "actions": [{"action": "get_drug", "diseases": ["甲热"]}]}, ensure_ascii=False)


def planned(body: Body, number: int) -> Reply:
    return (Say(PLAN), Say("[]"), Say("甲热用甲片[E1]。"))[number]


def test_a_chinese_name_that_is_not_there_leads_to_the_sources(invoke: Invoke) -> None:
    done = invoke("ask", "百日咳有哪些症状？")
    assert done.returncode == 0
    assert "中文名称来自含有它们的来源：kgdx sources" in " ".join(done.stdout.split())


def test_a_model_plans_and_writes(invoke: Invoke, zh_graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(planned, monkeypatch) as server:
        done = invoke("ask", QUESTION, "--llm", "m", "--store", str(zh_graph))
    assert done.returncode == 0
    assert done.stderr == f"asking m at {server.url}\n"
    assert "  Round 1  药物。\n    get_drug  甲热  3 rows\n  Round 2: nothing more to look up\n" in done.stdout
    assert "planner with m (3 calls, 45 tokens)." in done.stdout


def test_json_is_one_document_and_holds_the_models_words_on_request_alone(
    invoke: Invoke, zh_graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(lambda body, number: planned(body, number % 3), monkeypatch):
        plain, whole = (
            json.loads(invoke("ask", QUESTION, "--llm", "m", "--json", "--store", str(zh_graph), *more).stdout)
            for more in ((), ("--trace",))
        )
    assert plain["schema"] == "kgdx.answer/3"
    assert plain["answer"]["cited"] == ["E1"]
    assert [each["round"] for each in plain["rounds"]] == [0, 1, 2]
    assert "药物。" not in json.dumps(plain, ensure_ascii=False)
    assert "药物。" in json.dumps(whole, ensure_ascii=False)


@pytest.mark.parametrize(
    ("reply", "line"),
    [(Fail(401, "bad key"), "answers 401: bad key: check"), (Fail(503, "busy"), "gives no answer in 1 try (503 busy)")],
)
def test_a_model_that_cannot_be_asked_is_named_beside_the_rules_answer(
    invoke: Invoke, zh_graph: Path, monkeypatch: pytest.MonkeyPatch, reply: Reply, line: str
) -> None:
    with serving(lambda body, number: reply, monkeypatch):
        done = invoke("ask", QUESTION, "--llm", "m", "--store", str(zh_graph))
    shown = " ".join(done.stdout.split())
    assert done.returncode == 0
    assert "甲热的推荐药物有甲片[E1]。" in shown
    assert line in shown
    assert "(0 calls, 1 failed); the answer by template." in shown


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        ((QUESTION, "--llm", "m"), 2, "KGDX_LLM_BASE_URL"),
        ((QUESTION, "--language", "fr"), 2, "'fr' is not one of 'en', 'zh'"),
        ((QUESTION, "--policy", "magic"), 2, "no policy 'magic'"),
        ((" ",), 2, "the question is empty"),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    invoke: Invoke, zh_graph: Path, arguments: tuple[str, ...], code: int, line: str
) -> None:
    done = invoke("ask", *arguments, "--store", str(zh_graph))
    assert (done.returncode, done.stdout) == (code, "")
    assert line in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_answer_is_saved_and_can_be_proved(invoke: Invoke, zh_graph: Path, tmp_path: Path) -> None:
    copy = str(shutil.copytree(zh_graph, tmp_path / "copy", ignore=shutil.ignore_patterns(".*")))
    done = invoke("ask", QUESTION, "--save", "--store", copy)
    run = done.stderr.strip().removeprefix("saved as ")
    assert run.startswith("run:")
    (kept,) = json.loads(invoke("run", "run_by_id", f"run_id={run}", "--json", "--store", copy).stdout)
    assert kept["policy"] == "rules"
    assert QUESTION not in kept["trace"]


@pytest.mark.parametrize("policy", ["planner", "tags", "thought"])
def test_a_diagnosis_keeps_to_its_calls(invoke: Invoke, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda body, number: Say("I would think further."), monkeypatch) as server:
        done = invoke("diagnose", "seizures", "--policy", policy, "--llm", "m", "--max-calls", "1", "--json")
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 1
    assert json.loads(done.stdout)["candidates"]
