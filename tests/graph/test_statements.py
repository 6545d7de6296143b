"""Neo4j's administration statements: only names of the ontology get into a text."""

from __future__ import annotations

import re

import pytest

from kgdx.errors import StoreError, TemplateError
from kgdx.graph.templates import statement
from kgdx.resources import resource
from kgdx.schema import load_schema

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
