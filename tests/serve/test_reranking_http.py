"""A language model re-orders a diagnosis or reads its text, over HTTP and on the page; where it fails, rules stand."""

from __future__ import annotations

import os
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

from llm.server import Fail, Reply, Say, Script  # noqa: E402
from llm.server import serving as model_serving  # noqa: E402
from policies.rerankers import backwards, by, perfect  # noqa: E402
from policies.test_second_reader import LIMP, NOTE, writes  # noqa: E402

from .conftest import Running, serving, violations  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.heavy

PATIENT = {"observed": ["HP:0001250", "HP:0001252", "HP:0004322"]}


@contextmanager
def ordering(graph: Path, script: Script, folder: Path, **settings: str) -> Iterator[Running]:
    with model_serving(script) as model:
        environ = {**os.environ, "KGDX_LLM_BASE_URL": model.url, "KGDX_LLM_MODEL": "scripted", "KGDX_LLM_API_KEY": "x"}
        environ |= {"KGDX_CACHE": str(folder), "KGDX_LLM_ATTEMPTS": "1", **settings}
        with serving(graph, "--rate", "0", "--ask-timeout", "60", environ=environ) as running:
            running.model = model
            yield running


def diagnose(server: Running, **given: Any) -> dict[str, Any]:
    return posted(server, "diagnose", {**PATIENT, **given})


def posted(server: Running, route: str, given: dict[str, Any]) -> dict[str, Any]:
    response = httpx2.post(f"{server.address}/api/v1/{route}", json=given, timeout=120)
    assert response.status_code == 200, response.text
    document: dict[str, Any] = response.json()
    return document


def ids(document: dict[str, Any]) -> list[str]:
    return [each["id"] for each in document["candidates"]]


def test_a_diagnosis_is_re_ordered_where_that_is_asked_for(tiny_graph: Path, tmp_path: Path) -> None:
    with ordering(tiny_graph, by(backwards), tmp_path) as server:
        plain, found = diagnose(server), diagnose(server, rerank=True)
        few = diagnose(server, rerank=True, rerank_top=2, rerank_prompt="cot")
        page = httpx2.post(f"{server.address}/api/v1/page", json={"document": found}, timeout=60)
        wrong = httpx2.post(f"{server.address}/api/v1/diagnose", json={**PATIENT, "rerank": "m"}, timeout=60)
    assert ids(found) == ids(plain)[::-1]
    assert "reranking" not in plain and found["reranking"]["model"] == "scripted"
    assert [each["retrieved_rank"] for each in found["candidates"]] == [3, 2, 1]
    assert ids(few) == [ids(plain)[1], ids(plain)[0], ids(plain)[2]] and few["reranking"]["prompt"] == "cot"
    assert "re-ordered by scripted" in page.json()["html"]
    assert wrong.status_code == 422 or wrong.status_code == 400


def said(document: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    found = document["case"]["findings"]
    return [(each["label"], each["status"], each.get("method", ""), each.get("doubt", "")) for each in found]


BY_RULES = ("Fever", "absent", "exact", "")
READING = writes([LIMP], [{"number": 1, "reason": "past"}])


def test_a_text_is_read_by_the_model_too_where_that_is_asked_for(tiny_graph: Path, tmp_path: Path) -> None:
    note = {"text": f"Jane Roe (MRN 448812). {NOTE}"}
    with ordering(tiny_graph, READING, tmp_path, KGDX_LLM_DEIDENTIFY="1") as server:
        plain, read = posted(server, "extract", note), posted(server, "extract", {**note, "reader": True})
        assert len(server.model.requests) == 1 and "448812" not in str(server.model.requests)
        heeded = posted(server, "diagnose", {**note, "reader": True, "heed_doubts": True})
        ranked = posted(server, "diagnose", {**note, "reader": True, "rerank": True})
        why = posted(server, "explain", {**note, "reader": True, "disease": ranked["candidates"][0]["id"]})
        asked = posted(server, "consult", {**note, "reader": True})
        sent = [{"id": each["id"], "status": each["status"], "doubt": each["doubt"]} for each in read["findings"]]
        shown = posted(server, "diagnose", {**note, "findings": sent})
        refused = httpx2.post(f"{server.address}/api/v1/extract", json={**note, "reader": "m"}, timeout=60)
    added, doubted = ("Hypotonia", "present", "model scripted", ""), ("Seizure", "present", "variant", "past")
    assert said(plain) == [("Seizure", "present", "variant", ""), BY_RULES] and refused.status_code == 400
    assert said(read) == said(why) == said(ranked) == [doubted, BY_RULES, added] and len(read["findings"]) == 3
    assert len(read["unread"]) < len(plain["unread"])
    assert [each["where"] for each in read["issues"]] == ["reader", "HP:0001250"]
    assert said(heeded) == [("Seizure", "unknown", "corrected", "past"), BY_RULES, added]
    assert "Hypotonia" in str(asked["record"]["findings"]) and [each[3] for each in said(shown)] == ["past", "", ""]


@pytest.mark.parametrize(
    "answer", [Say("Lupus, without any doubt."), Fail(500), Say("late", stall=60)], ids=["prose", "no", "hangs"]
)
def test_a_model_that_fails_leaves_order_and_findings_as_they_were(
    tiny_graph: Path, tmp_path: Path, answer: Reply
) -> None:
    with ordering(tiny_graph, lambda body, number: answer, tmp_path, KGDX_LLM_TIMEOUT="1") as server:
        plain, found = diagnose(server), diagnose(server, rerank=True)
        ruled, *both = (posted(server, "diagnose", {"text": NOTE, "reader": each}) for each in (False, True))
        both.append(posted(server, "extract", {"text": NOTE, "reader": True}))
    assert ids(found) == ids(plain) and ids(both[0]) == ids(ruled)
    assert sum("gave no order" in each["message"] for each in found["issues"]) == 1
    for document in both:
        assert said(document) == said(ruled)
        assert [each["level"] for each in document["issues"] if each["where"] == "reader"] == ["warning"]


def test_without_a_model_that_is_a_problem_in_a_line(tiny_graph: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("KGDX_LLM")}
    with serving(tiny_graph, "--rate", "0", environ=environ) as server:
        planned = ("ask", {"question": "What is ptosis?", "policy": "planner"})
        ranked, read = ("diagnose", {**PATIENT, "rerank": True}), ("extract", {"text": NOTE, "reader": True})
        for route, given in (planned, ranked, read):
            found = httpx2.post(f"{server.address}/api/v1/{route}", json=given, timeout=60)
            assert found.status_code == 409 and "KGDX_LLM_MODEL" in found.json()["hint"]


@pytest.mark.chromium
@pytest.mark.parametrize(("width", "locale"), [(1280, "en-US"), (390, "zh-CN")])
def test_the_workbench_shows_what_the_model_adds_and_doubts(
    tiny_graph: Path, tmp_path: Path, chromium: Browser, screenshots: Path, width: int, locale: str
) -> None:
    from playwright.sync_api import expect

    with ordering(tiny_graph, READING, tmp_path) as server, chromium.new_context(locale=locale) as context:
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(server.address)
        expect(page.locator("#example-note")).to_be_visible(timeout=30_000)
        page.locator("#fresh").click()
        expect(page.locator("#read-box")).to_be_hidden()
        page.locator("#text").fill(NOTE)
        expect(page.locator("#chips li")).to_have_count(2)
        assert not server.model.requests  # nothing is sent unasked
        page.locator("#edit").click()
        page.locator("#read-again").click()
        expect(page.locator("#chips .by-model")).to_have_count(1, timeout=60_000)
        expect(page.locator("#note .by-model")).to_contain_text("hangs like a wet")
        expect(page.locator("#chips li:has(.doubted)")).to_contain_text("past" if locale == "en-US" else "已过去")
        expect(page.locator("#legend")).to_contain_text("scripted")
        page.screenshot(path=screenshots / f"bench-read-{width}.png", full_page=True)
        assert violations(page) == [] and page.locator("#main").bounding_box()["width"] <= width
        page.locator("#chips li:has(.doubted) .confirm").click()
        expect(page.locator("#note .doubted")).to_have_count(0)
        page.locator("#heed").check()
        page.locator("#read-again").click()
        expect(page.locator("#chips li.unknown .doubted")).to_have_count(1, timeout=60_000)
        page.locator("#edit").click()
        page.locator("#text").fill("No fever.")
        expect(page.locator("#legend .by-model")).to_have_count(0)  # another text is read by rules


@pytest.mark.chromium
def test_the_workbench_re_orders_at_a_click_and_says_from_where(
    tiny_graph: Path, tmp_path: Path, browser_page: Page
) -> None:
    from playwright.sync_api import expect

    with ordering(tiny_graph, perfect("Short stature with hypotonia"), tmp_path) as server:
        browser_page.goto(server.address)
        expect(browser_page.locator("#example-note")).to_be_visible(timeout=30_000)
        browser_page.get_by_role("button", name="New patient").click()
        browser_page.locator("#text").fill("seizures, hypotonia and short stature")
        button = browser_page.get_by_role("button", name="Re-order with scripted")
        expect(button).to_be_visible()
        expect(browser_page.locator("#ranking li")).to_have_count(3)
        button.click()
        first = browser_page.locator("#ranking li").first
        expect(first).to_contain_text("Short stature with hypotonia", timeout=60_000)
        expect(browser_page.locator("#reranking")).to_contain_text("Re-ordered by scripted: 2 moved")
        first.locator("button.row").click()
        expect(first).to_contain_text("Number 2 by score")
        expect(first).to_contain_text("is seen in it [E")
