"""A graph that somebody edited on a server is noticed; what a server holds is compared with the ontology."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kgdx
from kgdx import api
from kgdx.config import Settings
from kgdx.errors import StoreError
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.graph.neo4j.schema_statements import required_statements
from kgdx.schema import load_schema

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


OUTSIDE = {
    "MATCH (d:Disease) WITH d LIMIT 1 CREATE (g:Gene {id: 'NCBIGene:9', name: 'G', source: 'me'})"
    " CREATE (d)-[:HAS_PHENOTYPE {source: 'me'}]->(g)": "HAS_PHENOTYPE: from Disease to Gene",
    "CREATE (:Note {id: 1})": "Note: a class of nodes that is not in the ontology",
    "MATCH (d:Disease) WITH d LIMIT 1 CREATE (d)-[:LIKES]->(d)": "LIKES: a relation that is not in the ontology",
    "MATCH (d:Disease) WITH d LIMIT 1 SET d.mood = 'good'": "Disease: the property mood is not in the ontology",
}

WRONG = {
    "CREATE (:Disease {id: 'FOO:1', name: 'x', source: 'me'})": "Disease: ids of another form (2, such as FOO:1)",
    "CREATE (:Disease {id: 'OMIM:699999', name: 'x'})": "Disease: source is missing (1: OMIM:699999)",
    "MATCH (d:Disease) WITH d LIMIT 1 SET d.name = 5": "Disease: name has values of another type",
    "MATCH (d:Disease) WITH d LIMIT 1 CREATE (d)-[:SAME_AS {source: 'me', status: 'sort of'}]->(d)": (
        "SAME_AS: status has values that the ontology does not list"
    ),
    "MATCH (a)-[r:HAS_PHENOTYPE]->(b) WITH a, b, properties(r) AS same LIMIT 1"
    " CREATE (a)-[again:HAS_PHENOTYPE]->(b) SET again = same": "HAS_PHENOTYPE: stated more than once",
    "CREATE (:Gene:Disease {id: 'NCBIGene:99', name: 'x', source: 'me'})": "Disease:Gene: nodes of several classes",
}


@pytest.fixture
def server(neo4j_uri: str, tiny_graph: Path) -> Iterator[Neo4jStore]:
    api.push(store=tiny_graph, neo4j=neo4j_uri, force=True)
    with Neo4jStore.unchecked(Settings.load().neo4j(neo4j_uri)) as store:
        yield store
        store.clear()


def test_what_does_not_conform_is_told_and_not_pulled(server: Neo4jStore, tmp_path: Path) -> None:
    for cypher in OUTSIDE | WRONG:
        server._run_alone(cypher)
    found = [str(each) for each in server.misfits()]
    for said in (OUTSIDE | WRONG).values():
        assert any(each.startswith(said) for each in found), said
    with pytest.raises(StoreError, match="does not conform to the ontology"):
        api.pull(store=tmp_path / "pulled", neo4j=server.url)
    with pytest.raises(StoreError, match="does not conform to the ontology"):
        api.pull(store=tmp_path / "pulled", neo4j=server.url, leave_out=True)
    assert not (tmp_path / "pulled" / "CURRENT").exists()


def test_what_a_copy_has_no_place_for_is_left_out_on_request_and_listed(server: Neo4jStore, tmp_path: Path) -> None:
    assert server.misfits() == (), "what was pushed conforms"
    for cypher in OUTSIDE:
        server._run_alone(cypher)
    report = api.pull(store=tmp_path / "pulled", neo4j=server.url, leave_out=True)
    assert len(report.left_out) == len(OUTSIDE)
    for said in OUTSIDE.values():
        assert any(each.startswith(said) for each in report.left_out)


def test_constraints_of_the_enterprise_edition_are_well_formed(server: Neo4jStore) -> None:
    """The Community Edition reads each of them, and says that it cannot make them."""
    for text in list(required_statements(load_schema()))[::20]:
        with pytest.raises(StoreError, match="requires Neo4j Enterprise Edition"):
            server._run_alone(text)
