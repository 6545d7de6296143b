"""The map in a real browser: search, nearest nodes, keyboard, groups, and nothing fetched."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from kgdx.render.pages import write
from kgdx.render.pages.figure_pages import map_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = "</script><img src=x onerror=alert(1)>"


def document(size: int = 60, **more: Any) -> dict[str, Any]:
    """A map with names that would be markup."""
    draws = np.random.default_rng(0)
    return {
        "model": "vgae",
        "embeddings": "abc",
        "kind": "Disease",
        "by": "links",
        "groups": ["fever", HOSTILE],
        "names": [HOSTILE, *(f"disease {number}" for number in range(1, size))],
        "ids": [f"KGDX:{number}" for number in range(size)],
        "place": draws.integers(0, 10_000, (size, 2)).tolist(),
        "group": [number % 2 for number in range(size)],
        "near": [[(number + step) % size for step in (1, 2, 3)] for number in range(size)],
        "patient": {"phrases": ["dry cough"], "place": [5000, 5000], "near": [1, 2]},
        **more,
    }


def test_names_are_never_markup() -> None:
    page = map_page(document())
    assert HOSTILE not in page and "Map of 60 diseases" in page
    held = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert held is not None and json.loads(held[1])["names"][0] == HOSTILE


def test_a_map_without_a_patient_says_nothing_of_one() -> None:
    assert "Patient:" in map_page(document()) and "Patient:" not in map_page(document(patient=None))


@pytest.mark.chromium
def test_nodes_are_searched_chosen_and_walked_through(browser_page: Page, tmp_path: Path) -> None:
    wrong: list[str] = []
    browser_page.on("console", lambda message: wrong.append(message.text))
    browser_page.on("pageerror", lambda error: wrong.append(str(error)))
    browser_page.goto(write(map_page(document()), tmp_path / "map.html").as_uri())
    browser_page.fill("#find", "disease 17")
    browser_page.keyboard.press("Enter")
    assert "KGDX:17" in browser_page.inner_text("#told")
    browser_page.click("#told button >> nth=0")
    assert "KGDX:18" in browser_page.inner_text("#told")
    browser_page.focus("#map")
    for key in ("ArrowLeft", "+", "-", "0"):
        browser_page.keyboard.press(key)
    assert "KGDX:18" not in browser_page.inner_text("#told")
    browser_page.keyboard.press("Escape")
    assert "Choose a node" in browser_page.inner_text("#told")
    browser_page.fill("#find", "no such name")
    assert "nothing is called so" in browser_page.inner_text("#hits")
    browser_page.uncheck(".legend input >> nth=0")
    browser_page.fill("#find", HOSTILE)
    browser_page.click("#hits button")
    assert HOSTILE in browser_page.inner_text("#told") and wrong == []
