"""Questions that the rest of kgdx asks the schema."""

from __future__ import annotations

import dataclasses

import pytest

from kgdx.errors import SchemaError
from kgdx.schema import load_schema


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
