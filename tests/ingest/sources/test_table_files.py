"""Tables that a manifest maps without code: genes, cross-references, Chinese names."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kgdx.errors import SourceError
from kgdx.ingest.check import CheckedTables, named_by_matches
from kgdx.ingest.records import Records

Parse = Callable[[str, Path], Records]
Write = Callable[[str, str | bytes], Path]
Check = Callable[..., CheckedTables]
Rows = Callable[[CheckedTables, str], list[dict[str, Any]]]


def test_each_gene_and_disease_is_one_relation(check_files: Check, rows: Rows) -> None:
    checked = check_files("hp", "hpoa", "genes")
    found = {(row["start"], row["end"]) for row in rows(checked, "ASSOCIATED_GENE")}
    assert found == {
        ("OMIM:100001", "NCBIGene:10"),
        ("ORPHA:900001", "NCBIGene:10"),
        ("OMIM:100002", "NCBIGene:20"),
        ("ORPHA:900002", "NCBIGene:30"),
    }
    assert {row["id"]: row["name"] for row in rows(checked, "Gene")}["NCBIGene:10"] == "GENA"
    counts = checked.counts["genes"]
    assert (counts.read, counts.loaded, counts.merged, counts.quarantined) == (5, 4, 1, 0)


def test_cross_references_keep_their_direction_and_the_undecided_are_set_apart(check_files: Check, rows: Rows) -> None:
    checked = check_files("hp", "hpoa", "orphanet_omim")
    found = {(row["start"], row["end"]): row["relation"] for row in rows(checked, "matches")}
    assert found == {
        ("ORPHA:900001", "OMIM:100001"): "exact",
        ("ORPHA:900002", "OMIM:100001"): "broader",
        ("ORPHA:999999", "OMIM:999999"): "exact",
    }
    assert checked.quarantine.select("source", "line", "reason").rows() == [
        ("orphanet_omim", 4, "relation is 'None', not one of E, NTBT, BTNT")
    ]


def test_a_disease_that_only_a_cross_reference_names_is_called_by_its_id(check_files: Check, rows: Rows) -> None:
    names = {
        row["id"]: (row["name"], row["name_source"])
        for row in rows(check_files("hp", "hpoa", "orphanet_omim"), "Disease")
    }
    assert names["OMIM:999999"] == ("OMIM:999999", "id")
    assert names["OMIM:100002"] == ("Short stature with hypotonia", "hpoa")


def test_chinese_names_are_added_to_what_is_there(check_files: Check, rows: Rows) -> None:
    checked = check_files("hp", "hpoa", "hp_zh", "disease_names_zh")
    phenotypes = {row["id"]: row for row in rows(checked, "Phenotype")}
    assert phenotypes["HP:0001250"]["name_zh"] == "癫痫发作"
    assert phenotypes["HP:0001250"]["name_zh_source"] == "hp_zh"
    assert phenotypes["HP:0001250"]["source"] == "hp"
    assert phenotypes["HP:0000707"]["name_zh"] is None
    diseases = {row["id"]: row["name_zh"] for row in rows(checked, "Disease")}
    assert diseases["OMIM:100001"] == "微小癫痫综合征1型"


def test_a_name_for_something_unknown_or_a_second_one_is_set_apart(
    check_files: Check, write: Write, tiny: Path
) -> None:
    text = (tiny / "disease-names-zh.tsv").read_text()
    extra = "OMIM:999999\t未知\tUnknown\nOMIM:100001\t另一个\tOther\nOMIM:100001\t微小癫痫综合征1型\tagain\n"
    checked = check_files("hp", "hpoa", disease_names_zh=write("z.tsv", text + extra))
    counts = checked.counts["disease_names_zh"]
    assert (counts.read, counts.loaded, counts.merged, counts.quarantined) == (5, 2, 1, 2)
    assert checked.quarantine.select("line", "reason").sort("line").rows() == [
        (4, "OMIM:999999 is no Disease of this graph"),
        (5, "OMIM:100001 has another value in this source"),
    ]


def test_other_languages_and_predicates_are_set_apart(check_files: Check, write: Write, tiny: Path) -> None:
    text = (tiny / "hp-zh.babelon.tsv").read_text()
    extra = (
        "en\tfr\tHP:0000707\trdfs:label\tx\tAnomalie\tOFFICIAL\nen\tzh\tHP:0000707\tIAO:0000115\tx\t定义\tOFFICIAL\n"
    )
    checked = check_files("hp", hp_zh=write("z.tsv", text + extra))
    assert checked.quarantine["reason"].sort().to_list() == [
        "predicate_id is 'IAO:0000115', not one of rdfs:label",
        "translation_language is 'fr', not one of zh, zh-Hans, zh-CN",
    ]
    assert checked.counts["hp_zh"].loaded == 6


def test_compressed_windows_and_marked_files_read_the_same(parse: Parse, write: Write, tiny: Path) -> None:
    plain = (tiny / "genes_to_phenotype.txt").read_bytes()
    expected = parse("genes", tiny / "genes_to_phenotype.txt").frames["rows"]
    for other in (
        b"\xef\xbb\xbf" + plain,
        plain.replace(b"\n", b"\r\n"),
        plain.rstrip(b"\n"),
        gzip.compress(plain, mtime=0),
    ):
        assert parse("genes", write("genes.txt", other)).frames["rows"].equals(expected)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (gzip.compress(b"orpha\tomim\trelation\n" * 1000, mtime=0)[:60], "truncated or damaged gzip"),
        (b"\x00\x01\x02\x03", "binary"),
        (b"a\tb\tc\n", "no column 'orpha'"),
        (b"orpha\tomim\trelation\trelation\n", "twice"),
    ],
)
def test_what_is_no_such_table_is_refused(parse: Parse, write: Write, content: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        parse("orphanet_omim", write("x.tsv", content))


def test_a_missing_file_and_a_folder_say_what_to_do(parse: Parse, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="check the path"):
        parse("genes", tmp_path / "nothing.txt")
    with pytest.raises(SourceError, match="is a folder"):
        parse("genes", tmp_path)


def test_a_disease_that_no_source_names_is_called_by_what_it_matches() -> None:
    nodes = pl.DataFrame(
        {"id": ["A:1", "A:2", "A:3", "B:1"], "name": ["A:1", "A:2", "A:3", "Gout"], "name_source": [*["id"] * 3, None]}
    )
    ends = {"exact": (["A:1"], ["B:1"]), "narrower": (["A:2", "A:1"], ["B:1", "B:1"])}
    matches = {how: [pl.DataFrame({"start": start, "end": end})] for how, (start, end) in ends.items()}
    named = named_by_matches(nodes, matches).select("name", "name_source").rows()
    assert named == [("Gout", "match"), ("form of Gout", "match"), ("A:3", "id"), ("Gout", None)]
