"""The graph actions on the Chinese disease graph: names in two languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kgdx
from kgdx.actions import ACTIONS, Action, parse_action
from kgdx.answer.artifacts import Retrieved, resolved_of
from kgdx.case import Case
from kgdx.episode import State, replay, step
from kgdx.errors import UsageError

pytestmark = pytest.mark.heavy

WHOOPING_COUGH = "KGDX:chinese_kg.85f63b2b4dc556fb"

ASKED: list[dict[str, Any]] = [
    {"action": "GET_SYMPTOM", "diseases": ["百日咳", "小儿肺炎"]},
    {"action": "GET_TEST", "diseases": ["pertussis"], "limit": 2},
    {"action": "GET_DRUG", "diseases": ["pertusis"]},
    {"action": "GET_CURE", "diseases": [WHOOPING_COUGH]},
    {"action": "GET_COMORBIDITY", "diseases": ["百日咳"]},
    {"action": "INFER_BY_SYMPTOM", "symptoms": ["呕吐", "抽搐", "胸闷"], "min_match_count": 2},
    {"action": "INFER_BY_TEST", "tests": ["血常规", "胸部平片"], "limit": 5},
    {"action": "INFER_BY_DRUG", "drugs": ["红霉素"]},
    {"action": "INFER_BY_CURE", "cures": ["支持性治疗"], "limit": 3},
    {"action": "INFER_BY_COMORBIDITY", "diseases": ["肺不张", "支气管肺炎"], "min_match_count": 2},
]


@pytest.fixture
def folder(chinese_graph: Path) -> Path:
    return chinese_graph


def actions() -> list[Action]:
    return [parse_action(document, ACTIONS) for document in ASKED]


@pytest.mark.parametrize("action", actions(), ids=lambda action: action.name)
def test_each_action_finds_rows_that_the_template_gives_too(folder: Path, action: Action) -> None:
    with kgdx.open(folder) as graph:
        state = step(graph, State(Case("q")), action)
        (found,) = state.all(Retrieved)
        assert found.rows and found.action == action.name
        assert all(each.ids for each in resolved_of(state))
        assert all(again.same for again in replay(state.log, graph))


def test_whooping_cough_is_the_same_disease_under_all_its_names(folder: Path) -> None:
    with kgdx.open(folder) as graph:
        found = [graph.names.resolve(name) for name in ("百日咳", "pertussis", "Pertusis", "百日欬", WHOOPING_COUGH)]
    assert [each.ids[:1] for each in found if each.ids] == [(WHOOPING_COUGH,)] * 4
    assert [each.method for each in found] == ["exact", "exact", "edit", "", "id"]
    assert found[3].candidates[0].id == WHOOPING_COUGH


def test_all_that_is_matched_is_named(folder: Path) -> None:
    with kgdx.open(folder) as graph:
        state = step(graph, State(Case("q")), actions()[5])
    rows = state.all(Retrieved)[0].rows
    assert all(row["matched"] >= 2 for row in rows)
    assert [row["matched"] for row in rows] == sorted((row["matched"] for row in rows), reverse=True)
    numbers = {id: given for given, each in enumerate(resolved_of(state)) for id in each.ids}
    assert all(row["matched"] == len({numbers[id] for id in row["matched_ids"]}) for row in rows)
    assert all(len(row["matched_ids"]) == len(row["matched_names"]) for row in rows)


@pytest.mark.parametrize("name", ["coqueluche", "MATCH (n) DETACH DELETE n", "百日咳') RETURN n //", "咳" * 200])
def test_the_wrong_language_and_cypher_in_a_name_are_names_that_mean_nothing(folder: Path, name: str) -> None:
    with kgdx.open(folder) as graph, pytest.raises(UsageError, match="the graph knows no disease called"):
        step(graph, State(Case("q")), parse_action({"action": "get_symptom", "diseases": [name]}, ACTIONS))
