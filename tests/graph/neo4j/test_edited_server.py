"""A graph on a server that somebody has edited is noticed, said, and never answered from an old snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kgdx
from kgdx import api
from kgdx.config import Settings
from kgdx.graph.neo4j.neo4j_store import Neo4jStore

pytestmark = pytest.mark.neo4j

EDITS = (
    "MATCH (d:Disease)-[r:HAS_PHENOTYPE]->() WITH d, collect(r) AS rs LIMIT 1 FOREACH (r IN rs | DELETE r)",
    "MATCH (d:Disease) WITH d LIMIT 1 SET d.name = 'another name'",
    "MATCH ()-[r:HAS_PHENOTYPE]->() WITH r LIMIT 1 SET r.frequency_class = 'HP:0040284', r.percentage = 3.5",
)


@pytest.fixture
def home(neo4j_uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of its own, which knows the server's password."""
    access = Settings.load().neo4j(neo4j_uri)
    monkeypatch.setenv("KGDX_NEO4J_PASSWORD", access.password or "")
    monkeypatch.setenv("KGDX_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def pushed(home: Path, neo4j_uri: str, tiny_graph: Path) -> Iterator[str]:
    api.push(store=tiny_graph, neo4j=neo4j_uri, force=True)
    yield neo4j_uri
    with Neo4jStore.unchecked(Settings.load().neo4j(neo4j_uri)) as store:
        store.clear()


def edit(uri: str, cypher: str, **parameters: Any) -> None:
    with Neo4jStore.unchecked(Settings.load().neo4j(uri)) as store:
        store._driver.execute_query(cypher, parameters)


def annotated(graph: kgdx.Graph) -> str:
    number = graph.snapshot.column("has_phenotype", "phenotype")[0]
    return str(graph.snapshot.column("phenotype", "id")[number])


def opened(uri: str) -> tuple[str, list[str]]:
    said: list[str] = []
    with kgdx.open(uri, progress=said.append) as graph:
        return graph.fingerprint, said


def test_an_untouched_graph_is_never_read_again(pushed: str) -> None:
    first, said = opened(pushed)
    again, later = opened(pushed)
    assert first == again and not [line for line in (*said, *later) if "compiling" in line]


def test_saves_of_kgdx_leave_the_snapshot_as_it_is(pushed: str) -> None:
    with kgdx.open(pushed) as graph:
        result = graph.diagnose([annotated(graph)], top=3)
        for _ in range(3):
            graph.save(result)
    _, said = opened(pushed)
    assert not [line for line in said if "compiling" in line or "changed" in line]


@pytest.mark.parametrize("cypher", EDITS)
def test_an_edited_graph_is_said_and_gets_a_fingerprint_of_its_own(pushed: str, home: Path, cypher: str) -> None:
    before, _ = opened(pushed)
    edit(pushed, cypher)
    after, said = opened(pushed)
    assert after != before
    assert [line for line in said if "was changed since it was copied there" in line]
    again, quiet = opened(pushed)
    assert again == after and not [line for line in quiet if "changed" in line], "it is said once"


def test_another_machine_sees_the_edit_too(pushed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, _ = opened(pushed)
    monkeypatch.setenv("KGDX_HOME", str(tmp_path / "other"))
    same, _ = opened(pushed)
    assert same == before
    edit(pushed, EDITS[0])
    monkeypatch.setenv("KGDX_HOME", str(tmp_path / "third"))
    after, said = opened(pushed)
    assert after != before and [line for line in said if "was changed" in line]


def test_an_open_graph_notices_that_it_was_edited(pushed: str) -> None:
    with kgdx.open(pushed) as graph:
        graph.fingerprint  # noqa: B018  opened
        assert not graph.replaced()
        edit(pushed, "MATCH (d:Disease) WITH d LIMIT 1 SET d.name = 'another name'")
        assert graph.replaced()
