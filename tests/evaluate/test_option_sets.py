"""Our own option questions are read; what is no question is refused with its line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.answer.option_questions import LETTERS, OptionQuestion
from kgdx.errors import KgdxError, MissingPackageError, SourceError, UsageError
from kgdx.evaluate.option_sets import FORMATS, parse_option_set, read_option_set, set_digest, write_option_questions

ASKED = "Which gene causes cystic fibrosis?"
WORDS = ["FBN1", "CFTR", "HBB", "PAH"]
LETTERED = dict(zip("ABCD", WORDS, strict=True))
OWN = {"question": ASKED, "options": LETTERED, "gold": "B"}


def lines(*rows: Any) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({**OWN, "options": {**LETTERED, "C": "cftr."}}, "options B and C are equal"),
        ({**OWN, "options": {"A": "x"}}, "has 1 options"),
        ({**OWN, "gold": "F"}, "'F' is none of its options"),
        ({**OWN, "question": " "}, "question is empty"),
        ({**OWN, "options": None}, "options are no object"),
        ({**OWN, "question": 7}, "question is no text"),
        ([1], "not a JSON object"),
        ({"question": ASKED}, "'options' is missing"),
    ],
)
def test_a_row_that_is_no_question_is_refused_with_its_line_and_the_rest_is_read(row: Any, said: str) -> None:
    found = parse_option_set(lines(OWN, row, OWN), "own.jsonl")
    assert len(found.questions) == 2
    assert len(found.refused) == 1 and said in found.refused[0] and "own.jsonl line 2" in found.refused[0]


def test_a_file_that_is_cut_off_keeps_its_whole_lines_and_says_so() -> None:
    found = parse_option_set(lines(OWN, OWN)[:-20])
    assert len(found.questions) == 1 and "line 2: it is not valid JSON; is the file cut off?" in found.refused[0]


def test_a_gzip_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl.gz"
    file.write_bytes(gzip.compress(lines(OWN))[:-9])
    with pytest.raises(SourceError, match="truncated"):
        read_option_set(file)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"[]", b"\xff\xfe", b"a,b\n1,2\n", b'{"text": "x"}'])
def test_a_file_that_holds_no_question_is_refused(content: bytes) -> None:
    with pytest.raises(SourceError):
        parse_option_set(content)


def test_two_questions_of_one_id_are_one_question_and_a_refusal() -> None:
    row = {"id": "q1", "question": ASKED, "options": LETTERED}
    found = parse_option_set(lines(row, row))
    assert len(found.questions) == 1 and "another question 'q1'" in found.refused[0]


def test_a_published_set_says_which_package_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    monkeypatch.setattr(FORMATS, "_points", None)
    monkeypatch.setattr(FORMATS, "_classes", {})
    medqa = {"question": ASKED, "options": LETTERED, "answer": "CFTR", "answer_idx": "B"}
    with pytest.raises(SourceError, match=r"the fields question, options, answer, answer_idx.*pip install kgdx-datas"):
        parse_option_set(lines(medqa))
    with pytest.raises(MissingPackageError, match="format of option questions medqa needs the package kgdx-datasets"):
        parse_option_set(lines(medqa), format="medqa")
    with pytest.raises(UsageError, match="no format of option questions 'medq'"):
        parse_option_set(lines(medqa), format="medq")


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
