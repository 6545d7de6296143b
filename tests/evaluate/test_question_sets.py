"""Question sets, written, read again and made from a graph."""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from benchmarks.scripted_models import right_action
from hypothesis import given
from hypothesis import strategies as st

import kgdx
from evaluate.conftest import records
from kgdx.api import Graph
from kgdx.errors import KgdxError, SourceError, UsageError
from kgdx.evaluate.answer_pairs import CompiledTemplates
from kgdx.evaluate.question_sets import (
    ASKED,
    LANGUAGES,
    MOST_GOLD,
    MOST_NAMED,
    SPLITS,
    BenchmarkQuestion,
    Gold,
    chosen,
    generate,
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
    with pytest.raises(SourceError, match="is a folder"):
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


FIELDS = {"symptom": "symptom", "test": "check", "drug": "common_drug", "cure": "cure_way", "comorbidity": "acompany"}


def stated(documents: list[dict[str, object]]) -> dict[str, dict[str, set[str]]]:
    """Kind → disease → what the source's file says, read without kgdx; complications count in both directions."""
    found: dict[str, dict[str, set[str]]] = {kind: defaultdict(set) for kind in FIELDS}
    for document in documents:
        for kind, field in FIELDS.items():
            for name in document.get(field) or ():  # type: ignore[attr-defined]
                found[kind][str(document["name"])].add(name)
                if kind == "comorbidity":
                    found[kind][name].add(str(document["name"]))
    return found


def check(questions: list[BenchmarkQuestion], facts: dict[str, dict[str, set[str]]]) -> None:
    for question in questions:
        kind = question.action.rpartition("_")[2]
        gold = {each.name for each in question.gold}
        if question.action.startswith("get_"):
            if question.language == "zh":
                assert gold == facts[kind][question.entities[0]], question.id
        else:
            assert len(question.entities) <= MOST_NAMED and len(gold) <= MOST_GOLD
            having = {disease for disease, names in facts[kind].items() if set(question.entities) <= names}
            assert gold == having, question.id


def test_gold_is_what_the_source_states(chinese: Graph) -> None:
    questions = list(generate(CompiledTemplates(chinese), diseases=None))
    check(questions, stated(records()))
    counts = Counter((each.action, each.language, each.split) for each in questions)
    assert set(counts.values()) == {8}
    assert len(counts) == 10 * 2 * 2


def test_every_relation_is_asked_for(chinese: Graph) -> None:
    questions = generate(CompiledTemplates(chinese), diseases=None, languages=("zh",), splits=("held_out",))
    asked = {
        (each.action, each.entities[0], gold.name)
        for each in questions
        if each.action.startswith("get_")
        for gold in each.gold
    }
    facts = stated(records())
    described = {str(document["name"]) for document in records()}
    assert asked == {
        (f"get_{kind}", disease, name)
        for kind in FIELDS
        for disease, names in facts[kind].items()
        for name in names
        if disease in described
    }


def test_questions_are_the_same_each_time_and_in_each_way_to_read(chinese: Graph) -> None:
    one, other = list(generate(CompiledTemplates(chinese), diseases=3)), list(generate(chinese, diseases=3))
    assert one == other
    assert one != list(generate(CompiledTemplates(chinese), diseases=3, seed=1))
    assert parse_questions(write_questions(one).encode().splitlines()) == tuple(one)


def test_english_questions_call_a_disease_by_its_english_name(chinese: Graph) -> None:
    asked = [each for each in generate(CompiledTemplates(chinese), languages=("en",)) if each.action == "get_test"]
    assert {each.entities[0] for each in asked} == {f"madeup disease {letter}" for letter in "abcdefgh"}
    assert all(each.entities[0] in each.question for each in asked)


def test_question_names_what_it_is_about(chinese: Graph) -> None:
    for question in generate(CompiledTemplates(chinese)):
        assert all(name in question.question for name in question.entities)
        assert right_action(question)["action"] == question.action


def test_source_without_relations_is_refused(chinese: Graph) -> None:
    with pytest.raises(UsageError, match="no disease of the source 'nowhere'"):
        list(generate(CompiledTemplates(chinese), source="nowhere"))


def test_kinds_of_relations_are_those_of_the_actions() -> None:
    assert ASKED.keys() == FIELDS.keys()


@pytest.mark.heavy
def test_gold_of_the_real_graph_is_what_its_file_states(chinese_graph: Path, shared_data: Path) -> None:
    path = shared_data / "chinese-disease-kg.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        facts = stated([json.loads(line) for line in lines])
    with kgdx.open(chinese_graph) as graph:
        questions = list(generate(CompiledTemplates(graph), diseases=40, languages=("zh",)))
    assert len(questions) == 10 * 40 * 2
    missed = total = 0
    for question in questions:
        kind = question.action.rpartition("_")[2]
        gold = {each.name for each in question.gold}
        if question.action.startswith("get_"):
            expected = facts[kind][question.entities[0]]
        else:
            expected = {disease for disease, names in facts[kind].items() if set(question.entities) <= names}
        total += len(gold | expected)
        missed += len(gold ^ expected)
    sys.stderr.write(f"{missed} of {total} differ\n")
    assert missed / total < 0.01, "names that the loader cleans or refuses, and nothing else"
