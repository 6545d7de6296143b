"""The fixed plan: rounds of questions that tell most, each asked once, and the ranking with the case bank."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgdx
from kgdx.api import Graph
from kgdx.case import Case, Finding
from kgdx.cli.commands import main
from kgdx.episode import AskPatient, Author, Kind, World, begin, run
from kgdx.episode.policy import make_policy
from kgdx.episode.recorded_patient import SimulatedPatient
from kgdx.errors import UsageError
from kgdx.policies.inquiry import RoundsPolicy

SEIZURE, HYPOTONIA, SHORT = "HP:0001250", "HP:0001252", "HP:0004322"
RECORDED = Case("p", (Finding(SEIZURE), Finding(HYPOTONIA), Finding(SHORT)))


@pytest.fixture(scope="module")
def patients(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("rounds") / "graph"
    packet = {
        "id": "one",
        "phenotypicFeatures": [{"type": {"id": each}} for each in (SEIZURE, SHORT)],
        "diseases": [{"term": {"id": "OMIM:100001", "label": ""}}],
    }
    (made.parent / "patients.jsonl").write_text(json.dumps(packet) + "\n")
    sources = {"hp": tiny / "hp.obo", "hpoa": tiny / "phenotype.hpoa", "phenopackets": made.parent / "patients.jsonl"}
    kgdx.build({name: str(path) for name, path in sources.items()}, store=made)
    return made


@pytest.fixture(scope="module")
def graph(patients: Path) -> Iterator[Graph]:
    with kgdx.open(patients) as opened:
        yield opened


def names(log: tuple[object, ...]) -> list[str]:
    return [each.name for each in log if each.kind is Kind.WISH]  # type: ignore[attr-defined]


def world(graph: Graph) -> World:
    return World(graph, SimulatedPatient(RECORDED, graph.ancestry))


def test_without_a_patient_it_ranks_with_the_case_bank_where_there_is_one(graph: Graph, tiny_graph: Path) -> None:
    found = graph.diagnose(Case("q", (Finding(SEIZURE),)), policy="rounds")
    assert names(found.trace) == ["extract", "rank", "diagnose"] and found.reason == "diagnosed"
    assert any(each.cases for each in found.candidates)
    with kgdx.open(tiny_graph) as without:
        told = without.diagnose(Case("q", (Finding(SEIZURE),)), policy="rounds")
        usual = without.diagnose(Case("q", (Finding(SEIZURE),)))
    assert [(each.id, each.score) for each in told.candidates] == [(each.id, each.score) for each in usual.candidates]
    assert not told.issues or {each.level for each in told.issues} <= {each.level for each in usual.issues}


def test_with_a_patient_it_asks_each_question_once_and_updates(graph: Graph) -> None:
    policy = RoundsPolicy(patient=True)
    start = begin(Case("p", (Finding(SEIZURE),)), policy, fingerprint=graph.fingerprint)
    episode = run(world(graph), start, policy)
    asked = [each.data["term"] for each in episode.log if each.kind is Kind.WISH and each.name == AskPatient.name]
    assert asked and len(asked) == len(set(asked)) and SEIZURE not in asked
    assert HYPOTONIA in episode.state.case.observed and episode.reason == "diagnosed"
    assert {Author.POLICY, Author.GRAPH, Author.PATIENT} <= {each.author for each in episode.log}
    assert names(episode.log).count("propose_round") >= 2


def test_a_consultation_waits_and_goes_on_from_its_log(graph: Graph) -> None:
    consultation = graph.consult(Case("q", (Finding(SEIZURE),)), policy="rounds", questions=2)
    question = consultation.question
    assert question is not None and question.term
    again = graph.consult(resume=consultation.log)
    assert again.question is not None and again.question.term == question.term
    while again.question is not None:
        again.answer(False)
    assert again.diagnosis.candidates and names(again.log).count(AskPatient.name) == 2


def test_settings_stand_behind_the_name() -> None:
    made = make_policy("rounds:rounds=3,questions=7", top=4)
    assert isinstance(made, RoundsPolicy)
    assert (made.rounds, made.questions, made.top, made.patient) == (3, 7, 4, False)
    with pytest.raises(UsageError, match="has no setting 'kind'"):
        make_policy("rounds:kind=x")


def test_what_is_gone_says_what_replaces_it(
    patients: Path, capsys: pytest.CaptureFixture[str], kgdx_home: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["diagnose", SEIZURE, "--policy", "learned", "--store", str(patients)])
    error = capsys.readouterr().err
    assert ended.value.code == 2 and error.count("\n") == 1
    assert "the policy learned is gone: use --policy rounds" in error
