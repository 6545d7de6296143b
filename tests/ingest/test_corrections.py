"""Mended records: kept, put in the place of what they mend, and mended again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kgdx.errors import StoreError
from kgdx.graph.tables import title
from kgdx.ingest.column_mapping import StagedTable
from kgdx.ingest.pipeline.quarantine import (
    CORRECTION,
    Corrections,
    corrections_digest,
    keep_corrections,
    read_corrections,
)
from kgdx.ingest.records import LINE, RECORD_LENGTH, Records, join_rejects, refuse


def table(*rows: tuple[str, str | None, int]) -> StagedTable:
    frame = pl.DataFrame(rows, schema={"start": pl.String, "end": pl.String, LINE: pl.Int64}, orient="row")
    return StagedTable("mine", "HAS_PHENOTYPE", ("Disease", "Phenotype"), "record", frame)


def correction(part: str | None, line: int, record: Any, mended: Any) -> pl.DataFrame:
    text = record if isinstance(record, str) else json.dumps(record, separators=(",", ":"))
    return pl.DataFrame([(part, line, text, json.dumps(mended))], schema=CORRECTION, orient="row")


def test_a_row_that_the_check_refused_is_replaced_in_its_place() -> None:
    given = table(("OMIM:1", "HP:1", 2), ("OMIM:2", "HP:X", 3), ("OMIM:3", "HP:3", 4))
    mended = Corrections(correction(title(given), 3, {"start": "OMIM:2", "end": "HP:X"}, {"end": "HP:2"}))
    assert mended.table(given).rows.rows() == [("OMIM:1", "HP:1", 2), ("OMIM:2", "HP:2", 3), ("OMIM:3", "HP:3", 4)]
    assert mended.left == 0


def test_of_several_rows_of_a_line_the_one_with_the_same_ids_is_replaced() -> None:
    given = table(("OMIM:1", "HP:1", 2), ("OMIM:1", "HP:X", 2), ("OMIM:1", None, 2))
    mended = Corrections(correction(title(given), 2, {"start": "OMIM:1", "end": "HP:X"}, {"end": "HP:2"}))
    assert mended.table(given).rows["end"].to_list() == ["HP:1", "HP:2", None]


def test_another_record_that_a_newer_file_has_on_the_line_is_left_alone() -> None:
    given = table(("OMIM:1", "HP:1", 2), ("OMIM:2", "HP:7", 3))
    mended = Corrections(correction(title(given), 3, {"start": "OMIM:2", "end": "HP:X"}, {"end": "HP:2"}))
    assert mended.table(given) is given
    assert mended.left == 1


def test_other_tables_are_left_alone_and_a_correction_without_a_record_is_counted() -> None:
    given = table(("OMIM:1", "HP:1", 2))
    mended = Corrections(correction("Disease", 2, {"id": "OMIM:1"}, {"id": "OMIM:2"}))
    assert mended.table(given) is given
    assert mended.left == 1
    assert Corrections(None).table(given) is given and Corrections(None).left == 0


def test_a_row_that_the_mapping_refused_is_replaced_in_its_frame() -> None:
    frame = pl.DataFrame({"id": ["a", "b"], "how": ["E", "?"], LINE: [2, 3]})
    record = refuse(frame[1:], "x")["record"].item()
    records = Records({"rows": frame})
    mended = Corrections(correction("frame:rows", 3, record, {"how": "E"}))
    mended.records(records)
    assert records.frames["rows"].rows() == [("a", "E", 2), ("b", "E", 3)]
    assert mended.left == 0


def test_a_line_that_could_not_be_read_becomes_a_row_and_is_refused_no_more() -> None:
    long = "x" * 2 * RECORD_LENGTH
    rejects = pl.DataFrame({"file": [None, None], "line": [2, 3], "record": [long, "y"], "reason": ["no", "no"]})
    records = Records({"rows": pl.DataFrame({"id": ["a"], "n": [1], LINE: [1]})}, join_rejects([rejects]))
    Corrections(correction(None, 2, long[:RECORD_LENGTH], {"id": "b", "n": "7", "else": 1})).records(records)
    assert records.frames["rows"].rows() == [("a", "1", 1), ("b", "7", 2)]
    assert records.rejects["line"].to_list() == [3]


def test_lists_and_absent_values_find_their_columns() -> None:
    frame = pl.DataFrame({"id": ["a"], "names": [["x"]], "note": [None], LINE: [1]})
    record = refuse(frame, "x")["record"].item()
    records = Records({"rows": frame})
    Corrections(correction("frame:rows", 1, record, {"names": "y", "note": ["n"]})).records(records)
    assert records.frames["rows"].rows() == [("a", ["y"], '["n"]', 1)]


def test_corrections_are_kept_and_what_mends_an_earlier_one_takes_its_place(tmp_path: Path) -> None:
    first = correction("Disease", 2, {"id": "X", "name": "A"}, {"id": "Y", "name": "A"})
    keep_corrections(tmp_path, "mine", first)
    keep_corrections(tmp_path, "mine", correction("Disease", 9, {"id": "Q"}, {"id": "R"}))
    keep_corrections(tmp_path, "mine", correction("Disease", 2, {"id": "Y", "name": "A", "x": None}, {"id": "Z"}))
    kept = read_corrections(tmp_path)["mine"]
    assert kept.select("line", "record", "mended").rows() == [
        (2, '{"id":"X","name":"A"}', '{"id": "Z"}'),
        (9, '{"id":"Q"}', '{"id": "R"}'),
    ]
    assert corrections_digest(kept) == corrections_digest(kept.reverse()) != corrections_digest(first) != ""
    assert corrections_digest(None) == corrections_digest(first.clear()) == ""


def test_damaged_corrections_are_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "corrections").mkdir()
    (tmp_path / "corrections" / "mine.parquet").write_bytes(b"PAR1")
    with pytest.raises(StoreError, match="cannot be read .* remove the file"):
        read_corrections(tmp_path)
