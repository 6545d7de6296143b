"""The tools of an agent on a small graph: what they find, the same in both forms, and one line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgdx
from conftest import TINY_FILES, examples
from kgdx.actions import ACTIONS, Lookup, Match, Search, Summarise, parse_action
from kgdx.actions.graph_context import GraphContext
from kgdx.answer.artifacts import Passage, Retrieved, Searched, Summarised
from kgdx.answer.passages import from_model, request
from kgdx.case import Case, Finding
from kgdx.config import Settings
from kgdx.episode import State, step
from kgdx.errors import CaseError, KgdxError, MissingExtraError, UsageError

SEIZURE, FEVER, SHORT = "HP:0001250", "HP:0001945", "HP:0004322"
PATIENTS = [
    {"id": "a", "observed": [SEIZURE, SHORT], "diagnosis": "OMIM:100001", "publications": ["PMID:1"]},
    {"id": "b", "observed": [SEIZURE], "diagnosis": "OMIM:100001", "publications": ["PMID:2"]},
    {"id": "c", "observed": [FEVER], "diagnosis": "OMIM:100002", "publications": ["PMID:2"]},
    {"id": "d", "observed": [SHORT, FEVER], "publications": ["PMID:3"]},
]


@pytest.fixture(scope="module")
def folder(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tools")
    (place / "patients.jsonl").write_text("\n".join(map(json.dumps, PATIENTS)))
    sources = {name: str(tiny / TINY_FILES[name]) for name in ("hp", "hpoa", "genes")}
    kgdx.build({**sources, "cases": str(place / "patients.jsonl")}, store=place / "graph")
    return place / "graph"


@pytest.fixture(scope="module")
def graph(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with GraphContext(Settings.load(str(folder), environ={"KGDX_HOME": str(tmp_path_factory.mktemp("home"))})) as graph:
        yield graph


def found(graph: GraphContext, wish: Any, *observed: str, case: Case | None = None) -> Any:
    state = State(case or Case("p", findings=tuple(Finding(id) for id in observed)))
    return step(graph, state, wish).last(wish.makes)


@pytest.mark.parametrize(
    "wish",
    [
        Lookup(diseases=("Tiny epilepsy",), letter=True),
        Match(findings=(SEIZURE,), phrases=("fits",), irrelevant=2, seed=4),
        Search(query="q", sources=("hp",), dense=True),
        Summarise(query="q", answer="{}"),
    ],
    ids=lambda wish: wish.name,
)
def test_a_tool_is_json_both_ways_and_keeps_words_apart(wish: Any) -> None:
    document = {"action": wish.name, **wish.parameters(), **wish.words()}
    assert parse_action(json.loads(json.dumps(document)), ACTIONS) == wish
    assert not set(wish.parameters()) & {"query", "phrases", "answer"}


def test_a_look_up_gives_the_most_frequent_findings_first(graph: GraphContext) -> None:
    name = str(graph.snapshot.column("disease", "name")[0])
    rows = found(graph, Lookup(diseases=(name,), limit=3)).rows
    shares = [0.45 if row["share"] is None else row["share"] for row in rows]
    assert 0 < len(rows) <= 3 and shares == sorted(shares, reverse=True)


def test_a_name_that_is_no_disease_is_no_reference_beside_one_that_is(graph: GraphContext) -> None:
    name = str(graph.snapshot.column("disease", "name")[0])
    both = found(graph, Lookup(diseases=("zzz qqq", name)))
    assert both.rows and not both.resolved[0].ids
    assert both.resolved[0].reason.startswith("no reference")
    assert "\n" not in both.resolved[0].reason


@pytest.mark.parametrize("by", ["snapshot", "store"])
def test_the_most_similar_patients_come_first(graph: GraphContext, folder: Path, by: str) -> None:
    settings = Settings.load(str(folder), environ={"KGDX_ON_STORE": str(by == "store").lower()})
    with GraphContext(settings) as opened:
        rows = found(opened, Match(), SEIZURE, SHORT).rows
    assert rows[0]["label"] == "a"
    assert list(rows) == list(found(graph, Match(), SEIZURE, SHORT).rows)
    assert rows[0]["score"] > rows[1]["score"] > 0


def test_a_patients_own_publication_is_withheld(graph: GraphContext) -> None:
    own = Case("b", findings=(Finding(SEIZURE),), publications=("PMID:2",))
    labels = {row["label"] for row in found(graph, Match(), case=own).rows}
    assert labels <= {"a", "d"} and "a" in labels


def test_names_and_phrases_are_read_and_unknown_ones_told(graph: GraphContext) -> None:
    by_name = found(graph, Match(findings=("Seizure", "nothing known")))
    assert by_name.parameters["asked"] == [SEIZURE]
    assert [bool(each.ids) for each in by_name.resolved] == [True, False]
    assert by_name.rows == found(graph, Match(phrases=("seizures",))).rows


def test_irrelevant_patients_are_marked_and_drawn_by_the_seed(graph: GraphContext) -> None:
    wish = Match(limit=1, irrelevant=2, seed=1)
    state = step(graph, State(Case("p", findings=(Finding(SEIZURE),))), wish)
    rows = state.all(Retrieved)[0].rows
    assert [bool(row.get("irrelevant")) for row in rows] == [False, True, True]
    assert state.log[-1].data["summary"]["irrelevant"] == [row["id"] for row in rows[1:]]
    assert rows == found(graph, wish, SEIZURE).rows


@pytest.mark.parametrize(
    ("wish", "kind", "said"),
    [
        (Match(), CaseError, "the case has no finding"),
        (Match(findings=("zzz",)), CaseError, "nothing that was given is a finding of the graph"),
        (Match(findings=(SEIZURE,), by="meaning"), MissingExtraError, "encoder"),
        (Search(query="x", sources=("wiki",)), UsageError, "no source of texts is called 'wiki'"),
    ],
)
def test_what_cannot_be_done_is_one_line(graph: GraphContext, wish: Any, kind: type[KgdxError], said: str) -> None:
    with pytest.raises(kind) as error:
        found(graph, wish)
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "document",
    [
        {"action": "search", "query": "   "},
        {"action": "search", "query": "x", "limit": 0},
        {"action": "summarise", "query": ""},
        {"action": "lookup", "diseases": [f"d{at}" for at in range(11)]},
        {"action": "lookup", "diseases": []},
        {"action": "match", "by": "magic"},
        {"action": "match", "irrelevant": -1},
    ],
)
def test_a_wish_that_does_not_fit_is_refused_in_one_line(document: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"action {document['action']}: "):
        parse_action(document, ACTIONS)


def test_a_graph_without_patients_matches_none(tiny: Path, tmp_path: Path) -> None:
    sources = {name: str(tiny / TINY_FILES[name]) for name in ("hp", "hpoa")}
    kgdx.build(sources, store=tmp_path / "graph")
    with GraphContext(Settings.load(str(tmp_path / "graph"))) as graph:
        assert found(graph, Match(irrelevant=2), SEIZURE).rows == ()


def test_a_search_finds_definitions_and_marks_what_was_put_in(graph: GraphContext) -> None:
    state = step(graph, State(Case("p")), Search(query="seizure", limit=2, irrelevant=1))
    (passages,) = (each.passages for each in state.all(Searched))
    assert [each.irrelevant for each in passages][-1:] == [True]
    assert "seizure" in f"{passages[0].title} {passages[0].text}".casefold()
    assert state.log[-1].data["summary"]["irrelevant"] == [passages[-1].id]
    assert "seizure" not in json.dumps(state.log[-2].data)


def test_a_summary_needs_a_search_and_names_its_passages(graph: GraphContext) -> None:
    assert Summarise(query="seizure").refused(State(Case("p"))) == (
        "nothing was searched yet: run the action search first"
    )
    state = step(graph, State(Case("p")), Search(query="seizure"))
    points = step(graph, state, Summarise(query="seizure")).last(Summarised)
    assert points is not None and points.by == "sentences"
    ids = {each.id for each in state.all(Searched)[0].passages}
    assert points.points and {id for _, id in points.points} <= ids
    nothing = step(graph, state, Summarise(query="zzz")).last(Summarised)
    assert nothing is not None and nothing.points == ()


TWO = (Passage("d1", "One", "First text.", "hp", 2.0), Passage("d2", "Two", "Second text.", "hp", 1.0))


def test_a_models_points_are_read_with_the_passages_they_name() -> None:
    asked = request("q", TWO)
    assert "[2] Two" in asked.messages[0].content
    answer = json.dumps({"points": ["It is first [1].", "No number", "It is tenth [10]", "no reference"]})
    assert from_model(answer, TWO, 10) == (("It is first [1].", "d1"), ("No number", ""), ("It is tenth [10]", ""))
    assert from_model('"No reference."', TWO, 10) == ()
    assert len(from_model(json.dumps({"points": ["a"] * 30}), TWO, 10)) == 10


@examples(40)
@given(
    st.lists(st.sampled_from([SEIZURE, FEVER, SHORT, "HP:0000707", "HP:0000118"]), min_size=1, max_size=4),
    st.integers(1, 5),
)
def test_the_bounded_search_is_the_plain_one(graph: GraphContext, ids: list[str], limit: int) -> None:
    rows = found(graph, Match(limit=limit), *ids).rows
    nearness = graph.nearness
    assert nearness is not None
    asked = list(dict.fromkeys(ids))
    listed = nearness.rows(nearness.by_ontology(asked))
    plain = graph.run("similar_cases", near=listed, asked=len(asked), without=["p"], publications=[], limit=limit)
    assert [(row["id"], row["matched"]) for row in rows] == [(row["id"], row["matched"]) for row in plain]
    assert np.allclose([row["score"] for row in rows], [row["score"] for row in plain])
