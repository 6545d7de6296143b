from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import require_module

require_module("fastapi", "serve")
require_module("playwright", "browser-test")

from playwright.sync_api import expect  # noqa: E402

from .conftest import Running, serving  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


@pytest.fixture
def page(browser_page: Page, server: Running) -> Iterator[Page]:
    """The page, in a browser that lets nothing out and reports every complaint."""
    complaints: list[str] = []
    asked: list[str] = []
    browser_page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    browser_page.on("pageerror", lambda error: complaints.append(str(error)))
    browser_page.on("request", lambda request: asked.append(request.url))
    browser_page.goto(server.address)
    expect(browser_page.locator("#state")).to_contain_text("graph of")
    yield browser_page
    assert [each for each in complaints if "status of 4" not in each] == []
    assert [url for url in asked if not url.startswith((server.address, "data:", "blob:"))] == []


def diagnose_example(page: Page) -> None:
    page.get_by_role("button", name="Show an example").click()
    page.get_by_role("button", name="Diagnose").click()
    expect(page.locator("#result .ranking li").first).to_be_visible(timeout=30_000)


def violations(page: Page) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found: list[dict[str, Any]] = Axe().run(page).response["violations"]
    return [f"{each['id']}: {[node['target'] for node in each['nodes']][:3]}" for each in found]


def test_a_patient_in_words_is_diagnosed(page: Page, screenshots: Path) -> None:
    page.screenshot(path=screenshots / "serve-start.png")
    diagnose_example(page)
    expect(page.locator("#progress")).to_contain_text("diseases ranked in")
    assert "Ataxia-telangiectasia" in page.locator("#result .ranking li").first.inner_text()
    expect(page.locator("#result figure.evidence svg").first).to_be_visible()
    page.screenshot(path=screenshots / "serve-result.png", full_page=True)
    assert violations(page) == []


def test_findings_are_chosen_by_keyboard_alone(page: Page, screenshots: Path) -> None:
    term = page.get_by_role("combobox", name="Findings, by name")
    term.press_sequentially("seiz", delay=30)
    expect(page.get_by_role("option").first).to_be_visible()
    assert term.get_attribute("aria-expanded") == "true"
    assert violations(page) == []
    term.press("ArrowDown")
    term.press("ArrowDown")
    active = term.get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"
    page.screenshot(path=screenshots / "serve-autocomplete.png")
    term.press("ArrowUp")
    term.press("Enter")
    expect(page.locator("#chosen-findings li")).to_have_count(1)
    assert term.get_attribute("aria-expanded") == "false" and term.input_value() == ""
    term.press_sequentially("hearing imp", delay=30)
    expect(page.get_by_role("option").first).to_be_visible()
    term.press("Enter")
    page.get_by_role("button", name="is present").last.click()
    expect(page.locator("#chosen-findings li.absent")).to_have_count(1)
    page.get_by_role("button", name="Diagnose").press("Enter")
    expect(page.locator("#result .finding.absent")).to_contain_text("Hearing impairment", timeout=30_000)
    expect(page.locator("#result .finding.present")).to_contain_text("Seizure")
    page.get_by_role("button", name="Remove Seizure").click()
    expect(page.locator("#chosen-findings li")).to_have_count(1)


def test_escape_closes_the_list_and_nothing_fitting_is_said(page: Page) -> None:
    term = page.get_by_role("combobox", name="Findings, by name")
    term.press_sequentially("seiz", delay=30)
    expect(page.get_by_role("option").first).to_be_visible()
    term.press("Escape")
    expect(page.locator("#terms")).to_be_hidden()
    term.fill("qqqqxx")
    expect(page.locator("#term-status")).to_have_text("no name fits")


def test_a_question_is_answered_step_by_step(page: Page, screenshots: Path) -> None:
    page.get_by_label("A question").fill("Which genes are associated with ataxia-telangiectasia?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#steps li").first).to_be_visible(timeout=60_000)
    expect(page.locator("#result .kgdx-report")).to_contain_text("ATM", timeout=60_000)
    page.screenshot(path=screenshots / "serve-answer.png", full_page=True)
    assert violations(page) == []


def test_what_cannot_be_diagnosed_is_told(page: Page) -> None:
    page.get_by_role("button", name="Diagnose").click()
    expect(page.get_by_role("alert")).to_contain_text("Describe the patient")
    page.get_by_label("In words").fill("Nothing of note.")
    page.get_by_role("button", name="Diagnose").click()
    expect(page.get_by_role("alert")).to_contain_text("no finding was recognised")
    assert violations(page) == []
    page.get_by_role("button", name="Clear").click()
    expect(page.get_by_role("alert")).to_be_hidden()


def test_markup_in_words_stays_words(page: Page) -> None:
    page.get_by_label("In words").fill(f"{HOSTILE} seizures")
    page.get_by_role("button", name="Diagnose").click()
    expect(page.locator("#result .ranking li").first).to_be_visible(timeout=30_000)
    page.get_by_role("combobox", name="Findings, by name").fill(HOSTILE[:90])
    page.get_by_label("A question").fill(HOSTILE)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_timeout(1500)
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main script").count() == 0


def test_a_result_is_saved_as_a_page_of_its_own(page: Page, tmp_path: Path) -> None:
    diagnose_example(page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as a page").click()
    file = tmp_path / "saved.html"
    waiting.value.save_as(file)
    html = file.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>") and "Ataxia-telangiectasia" in html and "http-equiv" in html


def test_the_page_speaks_chinese_and_fits_a_phone(chromium: Browser, server: Running, screenshots: Path) -> None:
    context = chromium.new_context(
        viewport={"width": 390, "height": 844}, locale="zh-CN", is_mobile=True, has_touch=True, color_scheme="dark"
    )
    page = context.new_page()
    page.goto(server.address)
    expect(page.get_by_role("heading", level=1)).to_have_text("这位患者可能患有什么病？")
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    page.get_by_role("button", name="填入示例").click()
    page.screenshot(path=screenshots / "serve-phone-chinese.png", full_page=True)
    page.get_by_role("button", name="诊断").click()
    expect(page.locator("#result .ranking li").first).to_be_visible(timeout=30_000)
    page.screenshot(path=screenshots / "serve-phone-result.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(page) == []
    page.get_by_role("button", name="English").click()
    expect(page.get_by_role("heading", level=1).first).to_have_text("What could this patient have?")
    context.close()


def test_a_token_is_asked_for_and_kept_in_memory_alone(chromium: Browser, default_graph: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("0123456789abcdef-right")
    token.chmod(0o600)
    context = chromium.new_context()
    with serving(default_graph, "--token-file", str(token)) as running:
        page = context.new_page()
        urls: list[str] = []
        page.on("request", lambda request: urls.append(request.url))
        page.goto(running.address)
        page.get_by_label("Token of this server").fill("wrong-wrong-wrong-wrong")
        page.get_by_role("button", name="Use it").click()
        expect(page.get_by_label("Token of this server")).to_be_visible()
        page.get_by_label("Token of this server").fill(token.read_text())
        page.get_by_role("button", name="Use it").click()
        expect(page.locator("#state")).to_contain_text("graph of", timeout=30_000)
        expect(page.get_by_label("Token of this server")).to_be_hidden()
        stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
        assert json.loads(stored) == [{}, {}, ""]
        assert not any("0123456789" in url for url in urls)
    context.close()


def test_age_onset_family_and_genes_of_the_form_change_the_result(page: Page) -> None:
    page.fill("#text", "ataxia, telangiectasia")
    page.fill("#age", "3 months")
    page.select_option("#onset", "HP:0003593")
    page.select_option("#inheritance", "AR")
    page.check("#consanguineous")
    page.fill("#genes", "ATM, FBN1")
    page.click("#patient .main")
    page.wait_for_selector("#result .kgdx-report")
    shown = page.inner_text("#result")
    assert "3 months" in shown and "its gene ATM is among 2 candidate genes" in shown
