"""A language model re-orders a diagnosis over HTTP and in the workbench; where it gives no order, nothing moves."""

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

from llm.server import Fail, Script  # noqa: E402
from llm.server import serving as model_serving  # noqa: E402
from policies.rerankers import USELESS, backwards, by, perfect  # noqa: E402

from .conftest import Running, serving  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.heavy

PATIENT = {"observed": ["HP:0001250", "HP:0001252", "HP:0004322"]}


@contextmanager
def ordering(graph: Path, script: Script, folder: Path) -> Iterator[Running]:
    with model_serving(script) as model:
        environ = {**os.environ, "KGDX_LLM_BASE_URL": model.url, "KGDX_LLM_MODEL": "scripted", "KGDX_LLM_API_KEY": "x"}
        environ |= {"KGDX_CACHE": str(folder), "KGDX_LLM_ATTEMPTS": "1"}
        with serving(graph, "--rate", "0", environ=environ) as running:
            yield running


def diagnose(server: Running, **given: Any) -> dict[str, Any]:
    response = httpx2.post(f"{server.address}/api/v1/diagnose", json={**PATIENT, **given}, timeout=120)
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


@pytest.mark.parametrize("script", [by(USELESS["prose"]), lambda body, number: Fail(500)])
def test_a_model_that_fails_leaves_the_order_of_retrieval(tiny_graph: Path, tmp_path: Path, script: Script) -> None:
    with ordering(tiny_graph, script, tmp_path) as server:
        plain, found = diagnose(server), diagnose(server, rerank=True)
    assert ids(found) == ids(plain)
    assert sum("gave no order" in each["message"] for each in found["issues"]) == 1


def test_without_a_model_that_is_a_problem_in_a_line(tiny_graph: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("KGDX_LLM")}
    with serving(tiny_graph, "--rate", "0", environ=environ) as server:
        found = httpx2.post(f"{server.address}/api/v1/diagnose", json={**PATIENT, "rerank": True}, timeout=60)
    assert found.status_code == 409 and "model" in found.json()["detail"]


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
