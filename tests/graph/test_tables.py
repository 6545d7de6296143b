"""Arrow schemas follow the ontology."""

from __future__ import annotations

import pyarrow as pa

from kgdx.graph.tables import arrow_schema
from kgdx.schema import load_schema


def test_a_node_table_starts_with_its_key_and_has_the_declared_types() -> None:
    schema = arrow_schema(load_schema().node("Phenotype"))
    assert schema.names[0] == "id"
    assert schema.field("synonyms").type == pa.list_(pa.string())
    assert schema.field("obsolete").type == pa.bool_()
    assert not schema.field("name").nullable
    assert schema.field("definition").nullable


def test_an_edge_table_starts_with_its_ends() -> None:
    schema = arrow_schema(load_schema().relation("HAS_PHENOTYPE"))
    assert schema.names[:3] == ["start", "end", "source"]
    assert schema.field("percentage").type == pa.float64()
    assert schema.field("numerator").type == pa.int64()


def test_every_class_and_relation_has_an_arrow_schema_of_all_its_properties() -> None:
    loaded = load_schema()
    for node in loaded.nodes.values():
        assert set(arrow_schema(node).names) == set(node.properties)
    for relation in loaded.relations.values():
        assert set(arrow_schema(relation).names) == {"start", "end", *relation.properties}
