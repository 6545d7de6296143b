"""`kgdx evaluate retrieve`, `split` and `leaderboard` on the tiny graph: what they print, and say of bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import Run

Invoke = Callable[..., Run]


@pytest.fixture
def cases(tmp_path: Path) -> str:
    """A file of one patient whose disease the graph knows, and one whose it does not."""
    path = tmp_path / "cases.jsonl"
    given = [
        {"id": "a", "observed": ["HP:0001250", "HP:0001252"], "diseases": ["OMIM:100001"]},
        {"id": "b", "observed": ["HP:0001250"], "diseases": ["no such disease"]},
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in given))
    return str(path)


def test_methods_are_compared_and_patients_written(invoke: Invoke, cases: str, tmp_path: Path) -> None:
    errors = tmp_path / "errors.csv"
    done = invoke("evaluate", "retrieve", cases, "--at", "1,2", "--errors", str(errors), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["methods"]["fused"]["n"] == 2
    assert found["in_graph"]["fused"]["hit"] == {"1": 1.0, "2": 1.0}
    assert found["labels"]["unknown"] == ["no such disease"]
    assert errors.read_text().startswith("id,stated,arm,retrieved,rank,stage,kin,")


def test_a_method_is_measured_without_some_of_its_scorers(invoke: Invoke, cases: str) -> None:
    options = ("--methods", "fused", "--without", "likelihood+coverage", "--at", "1", "--json")
    found = json.loads(invoke("evaluate", "retrieve", cases, *options).stdout)
    assert list(found["methods"]) == ["fused", "fused without likelihood+coverage"]
    assert list(found["paired"]) == ["fused without likelihood+coverage"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--methods", "magic"), "no retrieval method 'magic': one of"),
        (("--methods", ","), "no method is named"),
        (("--at", "1,100000"), "--at '1,100000' is no list of whole numbers from 1 to"),
        (("--without", "magic"), "no method here has a scorer 'magic'"),
        (("--candidates", "nowhere"), "no source 'nowhere' describes a disease"),
        (("--errors", "errors.xls"), "does not say its form"),
        (("--keep", "1"), "is no list of whole numbers from 2 to 500"),
        (("--rerank", "some-model"), "nothing limits what that costs"),
        (("--methods", "fused,fused without x"), "no retrieval method 'fused without x'"),
    ],
)
def test_what_cannot_be_compared_is_one_clear_line(
    invoke: Invoke, cases: str, options: tuple[str, ...], said: str
) -> None:
    done = invoke("evaluate", "retrieve", cases, *options)
    assert (done.returncode != 0, done.stdout, len(done.stderr.strip().splitlines())) == (True, "", 1)
    assert said in done.stderr


def test_only_what_a_split_holds_out_is_measured(invoke: Invoke, cases: str, tmp_path: Path) -> None:
    split = tmp_path / "split.json"
    made = invoke("split", cases, "--held-out", ".5", "--seed", "1", "-o", str(split), "--json")
    assert made.returncode == 0, made.stderr
    sizes = json.loads(made.stdout)
    assert (sizes["train"], sizes["held_out"], sizes["unread"]) == (1, 1, 0)
    for command in ("rank", "retrieve"):
        options = ("--at", "1") if command == "retrieve" else ()
        done = invoke("evaluate", command, cases, "--split", str(split), "--json", *options)
        found = json.loads(done.stdout)
        assert (found["methods"]["fused"] if command == "retrieve" else found["groups"]["all"])["n"] == 1


def test_a_split_of_other_cases_is_one_clear_line(invoke: Invoke, cases: str, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps({"id": id, "observed": ["HP:0001250"]}) + "\n" for id in "xyz"))
    assert invoke("split", str(other), "-o", str(tmp_path / "split.json")).returncode == 0
    done = invoke("evaluate", "rank", cases, "--split", str(tmp_path / "split.json"))
    assert (done.returncode != 0, done.stdout) == (True, "")
    assert "the case 'a' is on no side of the split" in done.stderr


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--known", "is no number of findings"),
        ("--methods", "no contender 'nobody'"),
        ("--llm", "limits what that costs"),
    ],
)
def test_a_leaderboard_of_nonsense_is_one_clear_line(invoke: Invoke, cases: str, option: str, said: str) -> None:
    done = invoke("leaderboard", cases, option, "nobody")
    assert (done.returncode != 0, done.stdout, len(done.stderr.strip().splitlines())) == (True, "", 1)
    assert said in done.stderr
