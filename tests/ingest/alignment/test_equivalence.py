"""Which entries are stated to be the same, and on what grounds."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import small_graph
from kgdx.graph.protocol import NodeTable, RelationTable
from kgdx.ingest.alignment.decisions import Decisions
from kgdx.ingest.alignment.equivalence import (
    FEATURES,
    METHOD,
    SOURCE,
    WEIGHTS,
    compare,
    infer,
    parted,
    read_entries,
    step,
    words,
)
from kgdx.terms.names.sssom import MappingStatement


def other_diseases(count: int = 40) -> list[NodeTable | RelationTable]:
    """Entries that make the words of the small graph's names rare, as they are in a real one."""
    ids = [f"{source}:{number}" for number in range(1000, 1000 + count) for source in ("OMIM", "ORPHA")]
    names = [f"Condition w{chr(97 + i % 26)}{chr(97 + i // 26)}{'qz'[i % 2]}" for i in range(len(ids))]
    return [NodeTable("Disease", pa.table({"id": ids, "name": names}))]


def test_there_is_a_weight_for_every_feature() -> None:
    assert len(WEIGHTS.alike) == len(WEIGHTS.again) == len(FEATURES) + 1


def test_the_same_words_and_the_same_only_gene_are_the_same_disease() -> None:
    found = infer([*small_graph.tables(same_as=()), *other_diseases()])
    assert (found.type, found.start_label, found.end_label) == ("SAME_AS", "Disease", "Disease")
    (row,) = found.rows.to_pylist()
    assert (row["start"], row["end"]) == ("ORPHA:1", "OMIM:1")
    assert (row["method"], row["source"]) == (METHOD, SOURCE)
    assert row["evidence"][0] == "names have the same words"
    assert "same genes: NCBIGene:10" in row["evidence"]
    assert 0.9 < row["score"] <= 1


@pytest.mark.parametrize("relation", ["exact", "broader", "narrower"])
def test_a_loaded_cross_reference_wins(relation: str) -> None:
    staged = small_graph.tables(same_as=[("ORPHA:1", "OMIM:2", relation)])
    assert infer([*staged, *other_diseases()]).rows.num_rows == 0


@pytest.mark.parametrize("decision", [{"denied": True}, {"relation": "narrower"}])
def test_what_a_person_decided_wins(decision: dict[str, Any]) -> None:
    decided = MappingStatement(**{"subject": "OMIM:1", "relation": "exact", "object": "ORPHA:1"} | decision)
    (found,) = step(Decisions((decided,))).function([*small_graph.tables(same_as=()), *other_diseases()])
    assert found.rows.num_rows == 0


def test_another_number_is_another_disease() -> None:
    pairs = words("Spastic paraplegia type II"), words("Spastic paraplegia 2"), words("Spastic paraplegia 3")
    assert pairs[0] == pairs[1] != pairs[2]


def test_each_entry_is_stated_to_be_the_same_as_at_most_one() -> None:
    staged = small_graph.tables(same_as=())
    twin = NodeTable("Disease", pa.table({"id": ["ORPHA:3"], "name": [small_graph.NAMES["ORPHA:1"]]}))
    gene = pa.table({"start": ["ORPHA:3"], "end": ["NCBIGene:10"]})
    found = infer([*staged, *other_diseases(), twin, RelationTable("ASSOCIATED_GENE", "Disease", "Gene", gene)])
    assert found.rows.num_rows <= 1


def test_an_empty_graph_has_no_equivalences() -> None:
    assert infer([]).rows.num_rows == 0


def test_pairs_with_a_common_gene_are_compared_whatever_their_names() -> None:
    entries = read_entries(small_graph.tables(same_as=()))
    pairs = compare(entries)
    compared = {(entries.ids[a], entries.ids[b]) for a, b in zip(pairs.left, pairs.right, strict=True)}
    assert ("ORPHA:1", "OMIM:1") in compared
    assert pairs.features.shape == (len(pairs.left), len(FEATURES))


@pytest.mark.parametrize(("more", "stated"), [("", 1), (" 2", 0), (", type IIB", 1)])
def test_a_name_that_another_extends_by_a_number_is_that_of_a_group(more: str, stated: int) -> None:
    name = f"{small_graph.NAMES['OMIM:1']}{more}" if more else "Another condition"
    other = NodeTable("Disease", pa.table({"id": ["OMIM:2000"], "name": [name]}))
    found = infer([*small_graph.tables(same_as=()), *other_diseases(), other])
    assert found.rows.num_rows == stated


def test_a_letter_after_a_roman_numeral_is_that_of_a_subtype() -> None:
    group = parted(words("Pseudohypoaldosteronism, type II"))
    subtype = parted(words("Pseudohypoaldosteronism, type IIB"))
    assert subtype == group | {"b"}
    assert group < subtype
