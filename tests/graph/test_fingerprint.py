"""The content fingerprint, Arrow schemas after the ontology, and plain values of the engines."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from graph.graphs import Graph, make_graph
from kgdx.errors import StoreError
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable, plain
from kgdx.graph.tables import arrow_schema, combine, digests, fingerprint
from kgdx.schema import load_schema

STRINGS = pa.list_(pa.string())


def diseases(**columns: list[object]) -> str:
    return fingerprint([NodeTable("Disease", pa.table({"id": ["OMIM:1", "OMIM:2"], "source": ["s", "s"]} | columns))])


def test_order_parts_and_ways_to_be_absent_do_not_count() -> None:
    plain = diseases()
    rows = pa.table({"source": ["s", "s"], "id": ["OMIM:2", "OMIM:1"], "name": pa.array([None, None], pa.string())})
    assert fingerprint([NodeTable("Disease", rows)]) == plain
    assert fingerprint([NodeTable("Disease", rows.slice(0, 1)), NodeTable("Disease", rows.slice(1))]) == plain
    assert fingerprint([NodeTable("Disease", rows), NodeTable("Gene", rows.slice(0, 0))]) == plain
    empty = rows.append_column("synonyms", pa.array([[], None], STRINGS))
    assert fingerprint([NodeTable("Disease", empty)]) == plain


def test_integer_width_and_dictionary_coding_do_not_count() -> None:
    def edges(numerator: pa.Array) -> str:
        rows = {"start": ["OMIM:1"], "end": ["HP:1"], "source": ["s"], "numerator": numerator}
        return fingerprint([RelationTable("HAS_PHENOTYPE", "Disease", "Phenotype", pa.table(rows))])

    assert edges(pa.array([3], pa.int32())) == edges(pa.array([3], pa.int64()))
    coded = pa.table({"id": ["OMIM:1", "OMIM:2"], "source": pa.array(["s", "s"]).dictionary_encode()})
    assert fingerprint([NodeTable("Disease", coded)]) == diseases()


def test_every_difference_counts() -> None:
    prints = [
        diseases(),
        diseases(name=["a", None]),
        diseases(name=[None, "a"]),
        diseases(name=["", None]),
        diseases(name=["a;name=s1:b", None]),
        diseases(definition=["a", None]),
        diseases(synonyms=[["a", "b"], None]),
        diseases(synonyms=[["b", "a"], None]),
        diseases(synonyms=[["a,s1:b"], None]),
        diseases(synonyms=[[""], None]),
    ]
    assert len(set(prints)) == len(prints)


def test_a_row_twice_is_another_content() -> None:
    rows = pa.table({"start": ["OMIM:1"], "end": ["HP:1"], "source": ["s"]})
    once: GraphTable = RelationTable("HAS_PHENOTYPE", "Disease", "Phenotype", rows)
    assert fingerprint([once]) != fingerprint([once, once])


def test_the_build_node_does_not_count() -> None:
    build = NodeTable("Build", pa.table({"id": ["build:current"], "source": ["kgdx"], "created": ["2026"]}))
    assert fingerprint([build]) == fingerprint([])


def test_what_the_schema_lacks_is_refused() -> None:
    with pytest.raises(StoreError, match="no property 'colour'"):
        diseases(colour=["r", "g"])


def test_a_generated_graph_has_one_fingerprint() -> None:
    def shuffled(graph: Graph) -> Graph:
        for rows in (*graph.nodes.values(), *graph.edges.values()):
            rows.reverse()
        return graph

    same = fingerprint(make_graph(1, 0.05).tables())
    assert fingerprint(shuffled(make_graph(1, 0.05)).tables()) == same
    assert fingerprint(make_graph(2, 0.05).tables()) != same


def test_a_part_is_what_one_source_states() -> None:
    rows = {"start": ["OMIM:1", "OMIM:2"], "end": ["HP:1", "HP:1"]}
    both = RelationTable("HAS_PHENOTYPE", "Disease", "Phenotype", pa.table({**rows, "source": ["s", "t"]}))
    parts = digests([both])
    assert {part: n for part, (n, _) in parts.items()} == {
        ("Disease-HAS_PHENOTYPE->Phenotype", "s"): 1,
        ("Disease-HAS_PHENOTYPE->Phenotype", "t"): 1,
    }
    alone = RelationTable("HAS_PHENOTYPE", "Disease", "Phenotype", both.rows.slice(1))
    assert digests([alone]).items() <= parts.items()
    assert combine(parts) == fingerprint([both])


def test_parts_of_the_same_rows_under_other_names_differ() -> None:
    def prints(type_: str, source: str) -> str:
        rows = pa.table({"start": ["OMIM:1"], "end": ["OMIM:2"], "source": [source]})
        return fingerprint([RelationTable(type_, "Disease", "Disease", rows)])

    assert len({prints("IS_A", "s"), prints("HAS_COMORBIDITY", "s"), prints("IS_A", "t")}) == 3
    swapped = {("a", "b"): (1, "x"), ("c", "d"): (1, "y")}
    assert combine(swapped) == combine(dict(reversed(swapped.items())))
    assert combine(swapped) != combine({("a", "b"): (1, "y"), ("c", "d"): (1, "x")})


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


class Neo4jDate:
    """Stands for the driver's temporal types, which know their ISO form."""

    def iso_format(self) -> str:
        return "2026-01-02"


class RecordId:
    """Stands for an engine's own identifier."""

    def __str__(self) -> str:
        return "#1:2"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        ("x", "x"),
        (Decimal("3"), 3),
        (Decimal("0.5"), 0.5),
        (date(2026, 1, 2), "2026-01-02"),
        (datetime(2026, 1, 2, 3, tzinfo=UTC), "2026-01-02T03:00:00+00:00"),
        (Neo4jDate(), "2026-01-02"),
        (RecordId(), "#1:2"),
        ((1, [Decimal("2")]), [1, [2]]),
        ({"b", "a"}, ["a", "b"]),
        ({"x": {"y": Decimal("1.5")}}, {"x": {"y": 1.5}}),
        ({"@rid": "#1:2", "@type": "Disease", "id": "OMIM:1", "name": None}, {"label": "Disease", "id": "OMIM:1"}),
        (
            {"@rid": "#3:4", "@type": "IS_A", "@in": "#1:1", "@out": "#1:2", "source": "hp"},
            {"type": "IS_A", "source": "hp"},
        ),
    ],
)
def test_a_value_becomes_plain(value: Any, expected: Any) -> None:
    got = plain(value)
    assert got == expected
    assert type(got) is type(expected)
