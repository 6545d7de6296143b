"""Questions that a language model plans, over HTTP and in the page; the model answers by script, or not at all."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import require_module

require_module("fastapi", "serve")
require_module("httpx2", "serve-test")
require_module("openai", "llm")

import httpx2  # noqa: E402
from benchmarks.scripted_models import scripted  # noqa: E402

from kgdx.evaluate.question_sets import BenchmarkQuestion  # noqa: E402
from llm.server import Body, Fail, Reply, Say, Script, answering  # noqa: E402
from llm.server import serving as model_serving  # noqa: E402

from .conftest import Running, serving  # noqa: E402
from .test_server import workers  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.heavy

QUESTION = "Which genes are associated with ataxia-telangiectasia?"
RIGHT = answering(
    scripted(
        "right", [BenchmarkQuestion(id="q", question=QUESTION, action="get_gene", entities=("ataxia-telangiectasia",))]
    )
)


@contextmanager
def asking(graph: Path, script: Script, folder: Path, **settings: str) -> Iterator[Running]:
    """A server whose language model follows a script, and is paid for nothing that was said before."""
    with model_serving(script) as model:
        environ = {**os.environ, "KGDX_LLM_BASE_URL": model.url, "KGDX_LLM_MODEL": "scripted", "KGDX_LLM_API_KEY": "x"}
        environ |= {"KGDX_CACHE": str(folder), "KGDX_LLM_ATTEMPTS": "1", **settings}
        with serving(graph, "--rate", "0", environ=environ) as running:
            yield running


def ask(server: Running, question: str = QUESTION, policy: str = "planner") -> dict[str, Any]:
    given = {"question": question, "policy": policy}
    response = httpx2.post(f"{server.address}/api/v1/ask", json=given, timeout=120)
    assert response.status_code == 200, response.text
    document: dict[str, Any] = response.json()
    return document


def test_a_model_plans_in_rounds_that_are_told_as_they_happen(default_graph: Path, tmp_path: Path) -> None:
    with asking(default_graph, RIGHT, tmp_path) as server:
        assert httpx2.get(f"{server.address}/api/v1/about").json()["model"] == "scripted"
        given = {"question": QUESTION, "policy": "planner"}
        told = httpx2.post(f"{server.address}/api/v1/ask/events", json=given, timeout=120).text.split("\n\n")
    events = [part.split("\n") for part in told if part.startswith("event:")]
    steps = [json.loads(lines[1][6:]) for lines in events if lines[0] == "event: step"]
    plans = [each["data"]["artifact"] for each in steps if (each["kind"], each["name"]) == ("result", "read_plan")]
    assert [plan["round"] for plan in plans] == [1], "rules have looked up what it would plan"
    assert "get_gene" in [each["name"] for each in steps if each["kind"] == "wish"]
    said = "".join(json.loads(lines[1][6:]) for lines in events if lines[0] == "event: text")
    assert "ATM" in said and events[-1][0] == "event: answer"
    assert "ataxia" not in server.log.lower()


@pytest.mark.parametrize(
    ("script", "settings", "says"),
    [
        (lambda body, number: Fail(500, "boom"), {}, "gives no answer"),
        (lambda body, number: Fail(401, "no such key"), {}, "KGDX_LLM_API_KEY"),
        (RIGHT, {"KGDX_LLM_MAX_CALLS": "1"}, "budget"),
    ],
    ids=["down", "denied", "budget"],
)
def test_a_model_that_fails_leaves_an_answer_that_says_so(
    default_graph: Path, tmp_path: Path, script: Script, settings: dict[str, str], says: str
) -> None:
    with asking(default_graph, script, tmp_path, **settings) as server:
        document = ask(server)
    assert any(says in f"{issue['message']} {issue['remedy']}" for issue in document["issues"]), document["issues"]
    assert "ATM" in json.dumps(document["pack"])


class Hanging:
    """A model that answers nobody before it is released."""

    def __init__(self) -> None:
        self.asked, self.released = threading.Semaphore(0), threading.Event()

    def __call__(self, body: Body, number: int) -> Reply:
        self.asked.release()
        self.released.wait(120)
        return RIGHT(body, number)


def test_a_model_that_hangs_stops_no_diagnosis_and_no_other_question(default_graph: Path, tmp_path: Path) -> None:
    hangs = Hanging()
    found: list[dict[str, Any]] = []
    with asking(default_graph, hangs, tmp_path) as server:
        questions = [threading.Thread(target=lambda: found.append(ask(server))) for _ in range(3)]
        for question in questions:
            question.start()
        assert hangs.asked.acquire(timeout=60)  # a client has half of the processes that ask a model: here one
        given = {"observed": ["HP:0001250"]}
        for _ in range(3):
            assert httpx2.post(f"{server.address}/api/v1/diagnose", json=given, timeout=60).status_code == 200
        assert "ATM" in json.dumps(ask(server, policy="rules"))
        assert not found
        hangs.released.set()
        for question in questions:
            question.join(120)
    assert len(found) == 3 and all("ATM" in json.dumps(each["answer"]) for each in found)


def test_streams_that_are_left_while_a_model_hangs_cost_no_process(default_graph: Path, tmp_path: Path) -> None:
    hangs = Hanging()
    given = {"question": QUESTION, "policy": "planner"}
    with asking(default_graph, hangs, tmp_path) as server:
        before: list[int] = []
        for _ in range(6):
            with httpx2.stream("POST", f"{server.address}/api/v1/ask/events", json=given, timeout=120) as stream:
                pieces = stream.iter_bytes()  # which ends the stream when nothing holds it
                next(pieces)
                assert hangs.asked.acquire(timeout=60)
                before = before or workers(server.process.pid)
        hangs.released.set()
        assert "ATM" in json.dumps(ask(server)["answer"])
        assert workers(server.process.pid) == before


@pytest.mark.chromium
def test_rounds_and_failures_are_shown_in_the_page(
    default_graph: Path, browser_page: Page, tmp_path: Path, screenshots: Path
) -> None:
    from playwright.sync_api import expect

    works = True

    def script(body: Body, number: int) -> Reply:
        return RIGHT(body, number) if works else Fail(503, "overloaded")

    page = browser_page
    with asking(default_graph, script, tmp_path) as server:
        page.goto(server.address)
        expect(page.locator("#state")).to_contain_text("graph of", timeout=30_000)
        page.get_by_label("Answered").select_option(label="with steps that scripted plans")
        page.get_by_label("A question").fill(QUESTION)
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.locator("#result .kgdx-report")).to_contain_text("ATM", timeout=60_000)
        expect(page.get_by_role("alert")).to_be_hidden()
        page.locator("#steps-box summary").click()
        expect(page.locator("#steps .round").first).to_contain_text("Round 1")
        expect(page.locator("#steps .action", has_text="Genes")).to_contain_text("ataxia-telangiectasia → 2 rows")
        page.screenshot(path=screenshots / "serve-planner-answer.png")
        works = False
        page.get_by_label("A question").fill("Which phenotypes does ataxia-telangiectasia have?")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text("overloaded", timeout=60_000)
        expect(page.locator("#result .kgdx-report")).to_contain_text("Ataxia")
        page.screenshot(path=screenshots / "serve-model-down.png")


def test_a_model_thinks_before_retrieval_and_chooses_an_option_or_names_diseases(
    default_graph: Path, tmp_path: Path
) -> None:
    def script(body: Body, number: int) -> Reply:
        if "Identify the relevant" in body["messages"][1]["content"]:
            return Say("ataxia-telangiectasia")
        names = "Diagnosis:" in body["messages"][0]["content"]
        return Say("Diagnosis: ataxia-telangiectasia" if names else "It is associated with ATM [E1].\nAnswer: B")

    with asking(default_graph, script, tmp_path) as server:
        asked, diagnosed = (f"{server.address}/api/v1/{path}" for path in ("ask", "diagnose"))
        given = {"question": QUESTION, "policy": "thought", "options": {"A": "FBN1", "B": "ATM"}}
        document = httpx2.post(asked, json=given, timeout=120).json()
        assert document["option"] == {"letter": "B", "text": "ATM", "votes": {"B": 1}, "answers": 1}
        assert "relation" in {each["kind"] for each in document["pack"]["items"]}
        for wrong in ({"policy": "rules"}, {"options": {"A": "FBN1"}}):
            refused = httpx2.post(asked, json=given | wrong, timeout=120)
            assert refused.status_code in (400, 422), refused.text
        given = {"observed": ["HP:0001251", "HP:0001009"], "thought": True}
        document = httpx2.post(diagnosed, json=given, timeout=120).json()
        assert document["policy"] == "thought" and document["candidates"][0]["retrieved_rank"]
        both = httpx2.post(diagnosed, json=given | {"rerank": True}, timeout=120)
        assert both.status_code == 400 and "cannot both be asked for" in both.text


@pytest.mark.chromium
def test_the_page_asks_and_names_diseases_after_a_thought(
    default_graph: Path, browser_page: Page, tmp_path: Path, screenshots: Path
) -> None:
    """The choice is there where a model is; what it cites stands with the diseases that it names."""
    from playwright.sync_api import expect

    def script(body: Body, number: int) -> Reply:
        told = body["messages"][1]["content"]
        if "Identify the relevant" in told:
            return Say("ataxia-telangiectasia")
        if "Diagnosis:" in body["messages"][0]["content"]:
            mark = re.findall(r'"(E\d+)": "[^"]*ATM', told)[0]
            return Say(f"ATM is its gene in ataxia-telangiectasia [{mark}].\nDiagnosis: ataxia-telangiectasia")
        return Say("It is associated with ATM [E1].")

    page = browser_page
    with asking(default_graph, script, tmp_path) as server:
        page.goto(server.address)
        expect(page.locator("#state")).to_contain_text("graph of", timeout=30_000)
        expect(page.locator("#no-model")).to_be_hidden()
        page.get_by_label("Answered").select_option("thought")
        page.get_by_label("A question").fill(QUESTION)
        page.locator(".ask").screenshot(path=screenshots / "serve-answering.png")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.locator("#result .kgdx-report")).to_contain_text("ATM", timeout=60_000)
        page.locator("#steps-box summary").click()
        expect(page.locator("#steps .action").first).to_be_visible()
        page.get_by_role("button", name="Let scripted think and name").click()
        expect(page.locator("#reranking")).to_contain_text("Named by scripted after a thought: 1", timeout=60_000)
        first = page.locator("#ranking li").first
        first.locator("button.row").click()
        expect(first).to_contain_text("ATM is its gene in ataxia-telangiectasia [E")
        page.evaluate("window.scrollTo(0, 0)")
        page.screenshot(path=screenshots / "serve-thought.png")
        page.get_by_role("button", name="中文").click()
        expect(page.get_by_role("button", name="由 scripted 思考并提名")).to_be_visible()
        expect(page.get_by_label("回答方式").locator("option:checked")).to_have_text("scripted 先思考再检索")
