"""The page of a consultation in a browser: by key, by touch, by screen reader, in both languages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kgdx
from conftest import require_module

require_module("fastapi", "serve")
require_module("playwright", "browser-test")

from playwright.sync_api import expect  # noqa: E402

from .conftest import Running, serving, violations, watched  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

EXPECTED = ("status of 4", "net::ERR_FAILED")
"""What a browser complains of where an answer is refused, or the server is away."""

pytestmark = [pytest.mark.chromium, pytest.mark.heavy]


@pytest.fixture(scope="module")
def small_server(tiny_graph: Path) -> Iterator[Running]:
    with serving(tiny_graph, "--rate", "0") as running:
        yield running


@pytest.fixture
def page(browser_page: Page, small_server: Running) -> Iterator[Page]:
    with watched(browser_page, small_server.address, *EXPECTED) as page:
        page.goto(f"{small_server.address}/consult")
        yield page


def begin(page: Page, words: str = "a child with hypotonia, fever and short stature", button: str = "Begin") -> None:
    page.locator("#text").fill(words)
    page.get_by_role("button", name=button).click()
    expect(page.locator("#talk")).to_be_visible(timeout=60_000)


def test_a_consultation_is_led_by_keys_alone(page: Page, screenshots: Path) -> None:
    assert violations(page) == []
    begin(page)
    expect(page.locator("#number")).to_have_text("Question 1")
    assert page.evaluate("document.activeElement.id") == "question", "a screen reader reads the question"
    assert page.locator("#spoken").get_attribute("aria-live") == "polite"
    page.keyboard.press("w")
    expect(page.locator("#why")).to_contain_text("bits about which disease it is")
    page.screenshot(path=screenshots / "consult-question.png")
    assert violations(page) == []
    page.keyboard.press("n")
    expect(page.locator("#number")).to_have_text("Question 2")
    page.keyboard.press("b")
    expect(page.locator("#number")).to_have_text("Question 1")
    page.keyboard.press("?")
    expect(page.locator("#number")).to_have_text("Question 2")
    page.keyboard.press("f")
    expect(page.locator("#result .ranking li").first).to_be_visible(timeout=30_000)
    assert violations(page) == []


def test_after_a_yes_the_kinds_are_chosen(page: Page, tmp_path: Path, tiny_graph: Path) -> None:
    with kgdx.open(tiny_graph) as graph:
        talk = graph.consult(["HP:0001250"], certain=1.0, complaints=False)
        while (asked := talk.question) is not None and asked.term != "HP:0001507":
            talk.skip()
        talk.answer(True)
        (tmp_path / "yesterday.json").write_text(json.dumps(talk.to_dict()), "utf-8")
    page.locator("#file").set_input_files(tmp_path / "yesterday.json")
    expect(page.locator("#options button")).to_have_count(2, timeout=60_000)
    assert violations(page) == []
    page.keyboard.press("1")
    assert page.locator("#options button").first.get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="These").click()
    expect(page.locator("#which")).to_be_hidden()


def test_words_are_read_and_markup_in_them_stays_words(page: Page) -> None:
    begin(page, "a child with hypotonia")
    page.locator("#own").fill('no, <img src=x onerror="window.hacked=1"> he has a fever')
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#findings")).to_contain_text("Fever")
    assert page.evaluate("window.hacked") is None


def test_a_page_that_is_loaded_again_goes_on(page: Page) -> None:
    begin(page)
    page.keyboard.press("n")
    expect(page.locator("#number")).to_have_text("Question 2")
    page.reload()
    expect(page.locator("#number")).to_have_text("Question 2", timeout=30_000)


def test_it_speaks_chinese_and_changes_on_the_way(page: Page) -> None:
    begin(page)
    page.get_by_role("button", name="中文").click()
    expect(page.locator("#question")).to_contain_text("有没有")
    expect(page.locator("#number")).to_have_text("第 1 个问题")
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    assert violations(page) == []


def test_it_fits_a_phone_and_is_led_by_touch(chromium: Browser, small_server: Running, screenshots: Path) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{small_server.address}/consult")
    begin(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for button in page.locator("#answers button").all():
        box = button.bounding_box()
        assert box is not None and min(box["width"], box["height"]) >= 44
    page.screenshot(path=screenshots / "consult-phone.png")
    page.get_by_role("button", name="No", exact=True).tap()
    expect(page.locator("#number")).to_have_text("Question 2")
    assert violations(page) == []
    context.close()


def test_a_server_that_is_away_loses_nothing(page: Page) -> None:
    begin(page)
    page.route("**/consult/answer", lambda route: route.abort())
    page.keyboard.press("n")
    expect(page.get_by_role("alert")).to_contain_text("Nothing is lost")
    page.unroute("**/consult/answer")
    page.keyboard.press("n")
    expect(page.locator("#number")).to_have_text("Question 2")
