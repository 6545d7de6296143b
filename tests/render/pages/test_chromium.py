"""Pages in a real browser: what a reader sees and does, on a desk, on a phone, by keyboard, in print."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import require_module
from kgdx.render.pages import page, write
from render.pages.documents import HOSTILE, answer, english, large, spoilt

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.chromium

DOCUMENTS: dict[str, Callable[[], dict[str, Any]]] = {"diagnosis": english, "answer": answer, "paths-200": large}
SCREENS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 900}},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "device_scale_factor": 2,
        "is_mobile": True,
        "has_touch": True,
    },
}
Show = Callable[..., "Page"]


@pytest.fixture
def show(chromium: Browser, tmp_path: Path) -> Iterator[Show]:
    """Opens the page of a document; nothing may go wrong in it, and nothing may be fetched."""
    opened: list[Any] = []
    wrong: list[str] = []

    def open_page(document: dict[str, Any], screen: str = "desktop", **more: Any) -> Page:
        context = chromium.new_context(**SCREENS[screen], **more)
        opened.append(context)
        tab = context.new_page()
        tab.set_default_timeout(10_000)
        tab.on("console", lambda message: wrong.append(message.text))
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("request", lambda request: request.url.startswith(("file:", "data:")) or wrong.append(request.url))
        tab.goto(write(page(document), tmp_path / "report.html").as_uri())
        return tab

    yield open_page
    for context in opened:
        context.close()
    assert wrong == []


def folded_out(tab: Page) -> None:
    tab.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")


@pytest.mark.parametrize(
    ("name", "screen"),
    [(name, screen) for name in DOCUMENTS for screen in SCREENS if (name, screen) != ("paths-200", "dark")],
)
def test_page_has_no_fault_of_accessibility_and_fits_the_screen(
    show: Show, screenshots: Path, name: str, screen: str
) -> None:
    require_module("axe_playwright_python", "browser-test")
    from axe_playwright_python.sync_playwright import Axe

    tab = show(DOCUMENTS[name](), screen, bypass_csp=True)  # the checks are a script of another's
    if name == "paths-200":
        tab.locator("figure.evidence").scroll_into_view_if_needed()
    tab.screenshot(path=screenshots / f"report-{name}-{screen}.png", full_page=name != "paths-200")
    folded_out(tab)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    violations = Axe().run(tab).response["violations"]
    assert [(each["id"], each["impact"], each["nodes"][0]["html"]) for each in violations] == []


def test_drawn_text_stays_in_its_box(show: Show) -> None:
    for screen in ("desktop", "phone"):
        tab = show(large(60), screen)
        over = tab.evaluate(
            """() => Array.from(document.querySelectorAll(".graph .box")).filter((box) => {
                const frame = box.querySelector("rect").getBoundingClientRect();
                return frame.width && Array.from(box.querySelectorAll("text")).some((text) => {
                    const words = text.getBoundingClientRect();
                    return words.left < frame.left - 1 || words.right > frame.right + 1
                        || words.bottom > frame.bottom + 2;
                });
            }).map((box) => box.dataset.name)"""
        )
        assert over == []


def test_the_reader_chooses_a_disease(show: Show) -> None:
    document = large(10, candidates=3)
    document["evidence"] = {each["id"]: document["evidence"]["OMIM:100000"] for each in document["candidates"]}
    tab = show(document)
    shown = tab.locator("article:visible h3")
    assert shown.all_inner_texts() == ["1 Disease OMIM:100000"]
    tab.get_by_label("Disease after").click()
    assert shown.all_inner_texts() == ["2 Disease OMIM:100001"]
    tab.locator(".ranking a.choose").nth(2).click()
    assert shown.all_inner_texts() == ["3 Disease OMIM:100002"]
    assert tab.evaluate("document.activeElement.id") == "c3"
    tab.locator(".chooser select").select_option("")
    assert shown.count() == 3


def test_a_box_tells_of_its_paths_by_mouse_and_stays_when_chosen(show: Show, screenshots: Path) -> None:
    tab = show(english())
    panel = tab.locator(".details")
    graph = tab.locator("svg.wide").first
    graph.locator(".box", has_text="Short metacarpal").hover()
    assert "annotated as" not in panel.inner_text()
    assert "Short metacarpal" in panel.inner_text()
    assert "a kind of" in panel.inner_text()
    assert "lit" in (graph.get_attribute("class") or "")
    tab.locator("h1").hover()
    assert "Choose a box" in panel.inner_text()
    graph.locator(".box", has_text="Slow-growing hair").click()
    tab.locator("h1").hover()
    assert "PMID:25792522" in panel.inner_text()
    assert panel.get_by_role("link", name="PMID:25792522").count() == 1
    assert graph.locator(".box[aria-pressed=true]").count() == 1
    tab.locator("figure.evidence").screenshot(path=screenshots / "report-graph-chosen.png")


def test_the_keyboard_walks_through_the_graph(show: Show) -> None:
    tab = show(english())
    name = "document.activeElement.dataset.name"
    tab.locator("svg.wide .box").first.focus()
    assert tab.evaluate(name) == "Patient"
    tab.keyboard.press("ArrowRight")
    first = tab.evaluate(name)
    tab.keyboard.press("ArrowDown")
    assert tab.evaluate(name) != first
    assert tab.evaluate(name) in tab.locator(".details").inner_text()
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    tab.keyboard.press("Escape")
    assert tab.evaluate("document.activeElement.getAttribute('aria-pressed')") == "false"
    assert tab.locator("svg.wide [tabindex='0']").count() == 1, "one stop for the tabulator"


def test_the_graph_is_magnified_moved_and_made_whole_again(show: Show) -> None:
    tab = show(english())
    graph = tab.locator("svg.wide").first
    whole = graph.get_attribute("viewBox")
    tab.get_by_label("Zoom in").click()
    near = graph.get_attribute("viewBox")
    assert near != whole
    frame = graph.bounding_box()
    assert frame is not None
    tab.mouse.move(frame["x"] + 300, frame["y"] + 150)
    tab.mouse.down()
    tab.mouse.move(frame["x"] + 250, frame["y"] + 120, steps=4)
    tab.mouse.up()
    assert graph.get_attribute("viewBox") != near
    tab.get_by_role("button", name="Whole").click()
    assert graph.get_attribute("viewBox") == whole
    graph.locator(".box").first.focus()
    tab.keyboard.press("+")
    assert graph.get_attribute("viewBox") != whole
    tab.keyboard.press("0")
    assert graph.get_attribute("viewBox") == whole


def test_kinds_of_evidence_are_filtered(show: Show) -> None:
    tab = show(english())
    boxes = tab.locator("svg.wide .box:visible")
    before, height = boxes.count(), tab.locator("svg.wide").first.bounding_box()
    tab.get_by_role("checkbox", name="typical, not mentioned").uncheck()
    assert boxes.count() == before - 1
    assert not tab.get_by_text("Cone-shaped epiphyses").locator("visible=true").count()
    after = tab.locator("svg.wide").first.bounding_box()
    assert height is not None and after is not None and after["height"] < height["height"]
    for label in ("for", "against"):
        tab.get_by_role("checkbox", name=label).uncheck()
    assert boxes.count() == 0
    tab.get_by_role("checkbox", name="against").check()
    assert tab.locator("svg.wide .box:visible", has_text="Intellectual disability").count() == 1


def test_a_tap_on_a_phone_tells_of_a_box(show: Show) -> None:
    tab = show(english(), "phone")
    assert tab.locator("svg.wide").first.is_hidden()
    tab.locator("svg.narrow .box", has_text="Slow-growing hair").first.tap()
    assert "9 of 12 (75%)" in tab.locator(".details").inner_text()


def test_a_long_ranking_is_shown_on_request(show: Show) -> None:
    tab = show(large(5, candidates=1000))
    rows = tab.locator(".ranking li:visible")
    assert rows.count() == 20
    button = tab.get_by_role("button", name="Show all 1,000")
    button.click()
    assert rows.count() == 1000
    assert tab.locator(".rest button").get_attribute("aria-expanded") == "true"


def test_a_mark_leads_to_its_evidence(show: Show) -> None:
    tab = show(answer())
    tab.locator("a.mark", has_text="E2").click()
    assert tab.url.endswith("#E2")
    assert tab.locator("#E2.called").is_visible()


def test_without_scripts_everything_is_there(show: Show) -> None:
    tab = show(large(10, candidates=40), java_script_enabled=False)
    assert tab.locator(".ranking li:visible").count() == 40
    assert tab.locator("svg.wide .box:visible").count() > 5
    assert tab.locator(".tools:visible, .chooser:visible").count() == 0


def test_nothing_hostile_runs(show: Show) -> None:
    for make in DOCUMENTS.values():
        tab = show(spoilt(make()))
        tab.on("dialog", lambda dialog: pytest.fail(dialog.message))
        folded_out(tab)
        for box in tab.locator("svg.wide .box").all()[:3]:
            box.hover()
        assert HOSTILE[:20] in tab.locator("body").inner_text()
        assert tab.locator("img").count() == 0
        assert tab.locator("script").count() == 1


@pytest.mark.parametrize("name", DOCUMENTS)
def test_print_shows_all_of_the_graph_and_unfolds_what_is_folded(
    show: Show, screenshots: Path, tmp_path: Path, name: str
) -> None:
    require_module("pypdfium2", "browser-test")
    import pypdfium2

    tab = show(DOCUMENTS[name]())
    tab.emulate_media(media="print")
    drawn = [] if name == "paths-200" else tab.locator("svg.graph .box:visible").all_text_contents()
    tab.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)
    document = pypdfium2.PdfDocument(tmp_path / "report.pdf")
    try:
        text = "".join(each.get_textpage().get_text_range() for each in document)
        for number in range(min(len(document), 6)):
            document[number].render(scale=1.5).to_pil().save(screenshots / f"report-{name}-print-{number + 1}.png")
        width, height = document[0].get_size()
    finally:
        document.close()
    assert (round(width), round(height)) == (595, 842), "A4"
    squeezed = re.sub(r"\W", "", text)  # the reader of the file takes hyphens at the end of lines out
    for words in drawn:
        assert re.sub(r"\W", "", words) in squeezed
    if name == "paths-200":
        for at in range(200):
            assert f"Finding{at}withanameofsomelength" in squeezed
    assert "Sources" in text or "来源" in text
    assert "evidence_supporting" in text or name != "diagnosis", "the trace is unfolded"
