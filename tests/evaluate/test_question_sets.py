"""Question sets: what is written is read again, and whatever else a file holds is refused by its line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.errors import KgdxError, SourceError, UsageError
from kgdx.evaluate.question_sets import (
    LANGUAGES,
    SPLITS,
    BenchmarkQuestion,
    Gold,
    chosen,
    parse_questions,
    phrases,
    read_questions,
    set_digest,
    wordings,
    write_questions,
)

TEN = [f"get_{kind}" for kind in ("symptom", "test", "drug", "cure", "comorbidity")]
TEN += [f"infer_by_{kind}" for kind in ("symptom", "test", "drug", "cure", "comorbidity")]

words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=20)
made = st.builds(
    BenchmarkQuestion,
    id=words,
    question=words,
    language=st.sampled_from(["", "zh", "en"]),
    action=st.sampled_from(["", *TEN]),
    entities=st.lists(words, max_size=3).map(tuple),
    gold=st.lists(st.builds(Gold, name=words, id=words), max_size=3).map(tuple),
    reference=st.one_of(st.just(""), words),
    case=st.one_of(st.none(), words, st.dictionaries(words, words, max_size=2)),
    split=st.sampled_from(["", *SPLITS]),
)


@given(st.lists(made, min_size=1, max_size=4, unique_by=lambda each: each.id))
def test_set_that_is_written_is_read_again(questions: list[BenchmarkQuestion]) -> None:
    text = write_questions(questions)
    assert parse_questions(text.encode().splitlines()) == tuple(questions)
    assert set_digest(questions) == set_digest(reversed(questions))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_in_words(content: bytes) -> None:
    try:
        found = parse_questions(content.splitlines())
    except KgdxError as error:
        assert error.hint
    else:
        assert found


@given(st.recursive(st.none() | st.integers() | words, lambda inner: st.lists(inner) | st.dictionaries(words, inner)))
def test_any_json_is_read_or_refused_in_words(value: object) -> None:
    line = json.dumps({"id": "q", "question": value, "gold": value}).encode()
    try:
        (found,) = parse_questions([line])
    except SourceError as error:
        assert "line 1" in str(error)
    else:
        assert isinstance(value, str) and found.question


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("", "holds no question"),
        ("{", "line 1: it is not valid JSON"),
        ("[1]", "line 1: it is not a JSON object"),
        ('{"id": "a"}', "line 1: question: Field required"),
        ('{"id": "a", "question": "?", "answer": 1}', "line 1: answer: Extra inputs"),
        ('{"id": "a", "question": "?"}\n\n{"id": "a", "question": "!"}', "line 3: there is another question 'a'"),
        ('{"id": "a", "question": "?", "language": "fr"}', "line 1: language"),
        ("[" * 100_000, "line 1: it is not valid JSON"),
        ('{"id": "a", "question": "' + "x" * 1_000_001 + '"}', "longer than"),
    ],
)
def test_line_that_is_no_question_is_refused_with_its_number(lines: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        parse_questions(lines.encode().splitlines())


def test_file_may_be_gzipped_and_says_so_when_it_is_cut(tmp_path: Path) -> None:
    whole = gzip.compress(write_questions([BenchmarkQuestion(id="a", question="Why?")]).encode())
    path = tmp_path / "set.jsonl.gz"
    path.write_bytes(whole)
    assert read_questions(path)[0].id == "a"
    path.write_bytes(whole[:-9])
    with pytest.raises(SourceError, match="truncated or damaged"):
        read_questions(path)
    with pytest.raises(SourceError, match="cannot be read"):
        read_questions(tmp_path / "none.jsonl")
    with pytest.raises(SourceError, match="cannot be read"):
        read_questions(tmp_path)


def test_split_that_nobody_has_is_refused_with_those_there_are() -> None:
    questions = [
        BenchmarkQuestion(id="a", question="?", split="tuned"),
        BenchmarkQuestion(id="b", question="?", split="held_out"),
    ]
    assert [each.id for each in chosen(questions, "held_out")] == ["b"]
    assert len(chosen(questions, None)) == 2
    with pytest.raises(UsageError, match="it has held_out, tuned"):
        chosen(questions, "test")


def test_every_action_is_asked_for_in_both_languages_and_splits_in_words_of_its_own() -> None:
    assert list(phrases()["tuned"]) == TEN
    every = [each for action in TEN for language in LANGUAGES for each in wordings(action, language)]
    assert {(each.action, each.language, each.split) for each in every} == {
        (action, language, split) for action in TEN for language in LANGUAGES for split in SPLITS
    }
    repeated = [each.id for each in every if [other.text for other in every].count(each.text) > 1]
    assert not repeated, "a wording stands in two places"  # its words are not shown: held-out ones stay unseen
    assert len({each.id for each in every}) == len(every)
    assert all(each.text.count("{x}") == 1 for each in every)
    assert all(
        len(list(wordings(action, language, split))) >= 2
        for action in TEN
        for language in LANGUAGES
        for split in SPLITS
    )
