"""What the tests of the packages take from the tests of kgdx, and that a package has to be installed to be found."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from conftest import (
    browser_context,
    browser_page,
    chinese_graph,
    chromium,
    default_graph,
    kgdx_home,
    neo4j_turn,
    neo4j_uri,
    pytest_collection_modifyitems,
    require,
    root,
    run_folder,
    screenshots,
    shared_data,
    small_builds,
    tiny,
    tiny_graph,
    uncollected,
)

__all__ = [
    "browser_context",
    "browser_page",
    "chinese_graph",
    "chromium",
    "default_graph",
    "kgdx_home",
    "neo4j_turn",
    "neo4j_uri",
    "pytest_collection_modifyitems",
    "root",
    "run_folder",
    "screenshots",
    "shared_data",
    "small_builds",
    "tiny",
    "tiny_graph",
    "uncollected",
]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Look for doctests in the libraries alone."""
    helper = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if helper and "src" not in collection_path.parts else None


@pytest.fixture(scope="session")
def found() -> Callable[[str, str], object]:
    """What kgdx finds under a name of a group; the test is skipped (failed in continuous integration) without it."""

    def look(group: str, name: str) -> object:
        named = [point for point in entry_points(group=group) if point.name == name]
        require(named, f"the package that brings {name}: pip install packages/…")
        return named[0].load()

    return look
