"""Question sets made from a graph: gold that its source states, one question for each relation, the same each time."""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import kgdx
from evaluate.conftest import records
from kgdx.api import Graph
from kgdx.errors import UsageError
from kgdx.evaluate.answer_pairs import CompiledTemplates
from kgdx.evaluate.question_sets import (
    ASKED,
    MOST_GOLD,
    MOST_NAMED,
    BenchmarkQuestion,
    generate,
    parse_questions,
    write_questions,
)
from kgdx.evaluate.scripted_models import right_action

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
