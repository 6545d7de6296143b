"""The reader of Cypher texts finds the mistakes that the house test relies on it to find."""

from __future__ import annotations

import pytest

from cypher_text import faults, returned
from kgdx.schema import load_schema


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (d:Disease {id: $id}) RETURN d.name AS name",
        "MATCH (d:Disease)-[h:HAS_PHENOTYPE]->(p:Phenotype) WHERE d.id IN $ids RETURN h.frequency, p.id",
        "MATCH (p:Phenotype)<-[:HAS_PHENOTYPE|LACKS_PHENOTYPE]-(d) RETURN d.id",
        "MATCH path = (a:Phenotype)-[:IS_A*0..20]->(b:Phenotype) RETURN [n IN nodes(path) | n.id] AS ids",
        "MATCH (d:Disease)-[:SAME_AS]-(e:Disease) WITH e AS x RETURN x.name_zh",
        "MATCH (d:Disease) WHERE d.name = 'a (b:Nothing) {x: 1} c.d' RETURN count(d) AS n",
        "MATCH (d:Disease) WITH collect({key: d.id}) AS maps UNWIND maps AS map RETURN map.key",
        "MATCH (n:<label>)-[r:<type>]->(m) RETURN n.id, r.source",
        "CALL db.index.fulltext.queryNodes('x', $q) YIELD node RETURN node.id",
    ],
)
def test_a_text_within_the_ontology_has_no_fault(text: str) -> None:
    assert faults(text, load_schema()) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("MATCH (d:Desease) RETURN d.id", "label Desease"),
        ("MATCH (d:Disease)-[:TREATS]->(x) RETURN d.id", "relation TREATS"),
        ("MATCH (d:Disease)-[:HAS_PHENOTYPE|OBSERVES]->(x) RETURN d.id", "relation OBSERVES"),
        ("MATCH (d:Disease) RETURN d.symbol AS x", "property d.symbol"),
        ("MATCH (d:Disease) WITH d AS e RETURN e.span_start", "property e.span_start"),
        ("MATCH (d:Disease {title: $t}) RETURN d.id", "property title"),
        ("MATCH (d:Disease)-[h:HAS_PHENOTYPE {score: 1}]->(p) RETURN p.id", "property score"),
        ("MATCH (d:Disease)-[h:HAS_PHENOTYPE]->(p:Phenotype) RETURN h.strength", "property h.strength"),
        ("MATCH (p:Phenotype)-[:HAS_PHENOTYPE]->(d:Disease) RETURN d.id", "ends of HAS_PHENOTYPE"),
        ("MATCH (p:Phenotype)-[:IS_A]->(d:Disease) RETURN d.id", "ends of IS_A"),
        ("MATCH (d:Disease) MATCH (g:Gene) MERGE (g)-[r:ASSOCIATED_GENE]->(d)", "ends of ASSOCIATED_GENE"),
        ("MATCH (d:Disease) RETURN d.id UNION ALL MATCH (d:Gene) RETURN d.definition", "property d.definition"),
        ("UNWIND $rows AS row MATCH (d:Disease {id: row.key}) SET d.name = row.name", "property row.key"),
        ("MATCH (d:Disease) UNWIND d.synonyms AS s RETURN s.word", "property s.word"),
    ],
)
def test_a_fault_is_found(text: str, fault: str) -> None:
    found = faults(text, load_schema(), frozenset({"name"}))
    assert len(found) == 1
    assert found[0].startswith(fault)


def test_returned_columns_are_read_for_each_part() -> None:
    text = """MATCH (a) RETURN DISTINCT a.id AS id, coalesce(a.name, a.title) AS name ORDER BY id LIMIT 3
    UNION ALL MATCH (b) RETURN b.id AS id, 'AS, x' AS name"""
    assert returned(text) == [["id", "name"], ["id", "name"]]
    assert returned("MATCH (a) DETACH DELETE a") == [[]]


def test_what_a_subquery_returns_is_left_out() -> None:
    text = "CALL { MATCH (a {id: 1}) RETURN a UNION ALL MATCH (b) RETURN b AS a } RETURN a.id AS id"
    assert returned(text) == [["id"]]


def test_options_of_an_index_are_no_properties() -> None:
    text = (
        "CREATE FULLTEXT INDEX i FOR (n:Disease) ON EACH [n.name] OPTIONS {indexConfig: {`fulltext.analyzer`: 'cjk'}}"
    )
    assert faults(text, load_schema()) == []
