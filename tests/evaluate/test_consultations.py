"""Doctors are measured on OSCE cases: every case counts, what failed is counted, and work that was done is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.scripted_agents import scripted_agent

from cli.conftest import Run, home, invoke
from kgdx.api import Graph
from kgdx.case import Case, Status, case_from_osce
from kgdx.case.case_files import Failure, case_from_document
from kgdx.episode import AskPatient, Reply, State, load
from kgdx.errors import CaseError, LlmError, UsageError
from kgdx.evaluate.consultations import ABLATIONS, Cast, ConsultEvaluation, doctor, expanded
from kgdx.evaluate.judges import DiseaseJudge, same_by_graph
from kgdx.evaluate.labels import Label
from kgdx.llm.chat import ChatModel
from kgdx.policies.doctor_forms import NamedDisease
from kgdx.render.terminal.accuracy_text import consult_figures
from kgdx.render.terminal.console import text
from llm.server import Fail, answering, serving
from llm.server import Reply as Served
from osce_cases import DOCUMENTS, EPILEPSY, VIGNETTE, Saying, osces
from policies.conftest import behind

__all__ = ["home", "invoke"]


def cases() -> list[Case | Failure]:
    return [case_from_osce(each) for each in DOCUMENTS]


def evaluation(
    graph: Graph, *names: str, cast: Cast | None = None, questions: int = 8, jobs: int = 3
) -> ConsultEvaluation:
    cast = cast or Cast()
    doctors = [doctor(each, model=cast.doctor is not None, questions=questions) for each in names]
    return ConsultEvaluation(graph, doctors, cast, jobs=jobs)


def test_every_part_over_http_is_measured(graph: Graph) -> None:
    with behind(answering(scripted_agent("right", osces()))) as (model, _):
        cast = Cast(model, model, DiseaseJudge(model))
        found = evaluation(graph, "medkgi", "house", "agentclinic", "thought", "mediq", cast=cast).run(cases())
    medkgi = found["doctors"]["medkgi"]
    assert (found["n"], round(found["coverage"], 2)) == (3, 0.67)
    assert medkgi["exact"]["share"] == medkgi["judged"]["share"] == 1.0
    assert medkgi["faults"] == {"no_such_disease": 1} and medkgi["calls"] > 4 and medkgi["tokens"] > 100
    for each in found["doctors"].values():
        assert 0 < each["rounds"] <= 8 and each["n"] == 3


def test_the_ablations_run_by_rules_alone(graph: Graph) -> None:
    names = list(expanded(["medkgi"], ["graph", "record", "selector"]))
    assert names == ["medkgi", *(f"medkgi:{each}" for each in ABLATIONS)]
    found = evaluation(graph, *names).run(cases())
    assert found["played_by"] == {"doctor": "rules", "patient": "rules", "judge": "none"}
    assert all(each["n"] == 3 and each["calls"] == 0 for each in found["doctors"].values())


def test_the_house_doctor_takes_the_history_and_orders_before_the_graph_asks(graph: Graph, tmp_path: Path) -> None:
    found = evaluation(graph, "house", questions=20).run(cases(), tmp_path / "run")
    house = found["doctors"]["house"]
    assert (house["ordered"], house["silent"], house["ten_of_covered"]) == (6.0, 0, 1.0)
    logs = (tmp_path / "run" / "consultations" / "house").iterdir()
    assert any("Spikes" in each.read_text("utf-8") for each in logs), "the result of a test that was ordered"


def test_equal_consultations_however_many_at_once(graph: Graph) -> None:
    model = scripted_agent("right", osces())
    runs = [evaluation(graph, "medkgi", cast=Cast(model, model), jobs=jobs).run(cases()) for jobs in (1, 3)]
    assert runs[0]["rows"] == runs[1]["rows"] and "by rules" not in text(consult_figures(runs[0]), 100)


def test_what_is_finished_is_kept_and_not_asked_again(graph: Graph, tmp_path: Path) -> None:
    def held(model: ChatModel | None) -> dict[str, Any]:
        return evaluation(graph, "medkgi", cast=Cast(model), jobs=1).run(cases(), tmp_path / "run")

    with behind(answering(scripted_agent("right", osces()))) as (model, server):
        first, asked = held(model), len(server.requests)
        assert (held(model), len(server.requests)) == (first, asked)
        logs = sorted((tmp_path / "run" / "consultations" / "medkgi").iterdir())
        assert [load(each.read_text("utf-8"))[-1].name for each in logs] == ["diagnosed"] * 3
        journal = (tmp_path / "run" / "journal.jsonl").read_text("utf-8").splitlines(keepends=True)
        (tmp_path / "run" / "journal.jsonl").write_text("".join(journal[:3]) + journal[3][:20], "utf-8")
        assert held(model) == first and asked < len(server.requests) < 2 * asked
    with pytest.raises(UsageError, match="of another run"):
        held(None)


def test_a_used_up_budget_stops_and_what_is_finished_stays(graph: Graph, tmp_path: Path) -> None:
    with behind(answering(scripted_agent("right", osces())), max_calls=9) as (model, _):
        work = evaluation(graph, "thought", cast=Cast(model), jobs=1, questions=8)
        with pytest.raises(LlmError, match="budget"):
            work.run(cases(), tmp_path / "run")
    _, first, fault = map(json.loads, (tmp_path / "run" / "journal.jsonl").read_text("utf-8").splitlines())
    assert (first["faults"], fault["kind"]) == ({}, "budget")


def test_cases_that_cannot_be_read_are_misses(graph: Graph) -> None:
    found = evaluation(graph, "house").run([*cases(), Failure("x", "line 7", "broken"), Case("plain")])
    assert found["n"] == found["doctors"]["house"]["n"] == 5 and len(found["failed"]) == 2
    with pytest.raises(CaseError, match="no OSCE case"):
        evaluation(graph, "house").run([])


def test_a_model_that_is_not_there_leaves_measured_consultations_to_rules(graph: Graph) -> None:
    def script(body: Any, number: int) -> Served:
        return Fail(500)

    with behind(script) as (model, _):
        result = evaluation(graph, "medkgi", cast=Cast(model, model)).run(cases())
    found = result["doctors"]["medkgi"]
    assert found["n"] == 3 and found["faults"]["left"] == 3 and found["faults"]["patient_stood_in"] >= 3
    assert "medkgi by rules 3" in text(consult_figures(result), 100), "it is not the model's row"


@pytest.mark.parametrize("kind", ["prose", "malformed", "adversarial"])
def test_bad_players_are_counted_and_nothing_is_lost(graph: Graph, kind: str) -> None:
    bad = scripted_agent(kind, osces())
    found = evaluation(graph, "medkgi", "thought", cast=Cast(bad, bad, DiseaseJudge(bad))).run(cases())
    for each in found["doctors"].values():
        assert each["n"] == 3 and sum(each["faults"].values()) > 0


@pytest.mark.parametrize(
    ("name", "model", "message"),
    [
        ("dr-house", False, "no doctor"),
        ("medkgi:brain", False, "no doctor"),
        ("thought", False, "is a language model"),
        ("house:brain=2", False, "no setting 'brain'"),
    ],
)
def test_a_doctor_that_is_none_is_refused_in_a_line(name: str, model: bool, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        doctor(name, model=model)


def test_what_a_doctor_differs_in_is_named(graph: Graph) -> None:
    policy = doctor("medkgi:no-record+selector=medkgi:candidates=3+questions=4", model=False).policy
    assert (policy.record, policy.selector, policy.questions) == (False, "medkgi:candidates=3", 4)
    names = [f"medkgi:candidates={count}" for count in (1, 3)]
    with behind(answering(scripted_agent("right", osces()))) as (model, _):
        found = evaluation(graph, *names, cast=Cast(model, model)).run(cases())
    assert list(found["doctors"]) == names


def test_a_finding_that_the_story_lacks_is_not_heard_of_the_patient(graph: Graph) -> None:
    def asking(said: str, **asked: str) -> Reply:
        here = evaluation(graph, "house", cast=Cast(patient=Saying(said)))
        return here._encounter(osces()[0]).reply(AskPatient(**asked), State(Case("p", text="x")))

    told = asking("I have had seizures. I also have a short stature.", spoken="What is wrong?")
    assert (told.text, told.remarks) == ("I have had seizures.", ("invented",))
    assert asking("Yes.", term="HP:0001250", label="Seizure").status is Status.PRESENT
    denied = asking("Yes.", term="HP:0004322", label="Short stature")
    assert (denied.status, denied.remarks) == (Status.UNKNOWN, ("invented",))


def test_vignettes_are_consulted_on_where_a_model_stages_them(graph: Graph) -> None:
    staging = Cast(stage=Saying('{"examination": [2], "tests": [3], "hidden": [5]}'))
    given = [case_from_document(VIGNETTE), cases()[0]]
    found = evaluation(graph, "house", cast=staging).run(given)
    assert (found["n"], found["failed"]) == (2, [])
    refusing = evaluation(graph, "house", cast=Cast(stage=Saying("no"))).run(given)
    assert (refusing["n"], [each["id"] for each in refusing["failed"]]) == (2, ["v1"]), "a miss, and the others go on"


class Numbers:
    def number_of(self, disease: str) -> int:
        return {"OMIM:1": 1, "ORPHA:1": 1, "OMIM:2": 2}.get(disease, -1)


@pytest.mark.parametrize(
    ("named", "same"),
    [
        (NamedDisease("anything", ("ORPHA:1",)), True),
        (NamedDisease("anything", ("OMIM:2",)), False),
        (NamedDisease("HIRSCHSPRUNG DISEASE"), True),
        (NamedDisease("Hirschsprung"), False),
        (NamedDisease("HD"), True),
        (NamedDisease(""), False),
    ],
)
def test_the_graph_judges_by_cross_references_and_by_the_very_name(named: NamedDisease, same: bool) -> None:
    assert same_by_graph(named, "Hirschsprung disease (HD)", Label(("x",), (1,)), Numbers()) is same


def test_a_judgement_that_cannot_be_read_is_a_no() -> None:
    assert not DiseaseJudge(scripted_agent("adversarial")).same("gout", "gout")
    assert DiseaseJudge(scripted_agent("right")).same("Gout", "gout")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in DOCUMENTS), "utf-8")
    return path


def test_the_command_measures_and_shows(
    invoke: Callable[..., Run], file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = ("--llm", "doctor", "--patient", "patient", "--judge", "judge")
    with serving(answering(scripted_agent("right", osces())), monkeypatch) as server:
        done = invoke("evaluate", "consult", str(file), *played, "--questions", "8", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert "medkgi" in done.stdout and "doctor: doctor" in done.stdout and "66.7 %" in done.stdout
    with serving(answering(scripted_agent("right", osces())), monkeypatch) as server:
        kept = ("--questions", "8", "--max-calls", "5", "--out", str(tmp_path / "kept"))
        done = invoke("evaluate", "consult", str(file), *played, *kept)
        assert len(server.requests) == 5 and done.returncode != 0 and "budget" in done.stderr
    shown = invoke("evaluate", "consult", str(file), "--ablate", "selector", "--sample", "1", "--json")
    assert set(json.loads(shown.stdout)["doctors"]) == {"medkgi", "medkgi:random", "medkgi:degree"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--doctor", "thought"), "name one with --llm"),
        (("--ablate", "brain"), "cannot be left out"),
    ],
)
def test_what_the_command_cannot_do_is_said_in_a_line(
    invoke: Callable[..., Run], file: Path, options: tuple[str, ...], message: str
) -> None:
    done = invoke("evaluate", "consult", str(file), *options)
    assert done.returncode != 0 and message in done.stderr and done.stderr.count("\n") == 1


def test_the_label_of_a_case_never_reaches_the_doctor(graph: Graph) -> None:
    model = scripted_agent("right", ())
    with behind(answering(model)) as (asked, server):
        evaluation(graph, "medkgi", cast=Cast(asked, asked)).run(cases()[:1])
    for body in server.requests:
        words = body["messages"][1]["content"]
        if "# Ordered" not in words and "# What a knowledge graph says" not in words:
            assert EPILEPSY not in words
