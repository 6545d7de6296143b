"""The ontology check: what is merged, refused and why, and which references made in passing are relations."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from kgdx.errors import SchemaError, SourceError
from kgdx.graph.protocol import NodeTable
from kgdx.ingest.check import CheckedTables, check_staged
from kgdx.ingest.column_mapping import Role, StagedTable, stage
from kgdx.ingest.manifest import End, Manifest, NodeMap, RelationMap
from kgdx.ingest.records import LINE, RecordCounts, Records, no_rejects
from kgdx.schema import load_schema


def nodes(label: str, role: Role = "record", source: str = "s", **columns: list[Any]) -> StagedTable:
    frame = pl.DataFrame(columns, strict=False)
    if role != "patch":
        frame = frame.with_columns(pl.lit(source).alias("source"))
    return StagedTable(
        source, label, None, role, frame.with_row_index(LINE, 1).with_columns(pl.col(LINE).cast(pl.Int64))
    )


def edges(type: str, ends: tuple[str, str], source: str = "s", **columns: list[Any]) -> StagedTable:
    frame = pl.DataFrame(columns, strict=False).with_columns(pl.lit(source).alias("source"))
    return StagedTable(
        source, type, ends, "record", frame.with_row_index(LINE, 1).with_columns(pl.col(LINE).cast(pl.Int64))
    )


ANNOTATES = ("Disease", "Phenotype")

DISEASE = nodes("Disease", id=["OMIM:1"], name=["One"])

PHENOTYPE = nodes(
    "Phenotype",
    id=["HP:1", "HP:2", "HP:3"],
    name=["a", "b", "c"],
    alt_ids=[["HP:9"], [], []],
    obsolete=[False, True, True],
    replaced_by=[None, "HP:1", None],
    consider=[[], [], ["HP:1"]],
)


def reasons(checked: CheckedTables) -> list[str]:
    return checked.quarantine["reason"].to_list()


def table(checked: CheckedTables, name: str) -> list[dict[str, Any]]:
    (found,) = [t for t in checked.tables if (t.label if isinstance(t, NodeTable) else t.type) == name]
    return list(found.rows.to_pylist())


def run(*staged: StagedTable) -> CheckedTables:
    return check_staged(staged, {}, load_schema())


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"id": [""], "name": ["x"]}, "its id is empty"),
        ({"id": [None], "name": ["x"]}, "its id is empty"),
        ({"id": ["HP:1"], "name": ["x"]}, "HP:1 is no id of a Disease (OMIM, "),
        ({"id": ["OMIM:"], "name": ["x"]}, "OMIM: is no id of a Disease (OMIM, "),
        ({"id": ["OMIM:0100001"], "name": ["x"]}, "OMIM:0100001 is not formed as ids of its vocabulary are"),
        ({"id": ["OMIM:2.0"], "name": ["x"]}, "OMIM:2.0 is not formed as ids of its vocabulary are"),
        ({"id": ["OMIM:2"], "name": [None]}, "it has no name"),
        ({"id": ["OMIM:2"]}, "it has no name"),
    ],
)
def test_a_node_without_a_key_or_a_required_property_is_refused(columns: dict[str, list[Any]], reason: str) -> None:
    checked = run(DISEASE, nodes("Disease", **columns))
    (found,) = reasons(checked)
    assert found.startswith(reason)
    assert [row["id"] for row in table(checked, "Disease")] == ["OMIM:1"]


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"numerator": ["two"]}, "numerator is 'two', not an integer"),
        ({"numerator": [1.5]}, "numerator is '1.5', not an integer"),
        ({"percentage": ["much"]}, "percentage is 'much', not a float"),
        ({"modifiers": ["HP:5"]}, "modifiers is not a list"),
        ({"aspect": ["Q"]}, "aspect is 'Q', not one of P, I, C, M, H"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(columns: dict[str, list[Any]], reason: str) -> None:
    checked = run(DISEASE, PHENOTYPE, edges("HAS_PHENOTYPE", ANNOTATES, start=["OMIM:1"], end=["HP:1"], **columns))
    assert reasons(checked) == [reason]


def test_values_that_can_be_read_as_their_type_are() -> None:
    checked = run(
        DISEASE, PHENOTYPE, edges("HAS_PHENOTYPE", ANNOTATES, start=["OMIM:1"], end=["HP:1"], numerator=["2"])
    )
    assert table(checked, "HAS_PHENOTYPE")[0]["numerator"] == 2


@pytest.mark.parametrize(
    ("given", "read"), [(["true", "No "], [True, False]), ([1, 0], [True, False]), ([1.0, None], [True, None])]
)
def test_truth_values_may_be_words_or_numbers(given: list[Any], read: list[bool | None]) -> None:
    checked = run(nodes("Disease", id=["OMIM:1", "OMIM:2"], name=["a", "b"], obsolete=given))
    assert [row["obsolete"] for row in table(checked, "Disease")] == read


@pytest.mark.parametrize(("given", "shown"), [(["maybe"], "maybe"), ([2], "2")])
def test_other_words_and_numbers_are_no_truth_values(given: list[Any], shown: str) -> None:
    checked = run(nodes("Disease", id=["OMIM:1"], name=["a"], obsolete=given))
    assert reasons(checked) == [f"obsolete is '{shown}', not true or false"]


def test_a_refused_record_has_the_ids_of_its_file() -> None:
    terms = nodes(
        "Phenotype", id=["HP:1"], name=["x"], alt_ids=[["HP:2"]], obsolete=[False], replaced_by=[None], consider=[[]]
    )
    checked = run(terms, edges("HAS_PHENOTYPE", ANNOTATES, start=["OMIM:9"], end=["HP:2"]))
    assert '"end":"HP:2"' in checked.quarantine["record"][0]


def test_an_edge_needs_both_ends_of_the_right_class() -> None:
    checked = run(
        DISEASE,
        PHENOTYPE,
        edges("HAS_PHENOTYPE", ANNOTATES, start=["OMIM:1", "OMIM:7", "HP:1"], end=["HP:7", "HP:1", "HP:1"]),
    )
    first, *others = sorted(reasons(checked))
    assert first.startswith("HP:1 is no id of a Disease (OMIM, ")
    assert others == ["HP:7 is no Phenotype of this graph", "OMIM:7 is no Disease of this graph"]


def test_a_relation_between_other_classes_or_an_unknown_property_is_a_defect_of_the_manifest() -> None:
    with pytest.raises(SourceError, match="no relation HAS_PHENOTYPE goes from Phenotype to Disease"):
        run(DISEASE, PHENOTYPE, edges("HAS_PHENOTYPE", ("Phenotype", "Disease"), start=["HP:1"], end=["OMIM:1"]))
    with pytest.raises(SourceError, match="a property 'colour'"):
        run(nodes("Disease", id=["OMIM:1"], name=["x"], colour=["red"]))
    with pytest.raises(SchemaError):
        run(nodes("Unicorn", id=["1"]))


def test_obsolete_and_alternative_ids_are_replaced_or_refused() -> None:
    checked = run(
        DISEASE,
        PHENOTYPE,
        edges(
            "HAS_PHENOTYPE",
            ANNOTATES,
            start=["OMIM:1"] * 3,
            end=["HP:9", "HP:2", "HP:3"],
            references=[["a"], ["b"], ["c"]],
        ),
    )
    assert {row["end"] for row in table(checked, "HAS_PHENOTYPE")} == {"HP:1"}
    assert reasons(checked) == ["HP:3 is obsolete without a replacement (to consider: HP:1)"]
    assert checked.counts["s"].resolved == 2


def test_equal_records_are_merged_and_different_ones_kept() -> None:
    checked = run(
        DISEASE,
        PHENOTYPE,
        edges(
            "HAS_PHENOTYPE",
            ANNOTATES,
            start=["OMIM:1"] * 4,
            end=["HP:1"] * 4,
            references=[["a"], ["a"], ["b"], None],
            modifiers=[["x", "y"], ["x", "y"], ["x", "y"], []],
        ),
    )
    assert len(table(checked, "HAS_PHENOTYPE")) == 3
    assert checked.counts["s"] == RecordCounts(read=8, loaded=7, merged=1)


def test_an_edge_that_is_stated_again_with_other_values_is_refused() -> None:
    ends = {"start": ["OMIM:1"] * 3, "end": ["NCBIGene:2"] * 3}
    checked = run(
        nodes("Disease", id=["OMIM:1"], name=["One"]),
        nodes("Gene", id=["NCBIGene:2"], name=["Two"]),
        edges("ASSOCIATED_GENE", ("Disease", "Gene"), association=["a", "a", "b"], validation=["x", "y", "x"], **ends),
    )
    found = [(row["association"], row["validation"]) for row in table(checked, "ASSOCIATED_GENE")]
    assert found == [("a", "x"), ("b", "x")]
    assert reasons(checked) == ["an earlier record states it with other values (told apart by source, association)"]


def test_implied_nodes_are_nobodys_records() -> None:
    checked = run(nodes("Disease", "implied", id=["OMIM:1", "ICD10:1"], name=["One", "Other"]))
    assert [row["id"] for row in table(checked, "Disease")] == ["OMIM:1"]
    assert checked.quarantine.is_empty()
    assert checked.counts.get("s", RecordCounts()) == RecordCounts()


def test_a_later_source_fills_what_an_earlier_one_left_open() -> None:
    checked = run(
        nodes("Disease", source="a", id=["OMIM:1"], name=["First"]),
        nodes("Disease", source="b", id=["OMIM:1", "OMIM:2"], name=["Second", "Two"], definition=["text", None]),
    )
    merged = {row["id"]: row for row in table(checked, "Disease")}
    assert (merged["OMIM:1"]["name"], merged["OMIM:1"]["definition"], merged["OMIM:1"]["source"]) == (
        "First",
        "text",
        "a",
    )
    assert checked.counts == {"a": RecordCounts(read=1, loaded=1), "b": RecordCounts(read=2, loaded=1, merged=1)}


def test_nothing_is_its_own_parent_or_its_own_equal() -> None:
    checked = run(DISEASE, edges("SAME_AS", ("Disease", "Disease"), start=["OMIM:1"], end=["OMIM:1"]))
    assert reasons(checked) == ["it refers to itself"]


def test_a_patch_without_its_node_is_refused() -> None:
    checked = run(nodes("Disease", "patch", id=["OMIM:5"], name_zh=["五"]))
    assert reasons(checked) == ["OMIM:5 is no Disease of this graph"]


def test_a_quarantined_record_says_source_line_and_content() -> None:
    checked = run(nodes("Disease", id=["OMIM:1", "X:2"], name=["One", "Two"]))
    row = checked.quarantine.row(0, named=True)
    assert (row["source"], row["line"], row["record"]) == ("s", 2, '{"id":"X:2","name":"Two"}')


def test_counts_that_do_not_add_up_are_an_error() -> None:
    with pytest.raises(SourceError, match="do not add up"):
        RecordCounts(read=2, loaded=1).settle("s")


ids = st.sampled_from(["OMIM:1", "OMIM:2", "HP:1", "HP:2", "HP:3", "HP:9", "", None, "nonsense"])

row = st.tuples(ids, ids, st.sampled_from(["1", "x", None]), st.sampled_from(["P", "Q", None]))


@examples(100)
@given(
    st.lists(row, max_size=12), st.lists(st.tuples(ids, st.sampled_from(["n", None])), max_size=6), st.integers(0, 3)
)
def test_every_record_is_accounted_for(
    relations: list[tuple[Any, ...]], more: list[tuple[Any, ...]], refused: int
) -> None:
    names = ("start", "end", "numerator", "aspect")
    columns = {name: [each[at] for each in relations] for at, name in enumerate(names)}
    typed = edges(
        "HAS_PHENOTYPE", ANNOTATES, source="t", **{name: pl.Series(v, dtype=pl.String) for name, v in columns.items()}
    )  # type: ignore[arg-type]
    extra = nodes(
        "Disease",
        source="t",
        id=pl.Series([each[0] for each in more], dtype=pl.String),  # type: ignore[arg-type]
        name=pl.Series([each[1] for each in more], dtype=pl.String),  # type: ignore[arg-type]
    )
    before = (
        pl.concat(
            [
                no_rejects(),
                pl.DataFrame(
                    {"file": None, "line": 1, "record": "r", "reason": "w", "part": None}, schema=no_rejects().schema
                ),
            ]
            * refused
        )
        if refused
        else no_rejects()
    )
    checked = check_staged([DISEASE, PHENOTYPE, extra, typed], {"t": before}, load_schema())
    counts = checked.counts["t"]
    assert counts.read == len(relations) + len(more) + refused
    assert counts.read == counts.loaded + counts.merged + counts.quarantined
    assert checked.quarantine.filter(pl.col("source") == "t").height == counts.quarantined
    assert checked.quarantine["reason"].null_count() == 0


@pytest.mark.parametrize("id", ["NCBIGene:1.0", "NCBIGene:2001-09-02", "NCBIGene:SEPT2", "NCBIGene:007"])
def test_a_gene_whose_id_a_spreadsheet_has_rewritten_is_refused(id: str) -> None:
    checked = run(nodes("Gene", id=[id, "NCBIGene:7"], name=["x", "y"]))
    assert reasons(checked) == [f"{id} is not formed as ids of its vocabulary are"]
    assert [row["id"] for row in table(checked, "Gene")] == ["NCBIGene:7"]


def test_a_node_of_one_class_is_refused_as_one_of_a_disjoint_class() -> None:
    checked = run(
        nodes("Test", id=["lab:1", "lab:2"], name=["a", "b"]),
        nodes("Drug", id=["lab:2", "lab:3"], name=["b", "c"]),
        DISEASE,
        edges("RECOMMEND_DRUG", ("Disease", "Drug"), start=["OMIM:1", "OMIM:1"], end=["lab:2", "lab:3"]),
    )
    assert reasons(checked) == ["lab:2 is a Test, and nothing is that and a Drug", "lab:2 is no Drug of this graph"]
    assert [row["id"] for row in table(checked, "Drug")] == ["lab:3"]
    assert [row["id"] for row in table(checked, "Test")] == ["lab:1", "lab:2"]


def test_an_exposure_may_be_a_record_of_mesh() -> None:
    records = {"id": ["MESH:D1"], "name": ["a"]}
    assert reasons(run(nodes("MeshDescriptor", **records), nodes("Exposure", **records))) == []


TERMS = pl.DataFrame({"_line": [1, 2], "id": ["MONDO:1", "MONDO:2"], "name": ["One", "Two"]})

SAME = pl.DataFrame({"_line": [1, 1], "id": ["MONDO:1", "MONDO:1"], "other": ["MONDO:2", "OMIM:404"]})


def manifest(role: str) -> Manifest:
    return Manifest.model_validate(
        {
            "name": "tiny",
            "title": "Tiny",
            "homepage": "-",
            "licence": "-",
            "citation": "-",
            "default": None,
            "format": "table",
            "nodes": [
                NodeMap.model_validate({"class": "Disease", "frame": "t", "id": "id", "properties": {"name": "name"}})
            ],
            "relations": [
                RelationMap.model_validate(
                    {
                        "type": "SAME_AS",
                        "frame": "s",
                        "role": role,
                        "start": End.model_validate({"class": "Disease", "id": "id"}),
                        "end": End.model_validate({"class": "Disease", "id": "other"}),
                        "properties": {"relation": {"constant": "exact"}},
                    }
                )
            ],
        }
    )


def test_an_implied_relation_to_what_is_not_loaded_is_left_out_and_not_counted() -> None:
    found = manifest("implied")
    tables, refused = stage(Records({"t": TERMS, "s": SAME}), found)
    checked = check_staged(tables, {"tiny": refused}, load_schema())
    assert [t.rows.column("end").to_pylist() for t in checked.tables if hasattr(t, "type")] == [["MONDO:2"]]
    assert checked.quarantine.is_empty()
    counts = checked.counts["tiny"]
    assert (counts.read, counts.loaded, counts.quarantined) == (2, 2, 0)


def test_a_stated_relation_to_what_is_not_loaded_is_quarantined() -> None:
    found = manifest("record")
    tables, refused = stage(Records({"t": TERMS, "s": SAME}), found)
    checked = check_staged(tables, {"tiny": refused}, load_schema())
    assert checked.quarantine["reason"].to_list() == ["OMIM:404 is no Disease of this graph"]
    assert checked.counts["tiny"].read == 4
