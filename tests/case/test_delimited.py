"""Tables are split row by row, and one broken row spoils itself alone."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case import Case, Failure, read_cases
from kgdx.case.case_rows import MAX_CELL, BadRow, table_rows
from kgdx.errors import CaseError

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
