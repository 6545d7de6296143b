"""Questions to simulated patients, measured on a small graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import kgdx
from kgdx.case import Case, Finding
from kgdx.case.case_files import Failure
from kgdx.cli.commands import application
from kgdx.errors import CaseError, UsageError
from kgdx.evaluate.inquiries import Inquiries, Setting, evaluate_inquiry, report, sampled
from kgdx.evaluate.labels import Labels
from kgdx.evaluate.runner import Record, Runner, kept

FEW = Setting(questions=3, start=1, kinds=("phenotype",))


@pytest.fixture(scope="module")
def asking(tiny_graph: Path) -> Inquiries:
    graph = kgdx.open(tiny_graph)
    return Inquiries(graph, Labels(graph.ranker, graph.snapshot), setting=FEW)


def patient(asking: Inquiries, number: int = 0) -> Case:
    """A patient who has all that a disease is annotated with."""
    model, names = asking.graph.ranker.model, asking.graph.ranker.names
    terms = model.columns.annotated.columns(number).tolist()
    findings = tuple(Finding(names.term(row), label=names.label(names.term(row))) for row in terms)
    return Case(f"p{number}", findings, diseases=(asking.graph.ranker.ids[number],))


def test_the_figures_begin_before_the_first_question_and_keep_failures(asking: Inquiries) -> None:
    cases = [patient(asking, 0), patient(asking, 1), Failure("x.json", "broken"), Case("unlabelled")]
    found = evaluate_inquiry(asking, cases, ["infogain", "degree"])
    assert (found["n"], found["unlabelled"], len(found["failed"])) == (3, 1, 1)
    for figures in found["selectors"].values():
        assert [row["q"] for row in figures["by_question"]] == [0, 1, 2, 3]
        assert {"top1", "top3", "top10"} <= figures["by_question"][0].keys()
        assert all(row["n"] == 3 and row["top10"] <= 2 / 3 for row in figures["by_question"])
        assert "degree" in figures["questions_to"]
    against = found["selectors"]["infogain"]["against"]["degree"]["top1"]
    assert against["ci95"][0] <= against["difference"] <= against["ci95"][1]


def test_a_consultation_is_the_same_again(asking: Inquiries) -> None:
    for answers in ("bare", "named"):
        one, two = (asking.consult(patient(asking), "infogain", answers) for _ in range(2))
        assert all(one[name] == two[name] for name in ("ranks", "shares", "asked", "hits"))


def test_finished_consultations_are_taken_from_the_journal(asking: Inquiries, tmp_path: Path) -> None:
    cases, about = [patient(asking, 0), patient(asking, 1)], {"of": 2}
    with kept(tmp_path / "run", about) as journal:
        first = evaluate_inquiry(asking, cases, ["infogain"], runner=Runner(journal))
        assert journal is not None and len(journal.records) == 2
    with kept(tmp_path / "run", about) as journal:
        again = evaluate_inquiry(asking, cases, ["infogain"], runner=Runner(journal))
        assert journal is not None and len(journal.records) == 2
    assert json.dumps(first) == json.dumps(again)


def test_without_a_record_only_the_last_turns_are_known(asking: Inquiries) -> None:
    whole, forgetful = (asking.consult(patient(asking), name) for name in ("infogain", "infogain/record"))
    assert whole["ranks"][0] == forgetful["ranks"][0] and len(whole["ranks"]) == len(forgetful["ranks"])


def test_wrong_selectors_and_cases_without_a_diagnosis_are_refused(asking: Inquiries) -> None:
    for names in ([], ["infogain", "infogain"], ["nobody"]):
        with pytest.raises(UsageError):
            evaluate_inquiry(asking, [patient(asking)], names)
    with pytest.raises(CaseError, match="diagnosis"):
        evaluate_inquiry(asking, [Case("p")], ["infogain"])
    with pytest.raises(UsageError):
        Setting(questions=-1)


def asked(**found: Any) -> Record:
    about = {"id": "a", "cluster": "1" if "ranks" in found else "2", "disease": "d"}
    whole = {"shares": [0.0] * 3, "leading": [0.0] * 3, **found} if "ranks" in found else found
    return {**about, "seen": False if "ranks" in found else None, **whole}


def test_questions_are_counted_until_an_accuracy_is_reached() -> None:
    fast = [asked(ranks=[5, 1, 1], shares=[0.1, 0.5, 0.6]), asked(error="unreadable")]
    slow = [asked(ranks=[5, 5, None], shares=[0.1, 0.1, 0.6]), asked(error="unreadable")]
    found = report({"infogain": fast, "degree": slow})
    assert (found["infogain"]["questions_to"]["0.5"], found["infogain"]["questions_to"]["degree"]) == (1, 0)
    assert found["degree"]["questions_to"]["0.1"] is None
    assert found["infogain"]["groups"]["unseen"]["by_question"][2]["top1"] == 1.0


def test_a_sample_has_at_most_two_of_a_publication() -> None:
    cases = [Case(str(number), publications=(f"PMID:{number // 5}",)) for number in range(20)]
    chosen = sampled(cases, 100)
    assert len(chosen) == 8 and chosen == sampled(cases, 100)


def test_the_command_prints_json_a_table_and_a_page(asking: Inquiries, tiny_graph: Path, tmp_path: Path) -> None:
    case = patient(asking)
    line = {"id": case.id, "observed": list(case.observed), "diseases": list(case.diseases)}
    file, page = tmp_path / "cases.jsonl", tmp_path / "page.html"
    file.write_text(json.dumps(line) + "\n")
    command = ["evaluate", "inquiry", str(file), "--questions", "2", "--store", str(tiny_graph)]
    app, wanted = application(), ["--selectors", "infogain,split:leaders=3", "--answers", "bare,named", "--json"]
    told = CliRunner().invoke(app, [*command, *wanted])
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    assert list(found["selectors"]) == ["infogain", "split:leaders=3"] and set(found["answers"]) == {"bare", "named"}
    told = CliRunner().invoke(app, [*command, "--ablate", "graph,record,selector", "--html", str(page)])
    assert told.exit_code == 0, told.output
    assert "random" in told.stdout and "<svg" in page.read_text() and "infogain/record" in page.read_text()
    assert CliRunner().invoke(app, [*command, "--answers", "maybe"]).exit_code != 0


def test_a_consultation_would_end_at_the_first_question_whose_leader_is_certain_enough() -> None:
    right = asked(ranks=[3, 1, 1], leading=[0.3, 0.65, 0.75])
    wrong = asked(ranks=[3, 2, 1], leading=[0.3, 0.5, 0.6])
    ending = report({"infogain": [right, wrong, asked(error="unreadable")]})["infogain"]["ending"]
    assert ending["0.6"] == {"reached": 2 / 3, "median": 1.5, "right": 1.0}
    assert ending["0.5"]["right"] == 0.5
    assert ending["0.7"] == {"reached": 1 / 3, "median": 2.0, "right": 1.0}
