"""The real Neo4j Browser in a real Chromium: a link, a login, a drawn graph, the style, saved queries."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import kgdx
from kgdx.answer.cited_answer import Answer
from kgdx.answer.evidence_pack import EvidencePack
from kgdx.config import Settings
from kgdx.graph.neo4j.browser_links import place
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.resources import resource
from kgdx.results.cited import EvidenceItem
from kgdx.results.evidence_paths import PathNode

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page

pytestmark = [pytest.mark.chromium, pytest.mark.neo4j, pytest.mark.java, pytest.mark.maven, pytest.mark.heavy]

TEXT = "A girl with seizures, fever and low muscle tone. She is not short."
SECONDS = 60_000
AWKWARD = "D:'\"</script><img src=x onerror=alert(1)>\\u0027"


@pytest.fixture(scope="module")
def folder(settings: Settings, tiny_graph: Path) -> Path:
    return Path(shutil.copytree(tiny_graph, settings.home / "graphs" / "drawn"))


@pytest.fixture
def here(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The local server of these tests, found as a user's is."""
    for name in ("KGDX_NEO4J_URI", "KGDX_NEO4J_PASSWORD", "NEO4J_PASSWORD", "KGDX_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KGDX_HOME", str(settings.home))
    return settings


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A tab of a fresh profile; no script of anybody's may open a dialog."""
    context: BrowserContext = chromium.new_context(viewport={"width": 1400, "height": 1000})
    tab = context.new_page()
    dialogs: list[str] = []
    tab.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    yield tab
    context.close()
    assert dialogs == []


def login(page: Page, url: str, password: str) -> None:
    """Open a link and sign in with what it fills in already."""
    page.goto(url)
    page.locator("input[type=password]").fill(password, timeout=SECONDS)
    page.keyboard.press("Enter")
    page.get_by_text("You are connected as user").wait_for(timeout=SECONDS)


def drop(page: Page, path: Path) -> None:
    """Drop a file onto the editor, as the how-to says."""
    make = "([name, text]) => { const data = new DataTransfer(); data.items.add(new File([text], name)); return data }"
    data = page.evaluate_handle(make, [path.name, path.read_text("utf-8")])
    for event in ("dragenter", "dragover", "drop"):
        page.locator("#monaco-main-editor").dispatch_event(event, {"dataTransfer": data})


def editor(page: Page) -> str:
    return page.locator("#monaco-main-editor").inner_text().replace("\xa0", " ")


def run(page: Page) -> Locator:
    """Run what stands in the editor, and return the nodes that are drawn."""
    page.locator('[data-testid="editor-Run"]').click()
    nodes = page.locator('[data-testid="frame"] svg g.node')
    nodes.first.wait_for(timeout=SECONDS)
    page.wait_for_function(
        "() => { const now = [...document.querySelectorAll('g.node')].map(n => n.getAttribute('transform')).join();"
        " const still = now === window.before; window.before = now; return still }",
        polling=700,
        timeout=SECONDS,
    )
    return nodes


def spread(page: Page) -> None:
    """Give the drawing the whole window, and fit it in."""
    frame = page.locator('[data-testid="frame"]').first
    frame.locator('[title*="ullscreen"]').click()
    frame.get_by_label("Collapse the node properties display").click()
    page.wait_for_timeout(1500)  # until the drawing has its new size
    page.get_by_label("zoom-to-fit").first.click()
    page.wait_for_timeout(1500)


def captions(nodes: Locator) -> set[str]:
    texts = (" ".join(node.locator("text").all_text_contents()) for node in nodes.all())
    return {" ".join(text.split()) for text in texts}


def fills(nodes: Locator) -> set[str]:
    return {str(node.locator("circle.b-outline").get_attribute("fill")) for node in nodes.all()}


def password_of(settings: Settings) -> str:
    return (settings.server_folder / "password").read_text("utf-8").strip()


@pytest.fixture
def diagnosis(folder: Path) -> kgdx.Diagnosis:
    with kgdx.open(folder) as graph:
        return graph.diagnose(TEXT)


def test_a_link_keeps_its_query_through_the_login_and_draws_the_paths(
    here: Settings, folder: Path, diagnosis: kgdx.Diagnosis, page: Page, screenshots: Path
) -> None:
    found = kgdx.browse(diagnosis, store=folder, push=True)
    assert found.url == diagnosis.browser_url()
    login(page, found.url, password_of(here))
    assert found.run in editor(page) and "What speaks for and against" in editor(page)
    page.screenshot(path=screenshots / "neo4j-browser-query.png")
    page.get_by_text("node.PatientCase").first.wait_for(timeout=SECONDS)
    nodes = run(page)
    drawn = captions(nodes)
    assert any(diagnosis[0].name[:13] in caption for caption in drawn), drawn
    assert {"Seizure", "Fever"} <= drawn
    assert {"#1f4e79", "#5aa9a2", "#17212b", "#66737c"} == fills(nodes)
    relations = page.locator('[data-testid="frame"] svg g.relationship').count()
    assert relations >= nodes.count()
    added = {f"{each.score:.2f}".rstrip("0") for each in diagnosis[0].contributions if each.finding and each.score > 0}
    drawn = page.locator('[data-testid="frame"] svg g.relationship text').all_text_contents()
    assert added & set(drawn), (added, drawn)
    spread(page)
    assert nodes.first.is_visible()
    page.screenshot(path=screenshots / "neo4j-browser-evidence.png")


def test_another_user_opens_one_candidate(
    here: Settings, folder: Path, diagnosis: kgdx.Diagnosis, page: Page, screenshots: Path
) -> None:
    kgdx.browse(diagnosis, store=folder, push=True)
    where = place(here)
    with Neo4jStore.unchecked(where.access) as store:
        store._driver.execute_query(
            "CREATE USER colleague IF NOT EXISTS SET PASSWORD 'long enough 1' CHANGE NOT REQUIRED", database_="system"
        )
    query = kgdx.browse(diagnosis, [diagnosis.candidates[0].id], store=folder).query
    theirs = replace(where, access=replace(where.access, user="colleague", password=None))
    login(page, theirs.link(query), "long enough 1")
    assert page.get_by_text("colleague").count()
    assert any(diagnosis.candidates[0].name.split()[0] in caption for caption in captions(run(page)))
    page.screenshot(path=screenshots / "neo4j-browser-one-candidate.png")


def test_a_wrong_password_is_told_and_the_query_stays(
    here: Settings, folder: Path, diagnosis: kgdx.Diagnosis, page: Page
) -> None:
    found = kgdx.browse(diagnosis, store=folder, push=True)
    where = place(here)  # of a user that nobody else needs: after some wrong passwords the server lets him wait
    page.goto(replace(where, access=replace(where.access, user="stranger")).link(found.query))
    page.locator("input[type=password]").fill("wrong", timeout=SECONDS)
    page.keyboard.press("Enter")
    page.get_by_text("unauthorized").first.wait_for(timeout=SECONDS)
    assert found.run in editor(page)


def test_an_answer_with_markup_in_its_names_is_drawn_as_text(
    here: Settings, folder: Path, diagnosis: kgdx.Diagnosis, page: Page, screenshots: Path
) -> None:
    kgdx.browse(diagnosis, store=folder, push=True)
    item = EvidenceItem(
        "E1", "relation", "x", subject=PathNode(AWKWARD, "Disease"), objects=(PathNode("S:1", "Symptom"),)
    )
    answer: Any = Answer("q", pack=EvidencePack(items=(item,)))
    with Neo4jStore.unchecked(place(here).access) as store:
        store._driver.execute_query(
            "MERGE (d:Disease {id: $id}) SET d.name = $id MERGE (s:Symptom {id: 'S:1'}) SET s.name = '<b>fever</b>' "
            "MERGE (d)-[:HAS_SYMPTOM]->(s)",
            id=AWKWARD,
        )
        try:
            login(page, answer.browser_url(), password_of(here))
            drop(page, resource("browser", "kgdx.grass"))
            nodes = run(page)
            assert nodes.count() == 2
            assert any("<b>fever</b>" in caption for caption in captions(nodes))
            page.screenshot(path=screenshots / "neo4j-browser-answer.png")
        finally:
            store._driver.execute_query("MATCH (n) WHERE n.id IN [$id, 'S:1'] DETACH DELETE n", id=AWKWARD)


def test_a_dropped_query_can_be_saved_and_run(
    here: Settings, folder: Path, diagnosis: kgdx.Diagnosis, page: Page, screenshots: Path
) -> None:
    kgdx.browse(diagnosis, store=folder, push=True)
    login(page, place(here).link(), password_of(here))
    drop(page, resource("browser", "kgdx.grass"))
    page.get_by_text("node.PatientCase").first.wait_for(timeout=SECONDS)
    path = resource("browser", "queries", "saved-runs.cypher")
    drop(page, path)
    page.get_by_text("Save to favorites").click()
    page.locator('[data-testid="navigationFavorites"]').click()
    page.get_by_text("The newest saved diagnoses").first.wait_for(timeout=SECONDS)
    drop(page, path)
    page.get_by_text("Paste in editor").click()
    assert run(page).count() > 3
    spread(page)
    page.screenshot(path=screenshots / "neo4j-browser-saved-queries.png")
