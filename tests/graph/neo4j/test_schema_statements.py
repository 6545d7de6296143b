"""Keys and indexes: each class has its key, names and full texts are indexed, and no two indexes are of one form."""

from __future__ import annotations

import re

from kgdx.graph.neo4j.schema_statements import schema_statements
from kgdx.graph.templates import templates
from kgdx.schema import load_schema

STATEMENTS = list(schema_statements(load_schema()))


def test_each_class_has_a_key_before_all_indexes_are_waited_for() -> None:
    keys = [text for text in STATEMENTS if text.startswith("CREATE CONSTRAINT")]
    assert len(keys) == len(load_schema().nodes)
    assert STATEMENTS[-1].startswith("CALL db.awaitIndexes")
    assert all("IF NOT EXISTS" in text for text in STATEMENTS[:-1])


def test_names_of_classes_are_indexed_and_references_are_by_their_elements() -> None:
    text = "\n".join(STATEMENTS)
    for label, name in (("Disease", "name"), ("Disease", "name_zh"), ("Phenotype", "name_zh"), ("Gene", "name")):
        assert f"FOR (n:{label}) ON (n.{name})" in text
    assert "ON (r.references)" not in text, "an index of a range finds no element of a list"
    assert "LACKS_PHENOTYPE" in text and "ON EACH [r.references]" in text and "'keyword'" in text
    assert "FOR (n:Symptom) ON (n.name)" not in text, "phrases can be longer than an entry of an index"


def test_no_two_full_text_indexes_cover_the_same_properties() -> None:
    """Neo4j takes the second one for the first, and says nothing."""
    covered = [re.search(r"FOR \(n:([\w|]+)\) ON EACH (\[.*?\])", text) for text in STATEMENTS if "FULLTEXT" in text]
    forms = [(found[1], found[2]) for found in covered if found]
    assert len(forms) == len(set(forms)) == 3


def test_the_indexes_that_templates_ask_are_made() -> None:
    made = set(re.findall(r"FULLTEXT INDEX (\w+)", "\n".join(STATEMENTS)))
    asked = {name for each in templates("neo4j").values() for name in re.findall(r"queryNodes\('(\w+)'", each.text)}
    assert asked and asked <= made


def test_counts_name_every_class_and_relation_of_the_ontology() -> None:
    schema, found = load_schema(), templates("neo4j")
    assert set(re.findall(r"\[r:(\w+)\]", found["count_relations"].text)) == set(schema.relations)
    assert set(re.findall(r"\(x:(\w+)\)", found["count_nodes"].text)) == set(schema.nodes)


def test_a_database_of_others_is_asked_without_indexes_of_ours() -> None:
    assert "queryNodes" in templates("neo4j")["search_diseases"].text
    assert all("CALL" not in each.text for each in templates("mapped").values())
