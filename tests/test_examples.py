"""Every example runs, on the graph that a plain build makes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

import kgdx
from conftest import ROOT

EXAMPLES = ROOT / "examples"

#: Pages with captures of what commands print on the graph of a plain build, and what may change of it.
CAPTURED = ("README.md", "docs/tutorial.md", "docs/how-to/ask.md")
CHANGING = re.compile(r"[+−]?\d+\.\d|■+|run:[0-9a-f]+")

Run = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, default_graph: Path) -> Path:
    folder = tmp_path_factory.mktemp("home")
    shutil.copytree(default_graph, folder / "graphs" / "default")
    return folder


@pytest.fixture
def python(home: Path) -> Callable[..., Run]:
    def run(*arguments: str) -> Run:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KGDX_")}
        return subprocess.run(
            [sys.executable, *arguments],
            env={**kept, "KGDX_HOME": str(home), "COLUMNS": "80"},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


def test_the_patient_is_new_to_the_graph_and_her_disease_ranks_first(home: Path) -> None:
    document = json.loads((EXAMPLES / "patient.json").read_text("utf-8"))
    (publication,) = [entry["id"] for entry in document["metaData"]["externalReferences"]]
    with kgdx.open(home / "graphs" / "default") as graph:
        found = graph.diagnose(EXAMPLES / "patient.json", top=3)
        label = document["diseases"][0]["term"]["id"]
        cited = graph.run("phenotypes_of_diseases", diseases=[label])
    assert found.candidates[0].id == label
    assert all(publication not in row["reference"] for row in cited)


def test_the_note_is_read_and_leads_to_its_disease(home: Path) -> None:
    with kgdx.open(home / "graphs" / "default") as graph:
        found = graph.diagnose(EXAMPLES / "note.txt", top=5)
    assert "OMIM:208900" in {candidate.id for candidate in found.candidates}, "ataxia-telangiectasia"
    assert {"HP:0001249", "HP:0001250"} <= set(found.case.excluded)


@pytest.mark.heavy
def test_the_chinese_note_is_read_with_the_chinese_labels(home: Path) -> None:
    with kgdx.open(home / "graphs" / "default") as graph:
        case = graph.diagnose(EXAMPLES / "note-zh.txt", top=1).case
    assert {"HP:0003391", "HP:0003701", "HP:0003707"} <= set(case.observed), "Gowers sign, proximal weakness, calves"
    assert {"HP:0001250", "HP:0001945"} <= set(case.excluded)


def test_the_batch_gives_a_result_for_every_case(python: Callable[..., Run]) -> None:
    done = python("-m", "kgdx", "batch", "examples/cases.jsonl", "--top", "10")
    lines = {found["id"]: found for found in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 0, done.stderr
    expected = {"marfan-like": "OMIM:154700", "cystic-fibrosis-like": "OMIM:219700", "wilson-like": "OMIM:277900"}
    for case, disease in expected.items():
        families = [
            {*each["members"], *each.get("nested", ()), *(other["id"] for other in each.get("in_family", ()))}
            for each in lines[case]["candidates"]
        ]
        assert any(disease in family for family in families[:3]), f"{case}: {families}"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("first_diagnosis.py", "Why Trichorhinophalangeal syndrome, type I"),
        ("own_template.py", "Genes: TRPS1"),
        ("question.py", "type I is TRPS1 [E1]."),
    ],
)
def test_a_script_runs_and_shows_what_it_promises(python: Callable[..., Run], script: str, says: str) -> None:
    done = python(str(EXAMPLES / script))
    assert done.returncode == 0, done.stderr
    assert says in done.stdout
    assert done.stderr == ""


def captures(page: str) -> list[tuple[str, str]]:
    """Each call of ``kgdx`` that a page shows together with what it prints."""
    text = (ROOT / page).read_text("utf-8")
    return re.findall(r"```text\n\$ kgdx ([^\n]*)\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize(("call", "shown"), [pair for page in CAPTURED for pair in captures(page)])
def test_a_capture_in_the_documentation_is_what_the_command_prints(
    python: Callable[..., Run], call: str, shown: str
) -> None:
    done = python("-m", "kgdx", *shlex.split(call))
    assert done.returncode == 0, done.stderr
    expected, printed = (set(CHANGING.sub(" ", text).split()) for text in (shown, done.stdout))
    assert expected == printed, "in all but scores and order, which a better model may change, and the run's id"


def test_the_guide_to_a_source_of_ones_own_shows_the_example_as_it_is_and_what_a_check_says(
    python: Callable[..., Run],
) -> None:
    guide = (ROOT / "docs" / "how-to" / "own-source.md").read_text("utf-8")
    table, shown = re.findall(r"```text\n(.*?)```", guide, re.DOTALL)
    (manifest,) = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    folder = EXAMPLES / "own_source"
    assert table == (folder / "clinic.csv").read_text("utf-8")
    assert yaml.safe_load(manifest) == yaml.safe_load((folder / "clinic.yaml").read_text("utf-8"))
    done = python("-m", "kgdx", "sources", "check", "examples/own_source/clinic.yaml")
    assert done.returncode == 0, done.stderr
    printed = done.stdout.splitlines()
    assert [line for line in shown.splitlines() if line not in printed] == []
