"""Records one by one from lines, an array or a table: a damaged one is set apart, the others are all there."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from kgdx.errors import SourceError
from kgdx.ingest.records import RecordBuilder
from kgdx.ingest.sources.json_records import documents, phrase, problem_of_phrase, prose

VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
RECORD = st.dictionaries(st.text(), VALUE, min_size=1)


def read(path: Path, content: str | bytes) -> tuple[list[tuple[int, dict[str, Any]]], RecordBuilder]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    building = RecordBuilder({"rows": ()})
    return list(documents(path, building)), building


@examples(50)
@given(st.lists(RECORD, min_size=1), st.booleans(), st.booleans())
def test_lines_and_an_array_give_the_same_records(
    tmp_path: Path, records: list[dict[str, Any]], array: bool, packed: bool
) -> None:
    content = json.dumps(records) if array else "\n".join(json.dumps(record) for record in records)
    data = content.encode()
    found, building = read(tmp_path / "r.json", gzip.compress(data) if packed else data)
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
    found, building = read(tmp_path / "r.json", b"\n".join(lines))
    kept = [(n, record) for n, record in enumerate(records, 1) if n != number + 1]
    assert [each for each in found if each[0] != number + 1] == kept
    assert len(found) + len(building.refused) in (len(records) - 1, len(records)), "a blank line is none"


def test_a_damaged_array_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"not a JSON array .*give one JSON object a line"):
        read(tmp_path / "r.json", '[{"name": "a"}, {"na')


def test_a_key_that_stands_twice_costs_its_record_alone(tmp_path: Path) -> None:
    found, building = read(tmp_path / "r.json", '[{"a": 1}, {"a": 1, "a": 2}, {"b": [{"c": 1}]}]')
    assert found == [(1, {"a": 1}), (3, {"b": [{"c": 1}]})]
    assert [(reject[1], reject[3]) for reject in building.refused] == [(2, "it has the key 'a' twice")]


def test_one_object_over_several_lines_is_one_record(tmp_path: Path) -> None:
    found, _ = read(tmp_path / "r.json", json.dumps({"a": [1, 2]}, indent=2))
    assert found == [(1, {"a": [1, 2]})]


def test_a_truncated_gzip_file_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(b"\n".join(json.dumps({"a": n}).encode() for n in range(5000)))
    with pytest.raises(SourceError):
        read(tmp_path / "r.json.gz", whole[: len(whole) // 2])


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
