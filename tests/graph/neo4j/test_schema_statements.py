"""Statements that administer a server: keys, indexes and full texts, by names of the ontology alone."""

from __future__ import annotations

import re

import pytest

from kgdx.errors import StoreError, TemplateError
from kgdx.graph.neo4j.schema_statements import schema_statements
from kgdx.graph.templates import statement, templates
from kgdx.resources import resource
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


FILES = sorted(resource("cypher", "neo4j").glob("*.cypher"))


def test_names_are_filled_in() -> None:
    text = statement("load_relations", load_schema(), type="IS_A", start="Phenotype", end="Phenotype")
    assert "(a:Phenotype {id: row.start})" in text and "[r:IS_A]" in text
    assert "<" not in text and "//" not in text


@pytest.mark.parametrize("name", ["Disease) DETACH DELETE (n", "`x`", "disease", ""])
def test_a_name_that_the_ontology_lacks_is_refused(name: str) -> None:
    with pytest.raises(StoreError, match="the ontology has no class or relation"):
        statement("count_nodes", load_schema(), label=name)


def test_a_name_without_a_schema_is_refused() -> None:
    with pytest.raises(StoreError):
        statement("count_nodes", label="Disease")


def test_a_missing_name_is_told() -> None:
    with pytest.raises(TemplateError, match="count_nodes needs a name for label"):
        statement("count_nodes", load_schema())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_statement_says_its_purpose_and_its_parameters(path: object) -> None:
    text = path.read_text("utf-8")  # type: ignore[attr-defined]
    assert text.startswith("// purpose: ")
    declared = re.search(r"^// params: (.*)$", text, re.MULTILINE)
    names = set(re.findall(r"(\w+):", declared[1])) if declared else set()
    assert set(re.findall(r"\$(\w+)", statement_of(text))) == names


def statement_of(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("//"))
