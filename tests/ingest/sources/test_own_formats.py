"""Tables of one's own and those that a manifest maps; records from lines, arrays and tables, one by one."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conftest import examples
from kgdx.errors import SourceError
from kgdx.ingest.check import CheckedTables, named_by_matches
from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import LINE, RecordBuilder, Records
from kgdx.ingest.sources import read
from kgdx.ingest.sources.json_records import documents, phrase, problem_of_phrase, prose

Write = Callable[[str, str | bytes], Path]

ABOUT = {"name": "mine", "title": "Mine", "homepage": "", "licence": "CC0", "citation": "", "default": None}


def manifest(format: str, *columns: str, **more: Any) -> Manifest:
    entry = {"class": "Disease", "id": columns[0], "properties": {f"p{i}": name for i, name in enumerate(columns[1:])}}
    return Manifest.model_validate({**ABOUT, "format": format, "nodes": [entry], **more})


def rows(records: Records, *columns: str) -> list[tuple[Any, ...]]:
    return records.frames["rows"].select(LINE, *columns).rows()


def refused(records: Records) -> list[tuple[int, str]]:
    return records.rejects.select("line", "reason").rows()


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_the_delimiter_is_found_out_or_declared(write: Write, delimiter: str) -> None:
    path = write("a.csv", f"id{delimiter}name\nX:1{delimiter}a\n")
    assert rows(read(path, manifest("csv", "id", "name")), "id", "name") == [(2, "X:1", "a")]
    assert rows(read(path, manifest("csv", "id", "name", delimiter=delimiter)), "name") == [(2, "a")]


def test_quoted_cells_hold_delimiters_quotes_and_line_breaks(write: Write) -> None:
    text = 'id,name\nX:1,"a, ""b""\nc"\n\nX:2, d \nX:3,""\n'
    records = read(write("a.csv", text), manifest("csv", "id", "name"))
    assert rows(records, "id", "name") == [(2, "X:1", 'a, "b"\nc'), (5, "X:2", "d"), (6, "X:3", None)]
    assert records.rejects.is_empty()


def test_a_bad_line_is_named_and_costs_itself_only(write: Write) -> None:
    text = b'id,name\nX:1\nX:2,a,b\nX:3,"open\nX:4,\xff\nX:5,a\x00b\nX:6,good\n'
    records = read(write("a.csv", text), manifest("csv", "id", "name"))
    assert rows(records, "id") == [(7, "X:6")]
    assert refused(records) == [
        (2, "the line has 1 columns, the header has 2"),
        (3, "the line has 3 columns, the header has 2"),
        (4, "a quotation mark is not closed"),
        (5, "the line holds bytes that are no text in the file's encoding"),
        (6, "the line holds bytes that are no text in the file's encoding"),
    ]


def test_a_cell_of_megabytes_is_taken_for_damage(write: Write) -> None:
    records = read(write("a.csv", f"id,name\nX:1,{'x' * 10_000_000}\nX:2,a\n"), manifest("csv", "id", "name"))
    assert rows(records, "id") == [(3, "X:2")]
    assert refused(records) == [(2, "a cell has more than 131,072 characters")]
    assert len(records.rejects["record"][0]) == 500


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030"])
def test_declared_encodings_are_read(write: Write, encoding: str) -> None:
    path = write("a.csv", "id,name\nX:1,共济失调\n".encode(encoding))
    assert rows(read(path, manifest("csv", "id", "name", encoding=encoding)), "name") == [(2, "共济失调")]


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl"])
def test_another_encoding_than_the_declared_one_is_refused_with_what_to_do(write: Write, format: str) -> None:
    text = '{"id": "X:1", "name": "共济失调"}\n' if format == "jsonl" else "id\tname\n" + "X:1\t共济失调\n" * 100
    with pytest.raises(SourceError, match="encoding: utf-16"):
        read(write("a", text.encode("utf-16")), manifest(format, "id", "name"))


def test_damage_in_a_declared_encoding_spoils_its_line(write: Write) -> None:
    content = "id,name\nX:1,共济\n".encode("gb18030") + b"X:2,\xff\xff\n"
    records = read(write("a.csv", content), manifest("csv", "id", "name", encoding="gb18030"))
    assert rows(records, "id") == [(2, "X:1")] and [line for line, _ in refused(records)] == [3]


def test_a_byte_order_mark_is_no_part_of_the_first_name(write: Write) -> None:
    assert rows(read(write("a.csv", "\ufeffid,name\r\nX:1,a\r\n"), manifest("csv", "id", "name")), "id", "name") == [
        (2, "X:1", "a")
    ]


def test_columns_without_a_usable_name_get_one(write: Write) -> None:
    found = manifest("csv", "id", "column_1")
    assert rows(read(write("a.csv", ",_id\n0,X:1\n"), found), "id", "column_1") == [(2, "X:1", "0")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,nam\nX:1,a\n", r"no column 'name' in its header line: it has id, nam .did you mean nam"),
        ("id,name,name\n", "two columns called 'name'"),
        ("\n", "empty|no header line"),
        ("id,name\n", "holds no records"),
        ("id,name\nX\n", "holds no records"),
    ],
)
def test_a_file_that_is_not_the_table_is_refused(write: Write, text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        read(write("a.csv", text), manifest("csv", "id", "name"))


CELLS = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t", exclude_characters="\ufffd"))


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8))
@examples(60)
def test_what_a_csv_writer_writes_is_read(tmp_path: Path, table: list[tuple[str, str]]) -> None:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([("id", "name"), *((f"X{a}", b) for a, b in table)])
    path = tmp_path / "a.csv"
    path.write_text(stream.getvalue(), "utf-8", newline="")
    found = rows(read(path, manifest("csv", "id", "name")), "id", "name")
    assert [row[1:] for row in found] == [(f"X{a}".strip(), b.strip() or None) for a, b in table]


@given(st.binary(max_size=200))
@example(b"(\xb5/\xfd")  # as Zstandard begins
@examples(80)
@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_any_bytes_are_read_or_refused_in_one_line(tmp_path: Path, format: str, content: bytes) -> None:
    path = tmp_path / "a"
    start = {"csv": b"id,name\nX:1,a\n", "jsonl": b'{"id": 1, "name": 2}\n', "parquet": b"PAR1"}[format]
    path.write_bytes(start + content)
    try:
        records = read(path, manifest(format, "id", "name"))
    except SourceError as error:
        assert "\n" not in str(error)
    else:
        assert records.frames["rows"].height >= 1


def test_fields_are_found_by_paths_through_objects_and_lists(write: Write) -> None:
    lines = [
        {"disease": {"id": "X:1"}, "signs": [{"hpo": "HP:1"}, {"hpo": "HP:2"}], "n": 3, "flag": True},
        {"disease": {"id": "X:2"}, "signs": [], "n": 4.5},
        {"disease": {"id": " "}, "a.b": "dotted"},
    ]
    path = write("a.jsonl", "\n".join(json.dumps(line) for line in lines))
    records = read(path, manifest("jsonl", "disease.id", "signs.hpo", "n", "flag", "a.b"))
    assert rows(records, "disease.id", "signs.hpo", "n", "flag", "a.b") == [
        (1, "X:1", ["HP:1", "HP:2"], 3.0, True, None),
        (2, "X:2", [], 4.5, None, None),
        (3, None, None, None, None, "dotted"),
    ]


def test_a_list_of_objects_is_read_like_lines(write: Write) -> None:
    records = read(write("a.json", '[{"id": "X:1"},\n 7, {"id": "X:2"}]'), manifest("jsonl", "id"))
    assert rows(records, "id") == [(1, "X:1"), (3, "X:2")]
    assert refused(records) == [(2, "it is not a JSON object")]


def test_lines_that_are_no_objects_are_refused_each_with_its_line(write: Write) -> None:
    deep = "[" * 100_000
    long = json.dumps({"id": "x" * 200_000})
    content = f'{{"id": "X:1"}}\n\n[1]\n{{"id": \n{deep}\n{long}\n{{"id": NaN}}\n'.encode() + b'{"id": "\xff"}\n'
    records = read(write("a.jsonl", content), manifest("jsonl", "id"))
    assert rows(records, "id") == [(1, "X:1"), (7, None)]
    assert [line for line, _ in refused(records)] == [3, 4, 5, 6, 8]
    assert dict(refused(records))[3] == "it is not a JSON object"
    assert dict(refused(records))[6] == "id has more than 131,072 characters"


def test_a_field_that_no_object_has_is_a_mistake(write: Write) -> None:
    with pytest.raises(SourceError, match=r"no object in .* has a field 'id'"):
        read(write("a.jsonl", '{"ID": 1}\n'), manifest("jsonl", "id"))
    with pytest.raises(SourceError, match="has a field 'name'"):
        read(write("a.jsonl", '{"id": 1}\n'), manifest("jsonl", "id", "name", columns=["name"]))
    with pytest.raises(SourceError, match="holds no JSON objects"):
        read(write("a.jsonl", "x\n"), manifest("jsonl", "id"))


def test_parquet_keeps_numbers_and_lists_and_opens_structs(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame(
        {
            "id": ["X:1", " "],
            "gene": [672.0, None],
            "score": [0.5, None],
            "names": [["a", None], []],
            "d": [{"x": 1, "y": {"z": "deep"}}, None],
            "kind": pl.Series(["a", "b"], dtype=pl.Categorical),
        }
    ).write_parquet(path)
    names = ("id", "gene", "score", "names", "d.y.z", "kind")
    assert rows(read(path, manifest("parquet", *names)), *names) == [
        (1, "X:1", 672, 0.5, ["a"], "deep", "a"),
        (2, None, None, None, [], None, "b"),
    ]
    with pytest.raises(SourceError, match=r"no column 'd.y.q': it has id, .*d.y.z.*did you mean"):
        read(path, manifest("parquet", "id", "d.y.q"))


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"id": ["X:1"] * 1000}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(SourceError, match="is no Parquet file, or is damaged"):
        read(path, manifest("parquet", "id"))


def zipped(*files: str) -> Callable[[bytes], bytes]:
    def pack(content: bytes) -> bytes:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                archive.writestr(file, content)
        return stream.getvalue()

    return pack


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda content: pa.compress(content, "zstd", asbytes=True),
    "zip": zipped("folder/", "folder/a.csv"),
}


@pytest.mark.parametrize("name", PACKERS)
def test_compressed_tables_are_read_whatever_their_name(write: Write, name: str) -> None:
    content = "id,name\nX:1,a\n" + "".join(f"X:{i},b\n" for i in range(5000))
    path = write("a.csv", PACKERS[name](content.encode()))
    assert read(path, manifest("csv", "id", "name")).frames["rows"].height == 5001
    lines = "".join(f'{{"id": "X:{i}"}}\n' for i in range(5000))
    assert read(write("a", PACKERS[name](lines.encode())), manifest("jsonl", "id")).frames["rows"].height == 5000


@pytest.mark.parametrize("name", PACKERS)
def test_a_truncated_compressed_file_is_refused(write: Write, name: str) -> None:
    content = "".join(f"X:{i * 7919 % 10007},{i * 31}\n" for i in range(20000))
    packed = PACKERS[name](f"id,name\n{content}".encode())
    with pytest.raises(SourceError, match="truncated or damaged|damaged zip"):
        read(write("a.csv", packed[: len(packed) // 2]), manifest("csv", "id", "name"))


def test_a_gzip_file_that_lies_about_its_size_is_refused(write: Write) -> None:
    packed = gzip.compress(b"id,name\nX:1,a\n")
    lying = packed[:-4] + (1_000_000).to_bytes(4, "little")
    for path in (write("a.csv", lying), write("b.csv", packed[:-8] + b"\0\0\0\0" + packed[-4:])):
        with pytest.raises(SourceError, match="truncated or damaged gzip file"):
            read(path, manifest("csv", "id", "name"))


@pytest.mark.parametrize("name", ["bz2", "gz", "xz", "zst", "zip"])
def test_a_bomb_of_any_kind_is_not_unpacked(write: Write, name: str) -> None:
    path = write("a.csv", PACKERS[name](b"id,name\nX:1," + b"a" * 20_000_000))
    with pytest.raises(SourceError, match="unpacks to more than 200 times its size"):
        read(path, manifest("csv", "id", "name"))


def test_an_archive_of_several_files_is_refused(write: Write) -> None:
    with pytest.raises(SourceError, match="is a zip archive of 2 files: unpack it"):
        read(write("a.csv", zipped("a.csv", "b.csv")(b"id\n1\n")), manifest("csv", "id"))


Parse = Callable[[str, Path], Records]

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
    assert named == [("Gout", "match"), ("form of Gout", "match"), ("unnamed entry of A (3)", "id"), ("Gout", None)]


VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)

RECORD = st.dictionaries(st.text(), VALUE, min_size=1)


def records_in(path: Path, content: str | bytes) -> tuple[list[tuple[int, dict[str, Any]]], RecordBuilder]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    building = RecordBuilder({"rows": ""})
    return list(documents(path, building)), building


@examples(50)
@given(st.lists(RECORD, min_size=1), st.booleans(), st.booleans())
def test_lines_and_an_array_give_the_same_records(
    tmp_path: Path, records: list[dict[str, Any]], array: bool, packed: bool
) -> None:
    content = json.dumps(records) if array else "\n".join(json.dumps(record) for record in records)
    data = content.encode()
    found, building = records_in(tmp_path / "r.json", gzip.compress(data) if packed else data)
    assert found == list(enumerate(records, 1))
    assert building.refused == []


@examples(60)
@given(st.lists(RECORD, min_size=2, max_size=5), st.data())
def test_one_mangled_line_costs_one_record_at_most(
    tmp_path: Path, records: list[dict[str, Any]], data: st.DataObject
) -> None:
    records = [record | {"note": "x" * 100} for record in records]  # few bytes of junk make no binary file
    lines = [json.dumps(record).encode() for record in records]
    number = data.draw(st.integers(1, len(lines) - 1))
    place = data.draw(st.integers(0, len(lines[number])))
    lines[number] = lines[number][:place] + data.draw(st.binary(max_size=3).filter(lambda b: b"\n" not in b))
    found, building = records_in(tmp_path / "r.json", b"\n".join(lines))
    kept = [(n, record) for n, record in enumerate(records, 1) if n != number + 1]
    assert [each for each in found if each[0] != number + 1] == kept
    assert len(found) + len(building.refused) in (len(records) - 1, len(records)), "a blank line is none"


def test_a_damaged_array_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"not a JSON array .*give one JSON object a line"):
        records_in(tmp_path / "r.json", '[{"name": "a"}, {"na')


def test_a_key_that_stands_twice_costs_its_record_alone(tmp_path: Path) -> None:
    found, building = records_in(tmp_path / "r.json", '[{"a": 1}, {"a": 1, "a": 2}, {"b": [{"c": 1}]}]')
    assert found == [(1, {"a": 1}), (3, {"b": [{"c": 1}]})]
    assert [(reject[1], reject[3]) for reject in building.refused] == [(2, "it has the key 'a' twice")]


def test_one_object_over_several_lines_is_one_record(tmp_path: Path) -> None:
    found, _ = records_in(tmp_path / "r.json", json.dumps({"a": [1, 2]}, indent=2))
    assert found == [(1, {"a": [1, 2]})]


def test_a_truncated_gzip_file_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(b"\n".join(json.dumps({"a": n}).encode() for n in range(5000)))
    with pytest.raises(SourceError):
        records_in(tmp_path / "r.json.gz", whole[: len(whole) // 2])


@given(st.text())
def test_clean_text_can_be_stored_and_shown(text: str) -> None:
    clean = prose(text)
    assert prose(clean) == clean or "<" in clean or "&" in clean, "what was escaped may look like markup"
    clean.encode()
    assert "\0" not in clean
    words = phrase(text)
    assert words == " ".join(words.split())
    assert isinstance(problem_of_phrase(words), str | None)


def test_a_comparison_is_no_markup() -> None:
    assert prose("age <5 years and >2") == "age <5 years and >2"
    assert phrase("p<0.05, &lt;b&gt;") == "p<0.05, <b>"
