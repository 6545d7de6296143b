"""Lines of questions and answers, in all published forms and in none."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.errors import SourceError
from kgdx.ingest.extraction.question_pages import LARGEST, LONGEST_LINE, LONGEST_TEXT, clean, pages, read_line


def line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"questions": [["问一", "问二"]], "answers": ["答"]}, ("问一", "答", None)),
        ({"questions": ["问"], "answers": ["答一", "答二", "答一"]}, ("问", "答一\n答二", None)),
        ({"questions": "问", "answers": "答"}, ("问", "答", None)),
        ({"input": "问", "output": "答"}, ("问", "答", None)),
        ({"instruction": "问", "output": "答", "input": ""}, ("问", "答", None)),
        ({"output": "答", "input": ""}, None),
        ({"id": 7, "question": "问", "answer": "答", "label": "x"}, ("问", "答", "7")),
        ({"_id": "a1", "question": " <p>问</p> ", "answer": "答\u0000"}, ("问", "答", "a1")),
        ({"id": True, "question": "问", "answer": "答"}, ("问", "答", None)),
        ({"Question": "问", "Complex_CoT": "想", "Response": "答"}, ("问", "答", None)),
        ({"data": ["问：一", "答：二", "问：三", "答：四"]}, ("一\n三", "二\n四", None)),
        ({"data": ["一", "二"], "id": "x"}, ("一", "二", "x")),
        (
            {"conversations": [{"from": "human", "value": "问"}, {"from": "gpt", "value": "答"}]},
            ("问", "答", None),
        ),
        (
            {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "问"}]},
            None,
        ),
        ({"messages": [{"role": "user", "content": "问"}, {"role": "assistant", "content": "答"}]}, ("问", "答", None)),
    ],
)
def test_each_published_form_is_read(record: dict[str, Any], expected: tuple[str, str, str | None] | None) -> None:
    if expected is None:
        with pytest.raises(ValueError, match="input is empty|nobody answers"):
            read_line(line(record))
    else:
        assert read_line(line(record)) == expected


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"no JSON", "is no JSON"),
        (b'{"question": "a", "answer": ', "is no JSON"),
        (b"[1, 2]", "no JSON object"),
        (b"7", "no JSON object"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b'{"question": "a\0", "answer": "b"}', "NUL"),
        (line({"text": "a"}), "no question and answer"),
        (line({"data": ["问：一"]}), "nobody answers"),
        (line({"conversations": [{"from": "gpt", "value": "b"}]}), "nobody asks"),
        (line({"data": [7]}), "neither text nor an object"),
        (line({"conversations": [{"from": "human", "value": 7}]}), "a turn is no text"),
        (line({"question": "a", "answer": ""}), "answer is empty"),
        (line({"questions": [[]], "answers": ["b"]}), "questions is empty"),
        (line({"question": 3, "answer": "b"}), "question is no text"),
        (line({"question": None, "answer": "b"}), "question is no text"),
        (line({"question": {"a": "b"}, "answer": "b"}), "question is no text"),
        (line({"questions": [[["a"]]], "answers": "b"}), "questions is no text"),
        (line({"question": "a", "answer": "b" * (LONGEST_TEXT + 1)}), "answer is longer"),
        (line({"question": "a", "answer": "b" * 10_000_000}), "the line is longer"),
        (b"[" * 100_000, "is no JSON"),
        (b'{"a":' * 50_000, "is no JSON"),
    ],
)
def test_what_is_no_record_is_refused_with_a_reason(content: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_line(content)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
keys = st.sampled_from(["questions", "answers", "question", "answer", "input", "output", "id", "x"])


@given(st.binary(max_size=200) | st.dictionaries(keys, values, max_size=5).map(line))
def test_no_line_breaks_the_parser(content: bytes) -> None:
    try:
        question, answer, own = read_line(content)
    except ValueError as error:
        assert "\n" not in str(error)
    else:
        assert question.strip() and answer.strip()
        assert "\0" not in question + answer + (own or "")


@given(st.text())
def test_a_clean_text_stays_as_it_is(text: str) -> None:
    assert clean(clean(text)) == clean(text) or "<" in text


def write(path: Path, lines: list[bytes], packed: bool = False) -> Path:
    content = b"\n".join(lines) + b"\n"
    path.write_bytes(gzip.compress(content) if packed else content)
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_files_are_cut_into_pages_with_the_numbers_of_their_lines(tmp_path: Path, packed: bool) -> None:
    one = write(tmp_path / "one.jsonl", [b"a", b"", b"b", b"  ", b"c"], packed)
    two = write(tmp_path / "two.jsonl", [b"d\r"], packed)
    found = list(pages([one, two], 2))
    assert [(page.number, page.file, page.lines) for page in found] == [
        (0, "one.jsonl", ((1, b"a"), (3, b"b"))),
        (1, "one.jsonl", ((5, b"c"),)),
        (2, "two.jsonl", ((1, b"d"),)),
    ]


def test_a_line_without_an_end_is_cut_and_the_next_one_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "long.jsonl", [b"x" * (3 * LONGEST_LINE), b"next"])
    (page,) = pages([path])
    assert [(number, len(content)) for number, content in page.lines] == [(1, LONGEST_LINE + 1), (2, 4)]


def test_a_page_of_long_lines_holds_fewer_of_them(tmp_path: Path) -> None:
    path = write(tmp_path / "heavy.jsonl", [b"x" * (LONGEST_LINE - 1)] * (LARGEST // LONGEST_LINE + 3))
    assert len(list(pages([path]))) == 2


def test_a_json_array_is_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is a JSON array, not JSON lines"):
        list(pages([write(tmp_path / "array.json", [b'[{"question": "a"}]'])]))


def test_a_missing_or_damaged_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"none\.jsonl"):
        list(pages([tmp_path / "none.jsonl"]))
    damaged = tmp_path / "damaged.jsonl.gz"
    damaged.write_bytes(gzip.compress(b"line\n" * 10_000)[:-20])
    with pytest.raises(SourceError, match="damaged"):
        list(pages([damaged]))


def test_a_page_has_another_digest_when_its_content_place_or_reader_changes(tmp_path: Path) -> None:
    (page,) = pages([write(tmp_path / "a.jsonl", [b"a", b"b"])])
    (other,) = pages([write(tmp_path / "b.jsonl", [b"a", b"b"])])
    (changed,) = pages([write(tmp_path / "a.jsonl", [b"a", b"c"])])
    assert len({page.digest("r"), page.digest("s"), other.digest("r"), changed.digest("r")}) == 4
