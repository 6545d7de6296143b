"""The small language of a manifest's mappings: what each change does to a value, and which rows are taken."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from kgdx.errors import SourceError
from kgdx.ingest.column_mapping import StagedTable, stage
from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import LINE, Records, minted

ABOUT = {"name": "mine", "title": "Mine", "homepage": "", "licence": "CC0", "citation": "", "default": None}


def mapped(frame: dict[str, Any], **maps: Any) -> tuple[list[StagedTable], pl.DataFrame]:
    manifest = Manifest.model_validate({**ABOUT, "format": "csv", **maps})
    rows = pl.DataFrame(frame)
    return stage(Records({"rows": rows.with_row_index(LINE, 2)}), manifest)


def value(expression: Any, **columns: Any) -> list[Any]:
    (table,), _ = mapped(columns, nodes=[{"class": "Disease", "id": "id", "properties": {"name": expression}}])
    return table.rows["name"].to_list()


@pytest.mark.parametrize(
    ("change", "given", "made"),
    [
        ({"case": "lower"}, "OMIM", "omim"),
        ({"case": "upper"}, "hp", "HP"),
        ({"pattern": r"(\d+)$"}, "C-12", "12"),
        ({"pattern": r"\d+"}, "C-12b", "12"),
        ({"pattern": r"(\d+)$"}, "none", None),
        ({"pad": 7}, "1250", "0001250"),
        ({"prefix": "HP:"}, "0001250", "HP:0001250"),
        ({"case": "upper", "pattern": r"HP(\d+)", "pad": 7, "prefix": "HP:"}, "hp1250", "HP:0001250"),
        ({"values": {"y": "yes"}, "case": "lower"}, "Y", "yes"),
        ({"separator": ";", "case": "upper"}, "a; b;;", ["A", "B"]),
        ({"separator": ";", "pattern": r"(\d+)"}, "a1;b;c3", ["1", "3"]),
        ({"mint": "Symptom"}, "咳嗽", minted("mine", "Symptom", "咳嗽")),
    ],
)
def test_changes_are_made_in_their_order(change: dict[str, Any], given: str, made: Any) -> None:
    assert value({"column": "x", **change}, id=["OMIM:1"], x=[given]) == [made]
    assert value({"column": "x", **change}, id=["OMIM:1"], x=pl.Series([None], dtype=pl.String)) == [None]


def test_members_of_a_list_column_are_changed_each() -> None:
    changed = value({"column": "x", "prefix": "HP:", "pad": 3}, id=["1", "2"], x=[["1", "22"], []])
    assert changed == [["HP:001", "HP:022"], []]
    names = value({"column": "x", "mint": "Symptom"}, id=["1"], x=[["咳嗽", "fever"]])
    assert names == [[minted("mine", "Symptom", "咳嗽"), minted("mine", "Symptom", "fever")]]


def test_numbers_are_written_as_text_where_text_is_changed() -> None:
    change = {"column": "x", "pattern": "[^-].*", "otherwise": "{id}"}
    assert value(change, id=["672", "74"], x=["NKX2-5", "-"]) == ["NKX2-5", "74"]
    assert value({"column": "x", "prefix": "NCBIGene:"}, id=["1"], x=[672]) == ["NCBIGene:672"]
    assert value("NCBIGene:{x}", id=["1"], x=[672]) == ["NCBIGene:672"]


def test_a_translation_of_a_list_refuses_the_row_with_an_unknown_member() -> None:
    entry = {
        "class": "Disease",
        "id": "id",
        "properties": {"synonyms": {"column": "x", "separator": "|", "values": {"a": "A", "b": "B"}}},
    }
    (table,), rejects = mapped({"id": ["1", "2"], "x": ["a|b", "a|c"]}, nodes=[entry])
    assert table.rows["synonyms"].to_list() == [["A", "B"]]
    assert rejects["reason"].to_list() == ["synonyms is 'a, c', not one of a, b"]


def test_each_member_of_a_list_is_a_row_of_its_own() -> None:
    relation = {
        "type": "HAS_PHENOTYPE",
        "each": {"column": "hpo", "separator": ","},
        "start": {"class": "Disease", "id": "id"},
        "end": {"class": "Phenotype", "id": "hpo"},
    }
    (table,), rejects = mapped({"id": ["D:1", "D:2", "D:3"], "hpo": ["HP:1, HP:2,", None, ""]}, relations=[relation])
    assert table.rows.select("start", "end", LINE).rows() == [("D:1", "HP:1", 2), ("D:1", "HP:2", 2)]
    assert rejects.is_empty(), "a row without any is no record, so none is refused"
    (table,), _ = mapped({"id": ["D:1", "D:2"], "hpo": [["HP:1", None], []]}, relations=[relation | {"each": "hpo"}])
    assert table.rows["end"].to_list() == ["HP:1"]
    (table,), _ = mapped({"id": ["D:1", "D:2"], "hpo": ["HP:1", None]}, relations=[relation | {"each": "hpo"}])
    assert table.rows["end"].to_list() == ["HP:1"], "a plain column may be absent"


def relation(type: str, where: dict[str, list[str | None]]) -> dict[str, Any]:
    ends = {"start": {"class": "Disease", "id": "id"}, "end": {"class": "Phenotype", "id": "hpo"}}
    return {"type": type, "where": where, **ends}


def test_rows_go_where_their_values_say_and_none_is_lost() -> None:
    rows = {"id": ["1", "2", "3", "4"], "hpo": ["a", "b", "c", "d"], "not": [None, "NOT", "MAYBE", ""]}
    maps = [relation("HAS_PHENOTYPE", {"not": [None, ""]}), relation("LACKS_PHENOTYPE", {"not": ["NOT"]})]
    (has, lacks), rejects = mapped(rows, relations=maps)
    assert has.rows["start"].to_list() == ["1", "4"]
    assert lacks.rows["start"].to_list() == ["2"]
    assert rejects.select("line", "reason").rows() == [(4, "no mapping takes a row with not 'MAYBE'")]


def test_a_mapping_without_a_condition_takes_every_row() -> None:
    maps = [relation("HAS_PHENOTYPE", {}), relation("LACKS_PHENOTYPE", {"not": ["NOT"]})]
    (has, _), rejects = mapped({"id": ["1"], "hpo": ["a"], "not": ["x"]}, relations=maps)
    assert has.rows.height == 1 and rejects.is_empty()


@pytest.mark.parametrize("place", ["where", "each", "id"])
def test_a_column_that_is_not_there_is_named_with_the_nearest(place: str) -> None:
    maps: dict[str, Any] = {
        "where": {"where": {"disese": ["x"]}, "id": "disease"},
        "each": {"each": "disese", "id": "disease"},
        "id": {"id": "disese"},
    }
    with pytest.raises(SourceError, match=r"maps the column 'disese': rows has disease .did you mean disease.."):
        mapped({"disease": ["1"]}, nodes=[{"class": "Disease", **maps[place]}])


def test_a_wrong_pattern_is_refused_when_the_manifest_is_read() -> None:
    with pytest.raises(ValueError, match="is no regular expression"):
        mapped({"id": ["1"]}, nodes=[{"class": "Disease", "id": {"column": "id", "pattern": "("}}])


def test_an_id_that_would_be_a_list_is_refused_with_what_to_add() -> None:
    with pytest.raises(SourceError, match="makes the id of a list: add `each: COLUMN`"):
        mapped({"ids": [["a", "b"]]}, nodes=[{"class": "Disease", "id": "ids"}])


def test_a_row_that_only_mentions_a_node_does_not_hide_the_one_that_names_it() -> None:
    columns = {"id": ["OMIM:1", "OMIM:2", "OMIM:1", "OMIM:2"], "name": [None, "Two", "One", "Zwei"]}
    node = {"class": "Disease", "role": "implied", "id": "id", "properties": {"name": "name"}}
    (table,), _ = mapped(columns, nodes=[node])
    assert dict(table.rows.select("id", "name").iter_rows()) == {"OMIM:1": "One", "OMIM:2": "Two"}


def test_a_patch_that_says_nothing_is_refused() -> None:
    entry = {"class": "Phenotype", "role": "patch", "id": "id", "properties": {"name_zh": "zh"}}
    (table,), refused = mapped({"id": ["HP:1", "HP:2", "HP:3"], "zh": ["癫痫", "  ", None]}, nodes=[entry])
    assert table.rows["id"].to_list() == ["HP:1"]
    assert refused["reason"].to_list() == ["name_zh is empty"] * 2
