"""The content fingerprint: the same for equal content however it is written, another for any difference."""

from __future__ import annotations

import pyarrow as pa
import pytest

from graph.graphs import Graph, make_graph
from kgdx.errors import StoreError
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.graph.tables import combine, digests, fingerprint

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
