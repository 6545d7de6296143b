"""Tables of one's own: CSV, TSV, JSON lines and Parquet, compressed or not, in several encodings, damaged or whole."""

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
from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import LINE, Records
from kgdx.ingest.sources import read

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
