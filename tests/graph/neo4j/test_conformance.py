"""What a server holds is compared with the ontology, and no copy drops in silence what it has no place for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kgdx import api
from kgdx.config import Settings
from kgdx.errors import StoreError
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.graph.neo4j.schema_statements import required_statements
from kgdx.schema import load_schema

pytestmark = pytest.mark.neo4j

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
