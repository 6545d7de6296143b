"""One row of a table is a case; a broken row spoils itself alone."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case import Case, Failure, case_from_document, read_cases
from kgdx.case.case_rows import MAX_CELL, BadRow, case_from_row, is_row, table_rows
from kgdx.errors import CaseError


def test_english_and_chinese_columns_say_the_same() -> None:
    english = {"Case ID": "1", "phenotypes": "HP:0001250;HP:0001252", "absent": "HP:0001945", "Sex": "male", "age": "3"}
    chinese = {"编号": "1", "表型": "HP:0001250；HP:0001252", "排除": "HP:0001945", "性别": "男", "年龄": "3岁"}
    assert case_from_row(english) == case_from_row(chinese)
    assert case_from_row(chinese).age == "P3Y"


@pytest.mark.parametrize(
    ("cell", "terms"),
    [
        ("HP:0001250", ("HP:0001250",)),
        ("HP:0001250, HP:0001252", ("HP:0001250", "HP:0001252")),
        ("HP:0001250 HP:0001252", ("HP:0001250", "HP:0001252")),
        ("HP:0001250 Seizure | hp_0001252 (Hypotonia)", ("HP:0001250", "HP:0001252")),
        ("HP:0001250 Seizure, HP:0001252 Hypotonia", ("HP:0001250", "HP:0001252")),
        ("Pain in the arm, worse at night; fever", ("Pain in the arm, worse at night", "fever")),
        ("发热、咳嗽；流涕", ("发热", "咳嗽", "流涕")),
        (["limb weakness.", "limb weakness"], ("limb weakness",)),
    ],
)
def test_a_cell_holds_terms(cell: Any, terms: tuple[str, ...]) -> None:
    assert case_from_row({"hpo": cell}).observed == terms


def test_a_diagnosis_is_an_id_or_a_name() -> None:
    case = case_from_row({"text": "Fits.", "diagnosis": "OMIM:148600; Dravet syndrome"})
    assert case.diseases == ("OMIM:148600",)
    assert case.extra == {"diagnosis": "Dravet syndrome"}


def test_a_line_of_symptom2disease_is_a_case() -> None:
    line = {"disease_name": "malaria", "index": 7, "raw_text": "I have chills.", "symptoms": ["chills", "high fever"]}
    case = case_from_document(line)
    assert (case.id, case.text, case.observed) == ("7", "I have chills.", ("chills", "high fever"))
    assert case.extra["diagnosis"] == "malaria"


def test_chinese_words_make_a_chinese_case() -> None:
    assert case_from_row({"text": "发热三天"}).language == "zh"
    assert case_from_row({"text": "fever"}).language is None
    assert case_from_row({"text": "fever", "lang": "en"}).language == "en"


@pytest.mark.parametrize(
    ("said", "age"),
    [
        *(("7", "P7Y"), ("7.0", "P7Y"), ("P7Y3M", "P7Y3M"), ("18 months", "P18M"), ("2 yrs", "P2Y")),
        *(("35-year-old", "P35Y"), ("2岁3个月", "P2Y3M"), ("10天", "P10D")),
        *(("three", None), ("999", None), ("-1", None), ("1e9", None)),
    ],
)
def test_ages_as_people_write_them(said: str, age: str | None) -> None:
    case = case_from_row({"text": "x", "age": said})
    assert case.age == age
    assert bool(case.issues) == (age is None)


def test_an_unknown_sex_is_an_issue() -> None:
    case = case_from_row({"text": "x", "sex": "?"})
    assert case.sex == "UNKNOWN"
    assert [issue.where for issue in case.issues] == ["case: sex"]


@pytest.mark.parametrize(("said", "synthetic"), [(True, True), ("false", False), ("是", True), ("perhaps", True)])
def test_a_case_that_may_be_made_up_counts_as_made_up(said: object, synthetic: bool) -> None:
    assert case_from_row({"text": "x", "synthetic": said}).synthetic is synthetic


@pytest.mark.parametrize(
    "row",
    [{}, {"id": "1"}, {"text": " "}, {"hpo": []}, {"hpo": {"a": 1}}, {"hpo": [1]}, {"text": ["a"]}, {"text": True}],
)
def test_a_row_that_says_nothing_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(CaseError, match="row 3"):
        case_from_row(row, "row 3")


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text() | st.integers())


@given(
    st.dictionaries(st.sampled_from(["id", "text", "hpo", "absent", "diagnosis", "age", "sex", "pmid", "x"]), VALUES)
)
def test_any_row_is_a_case_or_a_case_error(row: dict[str, Any]) -> None:
    try:
        case = case_from_row(row)
    except CaseError:
        return
    assert case.id
    assert case == case_from_row(row)
    assert is_row(row)


CELL = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).map(str.strip).filter(bool)


@given(st.lists(st.tuples(CELL, CELL), min_size=1), st.sampled_from(["\t", ",", ";"]))
def test_what_csv_writes_is_read(rows: list[tuple[str, str]], delimiter: str) -> None:
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter).writerows([("id", "text"), *rows])
    lines = stream.getvalue().splitlines(keepends=True)
    read = [row for row in table_rows([line for line in lines]) if not isinstance(row, BadRow)]
    assert [tuple(cells.values()) for _, cells in read] == rows


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        list(table_rows(text.splitlines(keepends=True)))
    except CaseError:
        return


def test_a_row_over_several_lines_is_one() -> None:
    rows = list(table_rows(["id,text\n", '1,"a\n', "\n", 'b"\n', "2,c\n"]))
    assert rows == [(2, {"id": "1", "text": "a\n\nb"}), (5, {"id": "2", "text": "c"})]


def test_a_quote_that_is_never_closed_spoils_its_own_line() -> None:
    rows = list(table_rows(["id,text\n", '1,"a\n', *(f"{n},b\n" for n in range(300))]))
    assert isinstance(rows[0], BadRow)
    assert rows[0].reason == "a quote is not closed"
    assert len(rows) == 301


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1\n", "it has 1 cells, the header has 2"),
        ("1,2,3\n", "it has 3 cells, the header has 2"),
        ("1,a\x00b\n", "it holds bytes that are no text in UTF-8"),
        ("1,a\udcffb\n", "it holds bytes that are no text in UTF-8"),
        (f"1,{'x' * MAX_CELL}\n", f"it has {MAX_CELL + 3:,} characters"),
    ],
)
def test_a_broken_row_is_named(line: str, reason: str) -> None:
    first, second = table_rows(["id,text\n", line, "2,b\n"])
    assert isinstance(first, BadRow)
    assert (first.line, first.reason) == (2, reason)
    assert second == (3, {"id": "2", "text": "b"})


@pytest.mark.parametrize("lines", [[], ["\n", " \n"], ["id,id\n", "1,2\n"]])
def test_what_has_no_header_is_refused(lines: list[str]) -> None:
    with pytest.raises(CaseError):
        list(table_rows(lines))


@pytest.mark.parametrize("mark", ["", "\ufeff", "\n\n"])
@pytest.mark.parametrize("suffix", ["tsv", "csv"])
def test_a_table_is_a_file_of_cases(tmp_path: Path, mark: str, suffix: str) -> None:
    delimiter = "\t" if suffix == "tsv" else ","
    path = tmp_path / f"cases.{suffix}"
    rows = ["Patient ID,HPO,Sex", "a,HP:0001250,F", "b,,M", "c", "d,HP:0001252,M"]
    path.write_text(mark + "\n".join(row.replace(",", delimiter) for row in rows), encoding="utf-8")
    cases = list(read_cases(path))
    assert [case.id for case in cases if isinstance(case, Case)] == ["a", "d"]
    blank = mark.count("\n")
    assert [case.where for case in cases if isinstance(case, Failure)] == [
        f"{path} line {3 + blank}",
        f"{path} line {4 + blank}",
    ]


def test_a_note_with_a_heading_is_text(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_text("History\nShe has seizures, and a fever.\n")
    (case,) = read_cases(path)
    assert isinstance(case, Case)
    assert case.text.startswith("History")
