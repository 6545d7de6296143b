"""Which files evaluations take, what counts as right in them, and patients made up for them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Run
from conftest import TINY
from kgdx.case import Case, read_cases

Invoke = Callable[..., Run]

NAME = "Tiny epilepsy syndrome 1, autosomal recessive"


def lines(*cases: dict[str, Any]) -> str:
    return "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)


@pytest.fixture
def measure(invoke: Invoke, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Measures a file of some content, and returns the report."""

    def run(content: str | bytes, name: str = "cases.jsonl", *options: str) -> dict[str, Any]:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        done = invoke("evaluate", "rank", str(path), "--json", *options)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return run


Measure = Callable[..., dict[str, Any]]


SAID = {"observed": ["HP:0001250", "HP:0001252"], "excluded": ["HP:0001945"], "age": 7, "sex": "f"}


@pytest.mark.parametrize(
    ("said", "label"),
    [
        *((SAID, label) for label in ("OMIM:100001", "ORPHA:900001", NAME, NAME.upper())),
        ({"text": "She has seizures and hypotonia, no fever."}, NAME),
        ({"phrases": ["seizures", "muscle hypotonia"]}, NAME),
        ({"observed": ["Seizure"]}, NAME),
    ],
)
def test_a_label_counts_by_id_cross_reference_or_name(measure: Measure, said: dict[str, Any], label: str) -> None:
    found = measure(lines({"id": "a", **said, "diseases": [label]}))
    assert (found["coverage"], found["failed"]) == (1.0, [])
    assert found["groups"]["in_graph"]["top10"] == 1.0


@pytest.mark.parametrize("label", ["Tiny epilepsie syndrom 1", "epilepsy", "OMIM:999999", "nothing at all"])
def test_a_label_never_counts_by_likeness(measure: Measure, label: str) -> None:
    found = measure(lines({"id": "a", "observed": ["HP:0001250"], "diseases": [label]}))
    assert (found["coverage"], found["unrankable"], set(found["groups"])) == (0.0, 1, {"all"})


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "name",
    ["symptom2disease.jsonl", "agentclinic.jsonl", "dx-dialogue.jsonl", "ddxplus-patients.csv", "phenopacket.json"],
)
def test_published_files_are_taken_as_they_are(measure: Measure, name: str, packed: bool) -> None:
    content = (TINY / name).read_bytes()
    found = measure(gzip.compress(content) if packed else content, f"{name}.gz" if packed else name)
    assert found["groups"]["all"]["n"] >= 1
    assert all("form" not in failed["error"] for failed in found["failed"])


def test_of_ddxplus_all_evidences_or_the_first_complaint_are_known(invoke: Invoke) -> None:
    path = str(TINY / "ddxplus-patients.csv")
    reports = [
        json.loads(invoke("evaluate", "rank", path, "--known", known, "--json").stdout) for known in ("all", "first")
    ]
    assert reports[0]["groups"]["all"]["n"] == reports[1]["groups"]["all"]["n"]
    refused = invoke("evaluate", "rank", path, "--known", "some")
    assert refused.returncode == 2 and "some" in refused.stderr


def test_unknown_evidences_and_values_are_left_out_and_counted(
    measure: Measure, invoke: Invoke, tmp_path: Path
) -> None:
    rows = """AGE,DIFFERENTIAL_DIAGNOSIS,SEX,PATHOLOGY,EVIDENCES,INITIAL_EVIDENCE
8,"[['Pneumonia', 1.0]]",M,Pneumonia,"['E_91', 'E_9999', 'E_55_@_V_9999']",E_91
"""
    found = measure(rows, "patients.csv")
    assert (found["groups"]["all"]["n"], found["doubtful"]["n"]) == (1, 2)
    assert "'E_9999' is no evidence of DDXPlus" in found["doubtful"]["first"][0]
    shown = invoke("evaluate", "rank", str(tmp_path / "patients.csv")).stdout
    assert "2 parts of cases left out or mended" in shown


def test_cases_without_a_label_are_counted_and_in_no_group(measure: Measure) -> None:
    cases = {"id": "a", "observed": ["HP:0001250"], "diseases": [NAME]}, {"id": "b", "observed": ["HP:0001250"]}
    found = measure(lines(*cases, {"id": "c", "text": "seizures", "diseases": []}))
    assert (found["groups"]["all"]["n"], found["unlabelled"]) == (1, 2)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\n\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_marks_of_order_make_no_difference(measure: Measure, end: str, mark: str) -> None:
    case = json.dumps({"id": "ä-病", "text": "seizures – 抽搐 🤒", "diseases": [NAME]}, ensure_ascii=False)
    found = measure(f"{mark}{case}{end}{case}\n{case}")
    assert (found["groups"]["all"]["n"], found["failed"]) == (3, [])


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b"", "cases.jsonl", "it is empty"),
        (b" \n\n", "cases.csv", "it is empty"),
        (b"colour,size\nred,2\n", "table.csv", "none of 1 cases states its diagnosis: give phenopackets, JSON lines"),
        (b"A note without a diagnosis.", "note.txt", "none of 1 cases states its diagnosis: give phenopackets"),
        (b"<!doctype html><html></html>", "cases.jsonl", "it is a web page"),
        (b'{"text": "seizures"}\n', "cases.jsonl", "none of 1 cases states its diagnosis"),
    ],
)
def test_a_file_that_cannot_be_measured_is_refused_in_one_line(
    invoke: Invoke, tmp_path: Path, content: bytes, name: str, said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    done = invoke("evaluate", "rank", str(path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (7, "", 1)
    assert said in done.stderr


def test_an_unknown_form_names_the_known_ones(measure: Measure) -> None:
    found = measure(lines({"id": "a", "observed": ["HP:0001250"], "diseases": [NAME]}, {"colour": "red"}))
    assert found["groups"]["all"]["n"] == 2
    assert "the form of the case is unknown: give a GA4GH phenopacket" in found["failed"][0]["error"]


def test_made_up_cases_are_written_read_and_evaluated(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "made-up.jsonl"
    done = invoke("cases", "synthesize", "--n", "5", "--seed", "3", "--out", str(file))
    assert (done.returncode, done.stdout) == (0, "")
    cases = [case for case in read_cases(file) if isinstance(case, Case)]
    assert len(cases) == 5
    assert all(case.synthetic and case.observed and case.diseases for case in cases)
    assert invoke("cases", "synthesize", "--n", "5", "--seed", "3").stdout == file.read_text()
    assert "5 cases made up rather than observed" in invoke("evaluate", "rank", str(file)).stdout
    lines = [json.loads(line) for line in invoke("batch", str(file)).stdout.splitlines()]
    assert [line["id"] for line in lines] == [case.id for case in cases]


def test_a_table_is_diagnosed_and_a_bad_row_says_so(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "patients.csv"
    file.write_text("id,text,hpo\n1,She has seizures.,\n2\n3,,HP:0001252\n")
    done = invoke("batch", str(file))
    first, second, third = (json.loads(line) for line in done.stdout.splitlines())
    assert done.returncode == 7
    assert first["candidates"] and third["candidates"]
    assert "line 3: it has 1 cells" in second["error"]
