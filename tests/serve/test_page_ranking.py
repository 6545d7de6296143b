from __future__ import annotations

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


def test_a_click_shows_why_with_what_is_typical_and_where_it_is_published(page: Page, screenshots: Path) -> None:
    page.locator("button.row").first.click()
    why = page.locator(".why")
    expect(why).to_contain_text("Speaks for it")
    expect(why).to_contain_text("Conjunctival telangiectasia")
    expect(why).to_contain_text("Typical of it, not mentioned")
    expect(why.get_by_role("link", name="PMID:22563157").first).to_be_visible()
    why.get_by_text("Paths in the graph").click()
    expect(why.locator(".paths li").first).to_contain_text("is seen in")
    page.screenshot(path=screenshots / "bench-why.png", full_page=True)
    assert violations(page) == []
    why.get_by_role("button", name="Dysarthria: the patient has it").click()
    expect(page.locator(".chip", has_text="Dysarthria")).to_be_visible()


def test_two_candidates_stand_side_by_side_with_what_would_separate_them(page: Page, screenshots: Path) -> None:
    page.locator("#ranking .pick").nth(0).check()
    expect(page.locator("#compare")).to_contain_text("Choose a second disease")
    page.locator("#ranking .pick").nth(2).check()
    compare = page.locator("#compare")
    expect(compare.locator("tbody tr").first).to_be_visible()
    expect(compare).to_contain_text("Would tell them apart")
    expect(compare.locator(".separators li").first).to_contain_text("%")
    page.screenshot(path=screenshots / "bench-compare.png")
    assert violations(page) == []
    name = compare.locator(".separators .what").first.inner_text().split("\n")[0]
    compare.locator(".separators [data-answer=has]").first.click()
    expect(page.locator(".chip", has_text=name).first).to_be_visible()
    page.get_by_role("button", name="Stop comparing").click()
    expect(compare).to_be_hidden()


def test_what_to_examine_next_is_answered_by_one_click(page: Page) -> None:
    next_ = page.locator("#next")
    name = next_.locator(".question b").inner_text()
    expect(next_.locator(".often li")).to_have_count(4)
    next_.get_by_role("button", name=f"{name}: not known now").click()
    expect(next_.locator(".question b")).not_to_have_text(name)
    other = next_.locator(".question b").inner_text()
    next_.get_by_role("button", name=f"{other}: the patient does not have it").first.click()
    expect(page.locator(".chip.absent", has_text=other)).to_be_visible()
    expect(next_.locator(".question b")).not_to_have_text(other)


def test_a_journey_by_keys_alone(page: Page) -> None:
    page.keyboard.press("/")
    expect(page.locator("#term")).to_be_focused()
    page.keyboard.type("strabis", delay=20)
    expect(page.get_by_role("option").first).to_be_visible()
    page.keyboard.press("Enter")
    chip = page.locator(".chip", has_text="Strabismus")
    expect(chip).to_be_visible()
    page.keyboard.press("Shift+Tab")
    expect(chip.locator(".remove")).to_be_focused()
    page.keyboard.press("Delete")
    expect(chip).to_have_count(0)
    page.locator("#note [tabindex='0']").focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.locator("#mend")).to_be_visible()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Escape")
    expect(page.locator("#mend")).to_be_hidden()
    assert page.evaluate("document.activeElement.closest('#note') !== null"), "the focus goes back to the mark"
    page.keyboard.press("1")
    expect(page.locator(".why")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("c")
    expect(page.locator("#compare")).to_be_visible()
    page.keyboard.press("y")
    expect(page.locator(".chip")).to_have_count(6)
    page.keyboard.press("u")
    expect(page.locator(".chip")).to_have_count(5)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("undo")
    page.get_by_label("single keys do this").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    expect(page.locator(".chip")).to_have_count(5)


def test_the_new_ranking_is_told_to_a_screen_reader(page: Page) -> None:
    page.locator(".chip", has_text="Conjunctival telangiectasia").locator(".flip").click()
    expect(page.locator("#said-ranking")).to_contain_text("was")
    assert page.locator("#said-ranking").get_attribute("role") == "status"


def test_nothing_to_rank_is_said_calmly(page: Page) -> None:
    page.get_by_role("button", name="New patient").click()
    expect(page.locator("#refused")).to_contain_text("the ranking follows")
    expect(page.locator("#ranking li")).to_have_count(0)
    page.fill("#text", "Nothing of note.")
    expect(page.locator("#refused")).to_contain_text("no disease is ranked")
    assert violations(page) == []


def test_a_stale_answer_never_replaces_a_newer_one(page: Page) -> None:
    term = page.locator("#text")
    page.get_by_role("button", name="New patient").click()
    for text in ("ataxia", "ataxia, seizures", "ptosis, diplopia"):
        term.fill(text)
    expect(page.locator(".chip")).to_have_count(2)
    expect(page.locator(".chip").first).to_contain_text("Ptosis")
    page.wait_for_timeout(500)
    page.locator("button.row").first.click()
    expect(page.locator(".why")).to_contain_text("Ptosis")


def test_what_is_typed_while_an_answer_is_on_its_way_is_read(page: Page) -> None:
    page.get_by_role("button", name="New patient").click()
    page.evaluate("""() => {
        const real = window.fetch;
        window.fetch = async (...asked) => {
            const answer = await real(...asked);
            if (String(asked[0]).includes("extract")) {
                window.fetch = real;
                const text = document.getElementById("text");
                text.value = "ptosis";
                text.dispatchEvent(new Event("input", { bubbles: true }));
            }
            return answer;
        };
    }""")
    page.locator("#text").fill("ataxia, seizures")
    expect(page.locator(".chip")).to_have_count(1)
    expect(page.locator(".chip")).to_contain_text("Ptosis")


def test_a_server_that_goes_away_is_told_and_the_work_is_kept(chromium: Browser, default_graph: Path) -> None:
    context = chromium.new_context()
    page = context.new_page()
    with serving(default_graph, "--rate", "0") as running:
        page.goto(running.address)
        page.wait_for_selector("#ranking li", timeout=30_000)
    page.locator(".chip", has_text="Oculomotor apraxia").locator(".flip").click()
    expect(page.get_by_role("alert")).to_contain_text("Your work is kept")
    expect(page.locator(".chip.absent", has_text="Oculomotor apraxia")).to_be_visible()
    expect(page.locator("#ranking li").first).to_be_visible()
    context.close()


def test_a_phone_has_the_leading_disease_in_view(chromium: Browser, server: Running, screenshots: Path) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    page = context.new_page()
    page.goto(server.address)
    page.wait_for_selector("#ranking li", timeout=30_000)
    expect(page.locator("#leader")).to_contain_text("Ataxia-telangiectasia")
    page.screenshot(path=screenshots / "bench-phone.png")
    page.locator("#leader a").click()
    expect(page.locator("#ranking li").first).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(page) == []
    context.close()
