"""The graph actions: how they understand names, what they ask the graph, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from actions.fakes import SEIZURE
from kgdx.actions import (
    ACTIONS,
    GetCooccurrence,
    GetPhenotype,
    GetSymptom,
    InferByComorbidity,
    InferByPhenotype,
    InferBySymptom,
    parse_action,
)
from kgdx.actions.entities import MOST, MOST_IDS, distinct, given_rows, ids_of
from kgdx.answer.artifacts import Retrieved, resolved_of
from kgdx.case import Case
from kgdx.episode import State, step
from kgdx.episode.described import fields_of
from kgdx.errors import UsageError
from kgdx.graph.templates import template
from kgdx.results.cited import Resolved

TEN = ("symptom", "test", "drug", "cure", "comorbidity")


@pytest.fixture
def asked(graph: Any) -> Any:
    graph.answers |= {action.template: [] for _, action in ACTIONS.items() if hasattr(action, "template")}
    return graph


def test_an_action_asks_for_all_entries_of_the_names_it_is_given(asked: Any) -> None:
    state = step(asked, State(Case("p")), GetSymptom(diseases=("flu", "gout"), limit=7))
    assert asked.asked == [("symptoms_of_diseases", {"diseases": ["KGDX:a.1", "OMIM:9", "KGDX:b.1"], "limit": 7})]
    assert [(each.given, each.ids) for each in resolved_of(state)] == [
        ("flu", ("KGDX:a.1", "KGDX:b.1")),
        ("gout", ("OMIM:9",)),
    ]
    assert state.all(Retrieved)[0].action == "get_symptom"


def test_the_same_resolution_is_kept_once(asked: Any) -> None:
    state = step(asked, State(Case("p")), GetSymptom(diseases=("flu",)))
    assert len(resolved_of(step(asked, state, GetPhenotype(diseases=("flu",))))) == 1


def test_several_nodes_of_one_name_count_as_one_match(asked: Any) -> None:
    step(asked, State(Case("p")), InferBySymptom(symptoms=("fever", "cough"), min_match_count=2))
    rows = [{"given": "1", "id": "KGDX:a.2"}, {"given": "2", "id": "KGDX:a.3"}, {"given": "1", "id": "KGDX:b.2"}]
    assert asked.asked == [("infer_diseases_by_symptoms", {"symptoms": rows, "min_match_count": 2, "limit": 20})]


def test_names_that_mean_the_same_or_nothing_lower_what_must_match(asked: Any) -> None:
    step(asked, State(Case("p")), InferByComorbidity(diseases=("flu", "gout", "coqueluche"), min_match_count=3))
    assert asked.asked[0][1]["min_match_count"] == 2
    twice = [
        Resolved("高血压", ids=("D:1", "D:2")),
        Resolved("血压高", ids=("D:2", "D:1")),
        Resolved("痛风", ids=("D:3",)),
    ]
    assert [each.given for each in distinct(twice)] == ["高血压", "痛风"]


def test_an_entry_of_two_names_counts_for_both_unless_it_is_called_by_one() -> None:
    nausea = Resolved("恶心", ids=("S:1", "S:2", "S:9"), names=("恶心", "呕吐", "胃不适"))
    vomiting = Resolved("呕吐", ids=("S:2", "S:9"), names=("呕吐", "胃不适"))
    rows = {(row["given"], row["id"]) for row in given_rows([nausea, vomiting])}
    assert rows == {("1", "S:1"), ("2", "S:2"), ("1", "S:9"), ("2", "S:9")}


def test_comorbidities_are_named_as_diseases(asked: Any) -> None:
    step(asked, State(Case("p")), InferByComorbidity(diseases=("gout",)))
    assert asked.asked[0][1]["comorbidities"] == [{"given": "1", "id": "OMIM:9"}]


def test_findings_are_matched_by_the_best_term_of_each_name(asked: Any) -> None:
    step(asked, State(Case("p")), InferByPhenotype(phenotypes=("seizure",)))
    assert asked.asked[0][1]["phenotypes"] == [SEIZURE]
    step(asked, State(Case("p")), GetCooccurrence(phenotype="seizure", source="a"))
    assert asked.asked[1][1] == {"phenotype": SEIZURE, "source": "a", "limit": 20}


def test_an_unknown_name_beside_a_known_one_is_told_and_left_out(asked: Any) -> None:
    state = step(asked, State(Case("p")), GetSymptom(diseases=("gout", "coqueluche")))
    assert asked.asked[0][1]["diseases"] == ["OMIM:9"]
    unknown = resolved_of(state)[1]
    assert (unknown.given, unknown.ids, unknown.candidates) == ("coqueluche", (), ("gout",))
    assert unknown.to_dict()["reason"]


@pytest.mark.parametrize("name", ["coqueluche", "x' OR 1=1 //", "MATCH (n) DETACH DELETE n", "痛风" * 100])
def test_names_that_mean_nothing_are_an_error_with_names_that_come_near(asked: Any, name: str) -> None:
    with pytest.raises(UsageError, match=r"the graph knows no disease called .*names that come near: .*gout"):
        step(asked, State(Case("p")), GetSymptom(diseases=(name,)))
    assert asked.asked == []


def test_a_long_list_of_unknown_names_makes_a_short_message(asked: Any) -> None:
    with pytest.raises(UsageError, match="45 more") as caught:
        step(asked, State(Case("p")), GetSymptom(diseases=tuple(f"no disease {n}" for n in range(50))))
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "document",
    [
        {"diseases": []},
        {"diseases": [f"d{n}" for n in range(MOST + 1)]},
        {"diseases": ["flu"] * 10_000},
        {"diseases": ["  "]},
        {"diseases": ["x" * 301]},
        {"diseases": "flu"},
        {"diseases": ["flu"], "limit": 0},
        {"diseases": ["flu"], "limit": 10**6},
        {"diseases": [{"$ne": 1}]},
        {"diseases": ["flu"], "template": "build"},
    ],
)
def test_what_no_action_takes_is_refused_with_the_field_at_fault(document: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"action get_symptom: \w+"):
        parse_action({"action": "get_symptom", **document}, ACTIONS)


def test_names_given_twice_are_looked_up_once() -> None:
    assert GetSymptom(diseases=(" flu", "flu", "gout")).diseases == ("flu", "gout")


@pytest.mark.parametrize("word", ["GET_SYMPTOM", "Get_Symptoms", " get_symptom ", "get_symptom"])
def test_an_action_is_known_by_its_name_in_the_paper_in_any_case(word: str) -> None:
    assert isinstance(parse_action({"action": word, "diseases": ["flu"]}, ACTIONS), GetSymptom)


@pytest.mark.parametrize(
    ("word", "name", "field"),
    [
        ("GET_SYMPTOMS_OF_DISEASE", "get_symptom", "diseases"),
        ("GET_TESTS_OF_DISEASE", "get_test", "diseases"),
        ("GET_DRUGS_OF_DISEASE", "get_drug", "diseases"),
        ("GET_CURES_OF_DISEASE", "get_cure", "diseases"),
        ("get_comorbidities_of_disease", "get_comorbidity", "diseases"),
        ("GET_PHENOTYPES_OF_DISEASE", "get_phenotype", "diseases"),
        ("GET_GENES_OF_DISEASE", "get_gene", "diseases"),
        ("GET_MEDICINES_OF_DISEASE", "get_medicine", "diseases"),
        ("INFER_DISEASES_BY_SYMPTOMS", "infer_by_symptom", "symptoms"),
        ("INFER_DISEASES_BY_TESTS", "infer_by_test", "tests"),
        ("INFER_DISEASES_BY_DRUGS", "infer_by_drug", "drugs"),
        ("INFER_DISEASES_BY_CURES", "infer_by_cure", "cures"),
        ("INFER_DISEASES_BY_COMORBIDITIES", "infer_by_comorbidity", "diseases"),
        ("Infer_Diseases_By_Genes", "infer_by_gene", "genes"),
        ("INFER_DISEASES_BY_PHENOTYPES", "infer_by_phenotype", "phenotypes"),
    ],
)
def test_an_action_is_known_by_its_whole_name_in_the_paper(word: str, name: str, field: str) -> None:
    assert isinstance(parse_action({"action": word, field: ["x"]}, ACTIONS), ACTIONS[name])


def test_no_two_actions_share_a_name() -> None:
    names = [name for kind in ACTIONS.values() for name in {kind.name, *(alias.lower() for alias in kind.aliases)}]
    assert len(names) == len(set(names))


def test_the_ten_actions_of_the_paper_are_there_under_its_names() -> None:
    paper = {f"GET_{what.upper()}" for what in TEN} | {f"INFER_BY_{what.upper()}" for what in TEN}
    assert paper <= {alias for kind in ACTIONS.values() for alias in kind.aliases}


TEMPLATES = {
    "get_symptom": "symptoms_of_diseases",
    "get_test": "tests_of_diseases",
    "get_drug": "drugs_of_diseases",
    "get_cure": "cures_of_diseases",
    "get_comorbidity": "comorbidities_of_diseases",
    "get_phenotype": "phenotypes_of_diseases",
    "get_gene": "genes_of_diseases",
    "get_medicine": "medicines_of_diseases",
    "get_cooccurrence": "cooccurring_phenotypes",
    "infer_by_symptom": "infer_diseases_by_symptoms",
    "infer_by_test": "infer_diseases_by_tests",
    "infer_by_drug": "infer_diseases_by_drugs",
    "infer_by_cure": "infer_diseases_by_cures",
    "infer_by_comorbidity": "infer_diseases_by_comorbidities",
    "infer_by_phenotype": "infer_diseases",
    "infer_by_gene": "infer_diseases_by_genes",
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_an_action_runs_its_one_template_with_parameters_that_fit(asked: Any, name: str) -> None:
    kind: Any = ACTIONS[name]
    field = next(iter(fields_of(kind))).name
    document = {
        "action": name,
        field: "seizure" if name == "get_cooccurrence" else ["gout", "fever", "seizure", "other"],
    }
    step(asked, State(Case("p")), parse_action(document, ACTIONS))
    ((ran, parameters),) = asked.asked
    assert ran == TEMPLATES[name] == kind.template
    assert template(ran, "read").bind(parameters) == parameters


def test_the_ids_of_very_many_entries_are_bounded_and_each_name_keeps_its_best() -> None:
    many = [Resolved(f"d{n}", ids=tuple(f"{n}:{place}" for place in range(40))) for n in range(50)]
    ids = ids_of(many)
    assert len(ids) == MOST_IDS
    assert {f"{n}:0" for n in range(50)} <= set(ids)
    assert {row["given"] for row in given_rows(many)} == {str(n) for n in range(1, 51)}
