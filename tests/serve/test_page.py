from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import require_module

require_module("fastapi", "serve")
require_module("playwright", "browser-test")

from playwright.sync_api import expect  # noqa: E402

from .conftest import Running, serving, violations  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.chromium, pytest.mark.heavy]

HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


def test_the_first_look_is_an_example_with_its_ranking(page: Page, screenshots: Path) -> None:
    expect(page.get_by_text("An example, made up.")).to_be_visible()
    assert "Ataxia-telangiectasia" in page.locator("#ranking li").first.inner_text()
    page.screenshot(path=screenshots / "bench-start.png")
    assert violations(page) == []


def test_what_the_graph_holds_and_lacks_is_told_with_the_command(page: Page, screenshots: Path) -> None:
    page.get_by_role("button", name="What the graph holds").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("diseases")
    expect(dialog).to_contain_text("kgdx update mondo")
    page.screenshot(path=screenshots / "bench-graph.png")
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_question_is_answered_step_by_step(page: Page, screenshots: Path) -> None:
    page.get_by_label("A question").fill("Which genes are associated with ataxia-telangiectasia?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#steps li").first).to_be_visible(timeout=60_000)
    expect(page.locator("#result .kgdx-report")).to_contain_text("ATM", timeout=60_000)
    page.screenshot(path=screenshots / "serve-answer.png", full_page=True)
    assert violations(page) == []


def test_markup_in_words_stays_words(page: Page) -> None:
    page.get_by_role("button", name="New patient").click()
    page.fill("#text", f"{HOSTILE} seizures, ataxia")
    page.fill("#title", HOSTILE)
    expect(page.locator("#ranking li").first).to_be_visible(timeout=30_000)
    page.locator("#edit").click()
    expect(page.locator("#note")).to_contain_text("<img src=x")
    page.get_by_role("combobox", name="Add a finding").fill(HOSTILE[:90])
    page.get_by_label("A question").fill(HOSTILE)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_timeout(1500)
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main script").count() == 0


def test_a_result_is_saved_as_a_page_that_bears_the_title(page: Page, tmp_path: Path) -> None:
    page.fill("#title", "Boy with infections")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as a page").click()
    file = tmp_path / "saved.html"
    waiting.value.save_as(file)
    html = file.read_text(encoding="utf-8")
    assert waiting.value.suggested_filename == "Boy-with-infections.html"
    assert html.startswith("<!doctype html>") and "Ataxia-telangiectasia" in html and "http-equiv" in html
    assert "Boy with infections" in html and "case:" not in html


def test_the_page_speaks_chinese_and_fits_a_phone(chromium: Browser, server: Running, screenshots: Path) -> None:
    context = chromium.new_context(
        viewport={"width": 390, "height": 844}, locale="zh-CN", is_mobile=True, has_touch=True, color_scheme="dark"
    )
    page = context.new_page()
    page.goto(server.address)
    expect(page.locator("#ranking li").first).to_be_visible(timeout=30_000)
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    expect(page.locator("#chips")).to_contain_text("癫痫发作")
    expect(page.locator("#leader")).to_contain_text("1 ")
    page.screenshot(path=screenshots / "bench-phone-chinese.png")
    page.locator("button.row").first.click()
    expect(page.locator(".why").first).to_contain_text(re.compile("(?<!不)支持"))
    page.locator("#chips .flip").first.click()
    expect(page.locator("#note .mark-absent")).to_have_count(2)
    for row in page.locator("button.row").all():
        row.click()
    expect(page.locator("body")).not_to_contain_text("other ages")
    page.screenshot(path=screenshots / "bench-phone-why.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(page) == []
    page.get_by_role("button", name="English").click()
    expect(page.get_by_role("heading", name="Most likely")).to_be_visible()
    context.close()


def test_the_page_turns_chinese_with_the_patient_s_text(page: Page) -> None:
    page.get_by_role("button", name="New patient").click()
    page.fill("#text", "患者反复抽搐，母亲有偏头痛。")
    expect(page.get_by_role("heading", name="最可能的疾病")).to_be_visible()
    expect(page.locator("#chips")).to_contain_text("癫痫发作")
    page.get_by_role("button", name="English").click()
    page.fill("#text", "患者反复抽搐，共济失调。")
    expect(page.locator("#chips")).to_contain_text("Ataxia")
    expect(page.get_by_role("heading", name="Most likely")).to_be_visible()


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
        expect(page.locator("#ranking li").first).to_be_visible(timeout=30_000)
        expect(page.get_by_label("Token of this server")).to_be_hidden()
        stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
        assert json.loads(stored) == [{}, {}, ""]
        assert not any("0123456789" in url for url in urls)
    context.close()
