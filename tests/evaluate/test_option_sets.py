"""Published sets of option questions and our own are read; what is no question is refused with its line."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.answer.option_questions import LETTERS, OptionQuestion
from kgdx.errors import KgdxError, SourceError, UsageError
from kgdx.evaluate.option_sets import parse_option_set, read_option_set, set_digest, write_option_questions

ASKED = "Which gene causes cystic fibrosis?"
WORDS = ["FBN1", "CFTR", "HBB", "PAH"]
LETTERED = dict(zip("ABCD", WORDS, strict=True))
COLUMNS = {f"op{letter.lower()}": words for letter, words in LETTERED.items()}


def lines(*rows: Any) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def table(*rows: list[str]) -> bytes:
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue().encode()


MEDQA = {"question": ASKED, "answer": "CFTR", "options": LETTERED, "meta_info": "step1", "answer_idx": "B"}
MEDMCQA = {"question": ASKED, "exp": "…", "cop": 1, **COLUMNS, "subject_name": "x", "id": "m1", "choice_type": "single"}
PUBLISHED = [
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
    ("own", lines({"id": "q1", "question": ASKED, "options": LETTERED, "gold": "B", "needed": ["PMID:1"]})),
]


@pytest.mark.parametrize(("format", "content"), PUBLISHED)
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
    assert len(found.questions) == 1 and found.answerable == ()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({**MEDQA, "options": {**LETTERED, "C": "cftr."}}, "options B and C are equal"),
        ({**MEDQA, "options": {"A": "x"}}, "has 1 options"),
        ({**MEDQA, "answer_idx": "F"}, "'F' is none of its options"),
        ({**MEDQA, "question": " "}, "question is empty"),
        ({**MEDQA, "options": None}, "options are no object"),
        ({**MEDQA, "question": 7}, "question is no text"),
        ([1], "not a JSON object"),
        ({"question": ASKED}, "'options' is missing"),
    ],
)
def test_a_row_that_is_no_question_is_refused_with_its_line_and_the_rest_is_read(row: Any, said: str) -> None:
    found = parse_option_set(lines(MEDQA, row, MEDQA), "medqa.jsonl")
    assert len(found.questions) == 2
    assert len(found.refused) == 1 and said in found.refused[0] and "medqa.jsonl line 2" in found.refused[0]


def test_a_file_that_is_cut_off_keeps_its_whole_lines_and_says_so() -> None:
    found = parse_option_set(lines(MEDQA, MEDQA)[:-20])
    assert len(found.questions) == 1 and "line 2: it is not valid JSON; is the file cut off?" in found.refused[0]
    cut = table([ASKED, *WORDS, "B"], [ASKED, *WORDS, "B"], [ASKED])
    found = parse_option_set(cut)
    assert len(found.questions) == 2 and "line 3: it has 1 cells" in found.refused[0]


def test_a_gzip_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    file = tmp_path / "medqa.jsonl.gz"
    file.write_bytes(gzip.compress(lines(MEDQA))[:-9])
    with pytest.raises(SourceError, match="truncated"):
        read_option_set(file)


def test_two_formats_in_one_file_are_refused_with_the_line_of_each() -> None:
    with pytest.raises(SourceError, match=r"medqa \(line 1\) and medmcqa \(line 2\)"):
        parse_option_set(lines(MEDQA, MEDMCQA))


@pytest.mark.parametrize("content", [b"", b"\n\n", b"[]", b"\xff\xfe", b"a,b\n1,2\n", b'{"text": "x"}'])
def test_a_file_that_holds_no_question_is_refused(content: bytes) -> None:
    with pytest.raises(SourceError):
        parse_option_set(content)


@pytest.mark.parametrize("names", [["id", "question", "A", "B", "C", "D"], ["question", "A", "B", "C", "D", ""]])
def test_the_names_of_columns_are_no_row_of_a_table_without_them(names: list[str]) -> None:
    with pytest.raises(SourceError, match=f"no known format has the fields {names[0]}, {names[1]}"):
        parse_option_set(table(names, ["1", "Which?", "x", "y", "z", "A"]))


def test_two_questions_of_one_id_are_one_question_and_a_refusal() -> None:
    row = {"id": "q1", "question": ASKED, "options": LETTERED}
    found = parse_option_set(lines(row, row))
    assert len(found.questions) == 1 and "another question 'q1'" in found.refused[0]


def test_a_format_can_be_forced_and_an_unknown_one_is_named() -> None:
    assert parse_option_set(lines(MEDQA), format="medqa").format == "medqa"
    with pytest.raises(UsageError, match="no format is called 'medq'"):
        parse_option_set(lines(MEDQA), format="medq")
    with pytest.raises(SourceError, match="is missing"):
        parse_option_set(lines(MEDQA), format="medxpertqa")


WORD = st.text(min_size=1, max_size=20).filter(lambda words: words.strip(" .。\n\r\t") != "")


@given(st.lists(WORD, min_size=2, max_size=6), st.text(max_size=40), st.integers(0, 5))
def test_what_is_written_is_read_again(options: list[str], question: str, gold: int) -> None:
    try:
        asked = OptionQuestion(
            "q1", question, dict(zip(LETTERS, options, strict=False)), LETTERS[gold % len(options)], ("d1",), "x", "en"
        )
    except UsageError:
        return
    text = "\n".join(write_option_questions([asked])).encode("utf-8", "surrogatepass")
    again = parse_option_set(text).questions
    assert again == (asked,) and set_digest(again) == set_digest([asked])


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused_in_one_line(content: bytes) -> None:
    try:
        parse_option_set(content)
    except KgdxError as error:
        assert "\n" not in str(error)
