"""Published sets of option questions are recognised by their fields, and read as their authors wrote them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.errors import KgdxError, SourceError, UsageError
from kgdx.evaluate.option_sets import FORMATS, PUBLISHED, parse_option_set
from kgdx_datasets import option_questions

ASKED = "Which gene causes cystic fibrosis?"
WORDS = ["FBN1", "CFTR", "HBB", "PAH"]
LETTERED = dict(zip("ABCD", WORDS, strict=True))
COLUMNS = {f"op{letter.lower()}": words for letter, words in LETTERED.items()}


@pytest.fixture(autouse=True)
def installed(found: Callable[[str, str], object]) -> None:
    for name in PUBLISHED:
        assert found("kgdx.option_formats", name) is FORMATS.get(name)


def lines(*rows: Any) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def table(*rows: list[str]) -> bytes:
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue().encode()


MEDQA = {"question": ASKED, "answer": "CFTR", "options": LETTERED, "meta_info": "step1", "answer_idx": "B"}
MEDMCQA = {"question": ASKED, "exp": "…", "cop": 1, **COLUMNS, "subject_name": "x", "id": "m1", "choice_type": "single"}
SETS = [
    ("medqa", lines(MEDQA)),
    ("medqa", lines({**MEDQA, "options": [{"key": key, "value": words} for key, words in LETTERED.items()]})),
    ("medmcqa", lines(MEDMCQA, {**MEDMCQA, "id": "m2", "cop": 0})),
    ("medmcqa", lines({**MEDMCQA, "cop": 2}, {**MEDMCQA, "id": "m2", "cop": 4})),
    ("mmlu", lines({"question": ASKED, "subject": "medical_genetics", "choices": WORDS, "answer": 1})),
    ("mmlu", table([ASKED, *WORDS, "B"])),
    ("medbullets", lines({"question": ASKED, **COLUMNS, "ope": "", "answer_idx": "B", "answer": "CFTR"})),
    ("medbullets", table(["question", *COLUMNS, "answer_idx", "link"], [ASKED, *WORDS, "B", "x"])),
    (
        "medbullets",
        lines({"idx": "1", "question": ASKED, "options": {**LETTERED, "E": None}, "answer": "B", "link": ""}),
    ),
    (
        "medxpertqa",
        lines(
            {
                "id": "Text-0",
                "question": f"{ASKED}\nAnswer Choices: (A) FBN1 (B) CFTR (C) HBB (D) PAH",
                "options": LETTERED,
                "label": "B",
                "medical_task": "Basic Science",
            }
        ),
    ),
]


@pytest.mark.parametrize(("format", "content"), SETS)
def test_a_published_set_is_recognised_by_its_fields(format: str, content: bytes) -> None:
    found = parse_option_set(content)
    first = found.questions[0]
    assert (found.format, found.refused) == (format, ())
    assert (first.question, dict(first.options), first.gold) == (ASKED, LETTERED, "B")


def test_the_order_of_gpqa_depends_on_the_record_alone() -> None:
    names = ["Record ID", "Question", "Correct Answer", *(f"Incorrect Answer {n}" for n in (1, 2, 3))]
    rows = [[f"rec{number}", ASKED, "CFTR", "FBN1", "HBB", "PAH"] for number in range(40)]
    found = parse_option_set(table(names, *rows)).questions
    again = {each.id: each.gold for each in parse_option_set(table(names, *reversed(rows))).questions}
    assert all(each.gold is not None and each.options[each.gold] == "CFTR" for each in found)
    assert {each.gold for each in found} == set("ABCD")
    assert {each.id: each.gold for each in found} == again


def test_whether_medmcqa_counts_from_0_or_1_is_asked_where_it_cannot_be_told() -> None:
    unclear = lines(MEDMCQA)
    with pytest.raises(SourceError, match="medmcqa-0"):
        parse_option_set(unclear)
    assert parse_option_set(unclear, format="medmcqa-0").questions[0].gold == "B"
    assert parse_option_set(unclear, format="medmcqa-1").questions[0].gold == "A"
    with pytest.raises(SourceError, match="cop is 0 in one row and 4"):
        parse_option_set(lines({**MEDMCQA, "cop": 0}, {**MEDMCQA, "id": "m2", "cop": 4}))


def test_a_question_without_a_right_option_is_read_and_not_answerable() -> None:
    found = parse_option_set(lines({**MEDMCQA, "cop": -1}))
    assert [each.gold for each in found.questions] == [None]


def test_two_formats_in_one_file_are_refused_with_the_line_of_each() -> None:
    with pytest.raises(SourceError, match=r"medqa \(line 1\) and medmcqa \(line 2\)"):
        parse_option_set(lines(MEDQA, MEDMCQA))


@pytest.mark.parametrize("names", [["id", "question", "A", "B", "C", "D"], ["question", "A", "B", "C", "D", ""]])
def test_the_names_of_columns_are_no_row_of_a_table_without_them(names: list[str]) -> None:
    with pytest.raises(SourceError, match=f"no known format has the fields {names[0]}, {names[1]}"):
        parse_option_set(table(names, ["1", "Which?", "x", "y", "z", "A"]))


def test_a_format_can_be_forced_and_an_unknown_one_is_named() -> None:
    assert parse_option_set(lines(MEDQA), format="medqa").format == "medqa"
    with pytest.raises(UsageError, match="no format of option questions 'medq'"):
        parse_option_set(lines(MEDQA), format="medq")
    with pytest.raises(SourceError, match="is missing"):
        parse_option_set(lines(MEDQA), format="medxpertqa")


def test_a_table_that_is_cut_off_keeps_its_whole_rows_and_says_so() -> None:
    found = parse_option_set(table([ASKED, *WORDS, "B"], [ASKED, *WORDS, "B"], [ASKED]))
    assert len(found.questions) == 2 and "line 3: it has 1 cells" in found.refused[0]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({**MEDQA, "answer_idx": "F"}, "'F' is none of its options"),
        ({**MEDQA, "options": None}, "options are no object"),
        ({**MEDMCQA, "question": 7}, "question is no text"),
        ({"question": ASKED, "choices": "x", "answer": 0}, "choices are no list"),
    ],
)
def test_a_row_that_is_no_question_is_refused(row: Any, said: str) -> None:
    format = "medmcqa" if "cop" in row else "mmlu" if "choices" in row else "medqa"
    with pytest.raises(SourceError, match=said):
        parse_option_set(lines(row), format="medmcqa-0" if format == "medmcqa" else format)


@given(st.sampled_from(PUBLISHED), st.dictionaries(st.sampled_from([*MEDQA, *MEDMCQA, "choices", "label"]), st.text()))
def test_any_row_is_read_or_refused_in_one_line(name: str, row: dict[str, Any]) -> None:
    try:
        parse_option_set(lines(row), format=name)
    except KgdxError as error:
        assert "\n" not in str(error)


def test_the_table_of_fields_names_every_format() -> None:
    assert all(name in str(option_questions.__doc__).lower() for name in PUBLISHED)
