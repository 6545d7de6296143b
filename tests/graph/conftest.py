"""The stores that the contract suite runs on; Neo4j joins when ``KGDX_NEO4J_URI`` names an empty database."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import require_program
from graph.graphs import Graph, make_graph
from kgdx.graph.protocol import GraphTable, Row, Store

if TYPE_CHECKING:
    from kgdx.config import Neo4jAccess, Settings
    from kgdx.graph.arcade.embedded import ArcadeStore


class Backend(ABC):
    """How the suite makes, reopens and questions stores of one kind."""

    def __init__(self) -> None:
        self._open: list[Store] = []

    def new(self, tables: Iterable[GraphTable] = ()) -> Store:
        """An empty store with these tables loaded, open for writing."""
        self._open.append(store := self._made())
        store.load(tables)
        return store

    def reopen(self, store: Store) -> Store:
        """Close a store and open it again for reading."""
        store.close()
        self._open.append(again := self._opened(store))
        return again

    def close(self) -> None:
        for store in self._open:
            store.close()

    @abstractmethod
    def cypher(self, store: Store, text: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """Rows of any statement: for forms that no template may use, but the engine must get right."""

    @abstractmethod
    def _made(self) -> Store: ...

    @abstractmethod
    def _opened(self, store: Store) -> Store: ...


class ArcadeBackend(Backend):
    """Embedded stores, each in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def cypher(self, store: Store, text: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        database: Any = store._database  # type: ignore[attr-defined]
        with database.transaction():
            rows: list[Row] = database.command(text, parameters)
        return rows

    def _made(self) -> Store:
        from kgdx.graph.arcade.embedded import ArcadeStore

        return ArcadeStore.create(self._folder / f"store{len(self._open)}")

    def _opened(self, store: Store) -> Store:
        return type(store).open(store.url)  # type: ignore[attr-defined,no-any-return]


class Neo4jBackend(Backend):
    """One database of a running server (the fixture ``neo4j_uri``), emptied for each store."""

    def __init__(self, uri: str) -> None:
        from kgdx.config import Settings

        super().__init__()
        self._access = Settings.load().neo4j(uri)

    def cypher(self, store: Store, text: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        driver: Any = store._driver  # type: ignore[attr-defined]
        rows: list[Row] = driver.execute_query(text, dict(parameters or {}), result_transformer_=lambda r: r.data())
        return rows

    def _made(self) -> Store:
        from kgdx.graph.neo4j.neo4j_store import Neo4jStore

        return Neo4jStore.create(self._access, clear=True)

    def _opened(self, store: Store) -> Store:
        return type(store).connect(self._access)  # type: ignore[attr-defined,no-any-return]


@pytest.fixture(scope="module", params=["arcade", pytest.param("neo4j", marks=pytest.mark.neo4j)])
def backend(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    """Each kind of store in turn; a server's database is left empty."""
    made: Backend
    if request.param == "arcade":
        made = ArcadeBackend(tmp_path_factory.mktemp("arcade"))
    else:
        made = Neo4jBackend(request.getfixturevalue("neo4j_uri"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def graph() -> Graph:
    return make_graph()


@pytest.fixture(scope="session")
def small_graph() -> Graph:
    return make_graph(seed=11, scale=0.1)


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A local server of the tests' own, on free ports; a test that stops it starts it again."""
    from kgdx.config import Settings
    from kgdx.graph.neo4j import local_server

    require_program("java", "install a JRE of version 17 or newer")
    require_program("mvn", "install Maven, from which the server is assembled")
    environ = {"KGDX_HOME": str(tmp_path_factory.mktemp("home"))}
    environ |= {name: os.environ[name] for name in ("KGDX_CACHE", "NEO4J_HOME") if name in os.environ}
    made = Settings.load(environ=environ)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")  # half the time to start, as tests often do
        local_server.up(made, bolt_port=local_server._free_port(), http_port=local_server._free_port(), heap="600m")
        yield made
        local_server.down(made)


@pytest.fixture
def access(settings: Settings) -> Neo4jAccess:
    return settings.neo4j()


@pytest.fixture
def empty(access: Neo4jAccess) -> Neo4jAccess:
    from kgdx.graph.neo4j.neo4j_store import Neo4jStore

    with Neo4jStore.unchecked(access) as store:
        store.clear()
    return access


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArcadeStore]:
    """A small embedded graph with a finished build and awkward names, open for reading."""
    from kgdx.graph.arcade.embedded import ArcadeStore

    folder = tmp_path_factory.mktemp("embedded") / "store"
    with ArcadeStore.create(folder) as store:
        store.load(make_graph(seed=5, scale=0.05).tables())
        store.write("set_build", fingerprint=store.fingerprint(), kgdx_version="0.1.0", created="2026-01-01")
    with ArcadeStore.open(folder) as store:
        yield store
