"""A leaderboard on the tiny graph: all methods meet the same patients, and who cannot run says why."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import papers
from benchmarks.papers import Paper

from kgdx.api import Graph
from kgdx.case import Case, Finding
from kgdx.errors import CaseError, LlmError, UsageError
from kgdx.evaluate.labels import Labels
from kgdx.evaluate.leaderboard import CONTENDERS, Board, Contender, Leaderboard, PatientResult, choose
from kgdx.evaluate.runner import Runner, kept
from kgdx.learn.recorded_cases import RecordedCases
from kgdx.llm.chat import ChatModel, Completion, OnText, Request
from kgdx.policies.inquiry import RoundsPolicy
from kgdx.render.pages.figure_pages import leaderboard_page
from kgdx.render.terminal.accuracy_text import leaderboard_figures
from kgdx.render.terminal.console import text
from llm.server import Say
from policies.conftest import behind

TERMS = ("HP:0001250", "HP:0001252", "HP:0002133")
CASES = [
    Case("a", tuple(map(Finding, TERMS)), diseases=("OMIM:100001",), publications=("PMID:1",)),
    Case("b", tuple(map(Finding, TERMS[:2])), diseases=("OMIM:100001",), publications=("PMID:99999",)),
    Case("c", tuple(map(Finding, TERMS[1:])), diseases=("OMIM:999999",)),
]


def board(graph: Graph, known: int | None = 1, model: ChatModel | None = None) -> Board:
    return Board(graph, RecordedCases.of(graph, CASES, known=known), Labels(graph.ranker, graph.snapshot), 3, model)


class Guess(Contender):
    """Always right, whoever it meets."""

    name = "guess"

    def meet(self, id: str) -> PatientResult:
        if id == "b":
            raise CaseError("nothing can be ranked")
        return PatientResult(1.0, 4, 0.5)


class Silent(Contender):
    """Reads nothing that these patients tell."""

    name = "silent"

    def meet(self, id: str) -> PatientResult:
        raise CaseError("it reads pictures", hint="give some")


class Refusing(ChatModel):
    """A model whose budget is spent."""

    @property
    def name(self) -> str:
        return "scripted"

    async def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        raise LlmError("the budget is spent", hint="raise it", kind="budget")


def test_every_method_meets_the_same_patients(graph: Graph) -> None:
    here = board(graph)
    report = Leaderboard(here, choose(here)).run()
    assert next(iter(report["methods"])) == "at once"
    assert {"8 lookups", "ask by infogain", "policy inquiry"} <= report["methods"].keys()
    assert {told["n"] for told in report["methods"].values()} == {2}
    assert report["left_out"] == 1
    for told in report["methods"].values():
        assert told.keys() >= {"n", "acc1", "acc5", "hit20", "actions", "ms", "ci95", "unseen"}
        assert 0 <= told["acc1"] <= told["acc5"] <= told["hit20"] <= 1
    json.dumps(report)


def test_what_needs_something_that_is_not_there_says_so(graph: Graph) -> None:
    chosen = choose(board(graph, known=None))
    assert "it needs a language model" in chosen.not_run["policy planner"]
    assert "all is told at first" in chosen.not_run["ask by infogain"]
    assert "all is told at first" in chosen.not_run["policy inquiry"]
    assert "at once" in [each.name for each in chosen.contenders]


def test_methods_are_chosen_by_name_or_kind_and_the_first_is_the_baseline(graph: Graph) -> None:
    here = board(graph)
    chosen = choose(here, ["ask by degree", "retrieval"])
    report = Leaderboard(here, chosen).run()
    assert next(iter(report["methods"])) == "ask by degree"
    assert report["methods"]["ask by degree"]["against"]["acc1"] == 0
    assert choose(here, ["plans"]).contenders[0].name == "at once"
    assert {*choose(here, ["bank", "policies"]).not_run} >= {"case bank", "policy planner"}
    with pytest.raises(UsageError, match="no contender 'magic'"):
        choose(here, ["magic"])


def test_a_member_is_named_with_settings_of_its_own(graph: Graph) -> None:
    here = board(graph)
    chosen = choose(here, ["policy inquiry:questions=1", "ask by split:leaders=2", "retrieve walk"])
    report = Leaderboard(here, chosen).run()
    assert list(report["methods"]) == ["policy inquiry:questions=1", "ask by split:leaders=2", "retrieve walk"]
    assert report["methods"]["policy inquiry:questions=1"]["questions"] <= 1
    nobody = choose(here, ["at once", "policy inquiry:magic=1", "ask by split:magic=1"]).not_run
    with pytest.raises(UsageError, match="no contender 'policy nobody'"):
        choose(here, ["at once", "policy nobody"])
    assert "no setting 'magic'" in nobody["policy inquiry:magic=1"]
    assert "magic" in nobody["ask by split:magic=1"]


def test_each_question_is_an_action_and_reading_and_ranking_are_none(graph: Graph) -> None:
    here = board(graph)
    told = Leaderboard(here, choose(here, ["at once", "ask by degree", "policy inquiry", "policy rules"])).run()
    counted = {name: (each["actions"], each["questions"]) for name, each in told["methods"].items()}
    assert counted["at once"] == counted["policy rules"] == (1, 0)
    for actions, questions in counted.values():
        assert actions == questions + 1


def test_who_was_trained_by_another_split_is_marked(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RoundsPolicy, "trained_by", "f00")
    told = {split: choose(replace(board(graph), split=split), ["policy rounds"]) for split in ("f00", "another")}
    remarks = {split: chosen.contenders[0].remark for split, chosen in told.items()}
    assert not remarks["f00"] and "it may have learned from some of these patients" in remarks["another"]


def test_who_can_rank_nobody_did_not_run(graph: Graph) -> None:
    CONTENDERS.register("silent", Silent)
    try:
        here = board(graph)
        report = Leaderboard(here, choose(here, ["at once", "silent"])).run()
    finally:
        CONTENDERS.forget("silent")
    assert list(report["methods"]) == ["at once"] and "it reads pictures" in report["not_run"]["silent"]


@pytest.mark.parametrize("name", ["policy rerank", "policy tags", "policy planner", "rerank walk"])
def test_a_model_is_asked_over_http_and_its_cost_is_told(graph: Graph, name: str) -> None:
    with behind(lambda *_: Say('{"order": []}')) as (model, server):
        here = replace(board(graph, model=model), prices=(1.0, 1.0))
        chosen = choose(here, [name, "at once"])
        report = Leaderboard(here, chosen).run()
    assert not chosen.not_run and server.requests
    assert report["methods"][name]["n"] == 2 and report["methods"][name]["cost"] > 0


def test_figures_say_on_what_they_are(graph: Graph) -> None:
    here = replace(board(graph), split="12ab")
    report = Leaderboard(here, choose(here, ["at once"])).run()
    assert (report["graph"], report["split"], report["known"]) == (graph.fingerprint, "12ab", 1)
    alone = Board(graph, RecordedCases.of(graph, [replace(CASES[0], publications=())], known=1), here.labels)
    assert Leaderboard(alone, choose(alone, ["at once"])).run()["methods"]["at once"]["unseen"] is None


def test_ones_own_method_joins(graph: Graph) -> None:
    CONTENDERS.register("guesses", Guess)
    try:
        here = board(graph)
        report = Leaderboard(here, choose(here, ["at once", "guess"])).run()
    finally:
        CONTENDERS.forget("guesses")
    told = report["methods"]["guess"]
    assert (told["acc1"], told["actions"], told["cost"], told["failed"]) == (0.5, 2.0, 0.5, 1)


def test_an_interrupted_leaderboard_goes_on(graph: Graph, tmp_path: Path) -> None:
    here = board(graph)
    reports = []
    for _ in range(2):
        with kept(tmp_path / "run", {"what": "leaderboard"}) as journal:
            reports.append(Leaderboard(here, choose(here, ["at once", "ask by degree"])).run(Runner(journal)))
    assert reports[0] == reports[1]
    assert len((tmp_path / "run" / "journal.jsonl").read_text().splitlines()) == 1 + 4


def test_a_spent_budget_ends_it_instead_of_counting_as_the_models(graph: Graph) -> None:
    here = board(graph, model=Refusing())
    with pytest.raises(LlmError, match="the budget is spent"):
        Leaderboard(here, choose(here, ["policy rerank"])).run()


def test_patients_whose_diseases_the_graph_lacks_are_no_leaderboard(graph: Graph) -> None:
    here = Board(graph, RecordedCases.of(graph, CASES[2:], known=1), Labels(graph.ranker, graph.snapshot))
    with pytest.raises(CaseError, match="describes the disease of no patient"):
        Leaderboard(here, choose(here, ["bank", "at once"])).run()


def test_methods_that_did_not_run_for_one_reason_are_named_in_one_line(graph: Graph) -> None:
    here = board(graph)
    report = Leaderboard(here, choose(here, ["at once", "policy planner", "policy tags"])).run()
    shown = text(leaderboard_figures(report), 200)
    assert "not run (it needs a language model: give --llm MODEL): policy planner, policy tags" in shown
    for each in (shown, leaderboard_page(report)):
        assert each.count("policy tags") == each.count("needs a language model") == 1


def test_the_table_has_all_and_unseen_side_by_side_in_blocks_of_questions_and_fits_100_columns(graph: Graph) -> None:
    here = board(graph)
    shown = text(leaderboard_figures(Leaderboard(here, choose(here)).run()), 100)
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 100 and lines[1].split()[:3] == ["Method", "Acc@1", "unseen"]
    titles = [line for line in lines if line.endswith(":")]
    assert titles[:2] == ["nothing asked:", "up to 5 questions:"]
    assert all("8 lookups" not in line for line in lines[: lines.index("up to 5 questions:")])


def test_only_rows_whose_interval_leaves_out_0_are_marked(graph: Graph) -> None:
    here = board(graph)
    report = Leaderboard(here, choose(here, ["at once", "ask by degree"])).run()
    told = report["methods"]["ask by degree"]["unseen"]["against"]
    for ends, mark in (([0.01, 0.2], True), ([-0.1, 0.2], False), ([-0.2, -0.1], True)):
        told["ci95"]["acc1"] = ends
        row = next(line for line in text(leaderboard_figures(report), 100).splitlines() if "ask by degree" in line)
        assert ("*" in row) is mark


def test_a_papers_table_has_what_it_printed_and_no_figure_of_what_did_not_run(tiny_graph: Path, tmp_path: Path) -> None:
    ranked = 'leaderboard {given} --known all --methods "at once,policy tags" --store {store} --json'
    runs = {"a": {"commands": [ranked]}, "b": {"commands": ["train grpo {base}"]}}
    arms = {
        "ranked": {"run": "a", "at": "methods/at once", "printed": {"Acc@1 %": 99.5}},
        "by a model": {"run": "a", "at": "methods/policy tags"},
        "trained": {"run": "b", "printed": {"Acc@1 %": 12}},
    }
    said = {"title": "A paper", "cite": "", "given": "", "figures": {"Acc@1 %": "acc1"}, "apart": ["its patients"]}
    (tmp_path / "p.yaml").write_text(json.dumps({**said, "runs": runs, "arms": arms}))
    case = {"id": "a", "observed": list(TERMS), "diseases": ["OMIM:100001"]}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case))
    places = {"given": [str(tmp_path / "cases.jsonl")], "store": [str(tiny_graph)]}
    table = Paper.read(str(tmp_path / "p.yaml")).table(places, tmp_path / "run")
    whole = papers.PaperRun(commands=("train grpo {base}", ranked.replace("policy tags", "{trained}")), own=True)
    given = papers.done(whole, {**places, "trained": ["policy rounds"]}, tmp_path / "own")  # nothing is trained
    assert given["methods"]["policy rounds"]["n"] == 1
    assert list(table["arms"]) == ["ranked"] and list(table["not_run"]) == ["by a model", "trained"]
    told = " ".join(text(papers.shown(table), 100).split())
    assert "ranked 1 100.0 (99.5)" in told and "trained not run – (12)" in told
    assert "not run (nobody says what base is: give --base MODEL, which is trained): trained" in told
    for each in papers.SHIPPED.glob("*.yaml"):
        found = Paper.read(each.stem)
        assert all(arm.run in found.runs and {*arm.printed} <= {*found.figures} for arm in found.arms.values())
