"""Fixtures and helpers for every test: real data, the tiny ontology, and what a machine must have for some of them."""

from __future__ import annotations

import doctest
import gc
import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from kgdx.api import Graph
    from kgdx.graph.neo4j.neo4j_store import Neo4jStore

ROOT = Path(__file__).resolve().parents[1]
TINY = ROOT / "tests" / "data" / "tiny"

#: Sources of the small graph that most tests need, by name.
TINY_FILES = {
    "hp": "hp.obo",
    "hpoa": "phenotype.hpoa",
    "genes": "genes_to_phenotype.txt",
    "orphanet_omim": "orphanet-omim-xrefs.tsv",
    "hp_zh": "hp-zh.babelon.tsv",
}

# Tests never depend on how fast the machine is. HYPOTHESIS_PROFILE=deep takes all examples that a test asks for.
untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
settings.register_profile("quick", untimed, max_examples=15)
settings.register_profile("deep", untimed)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
settings.load_profile(PROFILE)


def examples(deep: int) -> settings:
    return settings(max_examples=deep if PROFILE == "deep" else min(deep, 15))


#: Set by continuous integration: whatever a test needs is there, so its absence is a failure and not a skip.
REQUIRE_ALL = "KGDX_REQUIRE_ALL"

#: Settings of the test run itself, which no test is shielded from.
KEPT = (REQUIRE_ALL, "KGDX_NEO4J_URI", "KGDX_SHARED_DATA", "KGDX_ARTIFACTS")

#: Tests and modules that were skipped.
SKIPPED: list[str] = []

#: What a browser without a screen and without a user namespace (a container, root) needs.
CHROMIUM = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--font-render-hinting=none")


def require(available: object, what: str) -> None:
    """Skip the running test (or module) when something it needs is missing; fail it where all has to be there."""
    if available:
        return
    if os.environ.get(REQUIRE_ALL) == "1":
        pytest.fail(f"{REQUIRE_ALL}=1, but this test lacks {what}", pytrace=False)
    pytest.skip(f"needs {what}", allow_module_level=True)


def require_program(name: str, hint: str) -> str:
    path = shutil.which(name)
    require(path, f"the program {name}: {hint}")
    assert path is not None
    return path


def require_module(name: str, extra: str) -> None:
    """Skip (fail in continuous integration) unless an optional module can be imported."""
    require(importlib.util.find_spec(name) is not None, f'the module {name}: pip install "kgdx[{extra}]"')


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let frozen outputs be written anew, and what a plain environment could not run be run where everything is."""
    parser.addoption("--update-goldens", action="store_true", help="keep what is printed now as tests/golden/outputs")
    parser.addoption("--note-skipped", metavar="FILE", help="write down there which tests were skipped")
    parser.addoption("--left-over", metavar="FILE", help="run the heavy tests, and those noted there")
    parser.addoption("--default-graph", metavar="FOLDER", help="take that as the default graph, instead of a build")
    parser.addoption("--spent", metavar="FILE", help="write down the processor time of each test, own and children's")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note how much processor time a test and its fixtures take; whatever else runs on the machine plays no part."""
    before = sum(os.times()[:4])
    yield
    if path := item.config.getoption("--spent"):
        with Path(path).open("a", encoding="utf-8") as noted:
            noted.write(f"{sum(os.times()[:4]) - before:.2f}\t{item.nodeid}\n")


def pytest_runtest_logreport(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        SKIPPED.append(report.nodeid)


pytest_collectreport = pytest_runtest_logreport


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write down what was skipped; in a parallel run each worker does, for it alone hears of every module."""
    if SKIPPED and (path := session.config.getoption("--note-skipped")):
        with Path(path).open("a", encoding="utf-8") as noted:
            noted.write("".join(f"{each}\n" for each in SKIPPED))


def leave_over(config: pytest.Config, items: list[pytest.Item], noted: str) -> None:
    """Keep heavy tests and those that a file notes, by themselves or by their module."""
    lines = Path(noted).read_text("utf-8").splitlines()
    names = {line[: line.rfind("@")] if line.rfind("@") > line.rfind("]") else line for line in lines}  # less its group
    kept = [
        item
        for item in items
        if item.get_closest_marker("heavy") or names & {item.nodeid, item.nodeid.partition("::")[0]}
    ]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


def run_example(run: Callable[[], None]) -> None:
    """Skip an example of the library whose extra is not installed."""
    try:
        run()
    except Exception as failed:
        from kgdx.errors import MissingExtraError

        first = getattr(failed, "failures", [failed])[0]
        cause = first.exc_info[1] if isinstance(first, doctest.UnexpectedException) else None
        if isinstance(cause, (MissingExtraError, ModuleNotFoundError)):
            require(False, str(cause))
        raise


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return True if collection_path.suffix == ".py" and not collection_path.name.startswith("test_") else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Share out a parallel run (``--dist=loadgroup --no-loadscope-reorder``).

    A module stays on one worker; so do all that use the database, where they need not wait for each other's turn, and
    all that use a server of their own. These come first, then modules that read whole releases, then others with heavy
    tests, so that no worker is left with one at the end.
    """
    if noted := config.getoption("--left-over", None):
        leave_over(config, items, noted)
    groups: dict[Path, str] = {}
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.runtest = partial(run_example, item.runtest)  # type: ignore[method-assign]
        if "KGDX_NEO4J_URI" in os.environ and item.get_closest_marker("neo4j"):
            groups[item.path] = "a server of their own" if item.get_closest_marker("maven") else "database"
    heavy = [item for item in items if item.get_closest_marker("heavy")]
    first = (
        groups,
        {i.path for i in heavy if "shared_data" in getattr(i, "fixturenames", ())},
        {i.path for i in heavy},
    )
    items.sort(key=lambda item: [item.path not in paths for paths in first])
    for item in items:
        item.add_marker(pytest.mark.xdist_group(groups.get(item.path, str(item.path))))


@pytest.fixture(autouse=True)
def uncollected(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collect no garbage in the middle of a quick test.

    What other tests left would be finalised where a deeply nested document has used up the stack, and fail there.
    """
    if request.node.get_closest_marker("heavy"):
        yield
        return
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def small_builds() -> Iterator[Callable[..., str | None]]:
    """Builds of small graphs wait for no disk and start no second process; what makes them do so is returned."""
    from kgdx.ingest.pipeline import snapshot_hooks

    second_process = snapshot_hooks._import_name
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        patch.setattr(snapshot_hooks, "_import_name", lambda hook: None)
        yield second_process


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data for tests and measurements; it is not part of the project."""
    folder = Path(os.environ.get("KGDX_SHARED_DATA", ROOT.parent / "shared" / "data"))
    require(folder.is_dir(), f"the real data in {folder} (KGDX_SHARED_DATA names another folder)")
    return folder


@pytest.fixture(scope="session")
def tiny() -> Path:
    return TINY


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def default_graph(request: pytest.FixtureRequest, run_folder: Path) -> Path:
    given = request.config.getoption("--default-graph", None)
    return Path(given) if given else _built_once(run_folder / "default-graph", None)


@pytest.fixture(scope="session")
def tiny_graph(run_folder: Path) -> Path:
    return _built_once(run_folder / "tiny-graph", {name: str(TINY / file) for name, file in TINY_FILES.items()})


@pytest.fixture(scope="session")
def chinese_graph(run_folder: Path, shared_data: Path) -> Path:
    kg = shared_data / "chinese-disease-kg.jsonl.gz"
    return _built_once(run_folder / "chinese-graph", {"hp": str(TINY / "hp.obo"), "chinese_kg": str(kg)})


@pytest.fixture(scope="session")
def zh_graph(run_folder: Path) -> Path:
    return _built_once(run_folder / "zh-graph", {"hp": str(TINY / "hp.obo"), "chinese_kg": str(TINY / "medical.json")})


@pytest.fixture(scope="module")
def graph(tiny_graph: Path) -> Iterator[Graph]:
    """The graph of the hand-drawn ontology, open; rooms and modules have others of that name."""
    import kgdx

    with kgdx.open(tiny_graph) as opened:
        yield opened


def _built_once(folder: Path, sources: dict[str, str] | None) -> Path:
    import kgdx
    from kgdx.files.locks import take
    from kgdx.ingest.pipeline.graph_folder import GraphFolder

    with folder.with_suffix(".lock").open("w") as turn:
        take(turn.fileno())  # given back when the file is closed
        if not GraphFolder(folder).exists:
            kgdx.build(sources, store=folder)
    return folder


@pytest.fixture
def kgdx_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder of this test alone; no setting of the user's machine reaches the test."""
    home = tmp_path / "kgdx-home"
    for name in [n for n in os.environ if n.startswith(("KGDX_", "NEO4J_")) and n not in KEPT]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("KGDX_HOME", str(home))
    yield home


@pytest.fixture(scope="session")
def neo4j_turn(run_folder: Path) -> Path:
    return run_folder / "neo4j-turn"


@pytest.fixture(scope="module")
def neo4j_uri(request: pytest.FixtureRequest, neo4j_turn: Path) -> Iterator[str]:
    """Address of a database that is empty, of keys and indexes too, when a module's tests begin, and after them.

    What it holds before the first of a run is somebody's: then no test touches it. What it holds later was left by
    tests whose end failed or never came: it is removed, and they are named, but no other test fails for it. Workers of
    a parallel run (``-n``) take turns.
    """
    from kgdx.config import Settings
    from kgdx.files.locks import take
    from kgdx.graph.neo4j.neo4j_store import Neo4jStore

    address = os.environ.get("KGDX_NEO4J_URI")
    require(address, "a running Neo4j with an empty database: set KGDX_NEO4J_URI")
    assert address is not None
    access = Settings.load().neo4j(address)
    with neo4j_turn.open("a+", encoding="utf-8") as turn:
        take(turn.fileno())  # given back when the file is closed
        before = neo4j_turn.read_text("utf-8")
        with Neo4jStore.unchecked(access) as store:
            if not store.is_empty():
                if not before:
                    pytest.fail(f"the database at {address} is not empty: tests need one of their own", pytrace=False)
                print(f"{before} left in {address}: {_held(store)}", file=sys.__stderr__)
            _empty(store)
        neo4j_turn.write_text(request.node.nodeid, "utf-8")
        yield address
        with Neo4jStore.unchecked(access) as store:
            _empty(store)
            left = _held(store)
        assert left == "no node", f"{request.node.nodeid} still writes into {address}, which holds {left}"


def _empty(store: Neo4jStore) -> None:
    """Remove all nodes, keys and indexes, of ours or of anybody's: an index would refuse what another test writes."""
    store.clear()
    for kind, every in (("CONSTRAINT", "CONSTRAINTS"), ("INDEX", "INDEXES")):
        for row in store._driver.execute_query(f"SHOW {every} YIELD name, type").records:
            if row["type"] != "LOOKUP":
                store._driver.execute_query(f"DROP {kind} {row['name']}")


def _held(store: Neo4jStore) -> str:
    rows = store._driver.execute_query("MATCH (n) RETURN labels(n) AS labels, count(n) AS n ORDER BY n DESC").records
    return ", ".join(f"{row['n']} {':'.join(row['labels']) or 'without a label'}" for row in rows[:8]) or "no node"


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Where tests leave the pictures that a person looks at; continuous integration keeps the folder."""
    folder = Path(os.environ.get("KGDX_ARTIFACTS", ROOT / "build")) / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A headless Chromium of this module's tests: playwright keeps an event loop running as long as it lives."""
    require_module("playwright", "browser-test")
    program = require_program("chromium", "apt-get install chromium")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)  # as long as any action of a page may take; machines are busy
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(CHROMIUM))
        yield browser
        browser.close()


@pytest.fixture
def browser_context(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    yield context
    context.close()


@pytest.fixture
def browser_page(browser_context: BrowserContext) -> Page:
    return browser_context.new_page()
