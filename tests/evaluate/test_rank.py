"""What an evaluation counts, on the small graph; and that the real one keeps its accuracy."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

import small_graph
from kgdx.case import Failure, read_cases
from kgdx.case.patient import Case, Finding
from kgdx.errors import CaseError
from kgdx.evaluate.metrics import METRICS
from kgdx.evaluate.rank_accuracy import GROUPS, evaluate_rank
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker
from kgdx.rank.case_bank import CaseBank
from kgdx.rank.held_out_ranks import Withheld
from kgdx.render.terminal.accuracy_text import rank_figures as shown
from kgdx.render.terminal.console import text
from small_graph import FEVER, FOCAL, HYPOTONIA, RECESSIVE, SEIZURE, SHORT, STATUS


def case(id: str, observed: list[str], disease: str, *publications: str) -> Case:
    return Case(id, tuple(map(Finding, observed)), diseases=(disease,), publications=publications)


def test_groups_tell_what_the_graph_had_seen(ranker: Ranker, snapshot: Snapshot) -> None:
    cases = [
        case("seen", [SEIZURE, STATUS], "OMIM:1", "PMID:2"),
        case("unseen", [SHORT], "OMIM:2", "PMID:77"),
        case("unsaid", [FEVER], "OMIM:3"),
        case("unknown", [FEVER], "OMIM:99", "PMID:4"),
    ]
    report = evaluate_rank(ranker, snapshot, cases)
    assert list(report["groups"]) == [name for name in GROUPS if name != "group_label"]
    assert {name: group["n"] for name, group in report["groups"].items()} == {
        "all": 4,
        "in_graph": 3,
        "seen": 1,
        "unseen": 1,
        "withheld": 1,
    }
    assert set(report["groups"]["all"]) == {"n", "ci95", *METRICS}
    assert report["groups"]["all"]["top1"] == 0.75
    assert (report["unrankable"], report["failed"], report["n_candidates"]) == (1, [], 4)
    assert 0 < report["ms_median"] <= report["ms_p95"]


def test_an_entry_merged_with_the_label_counts(ranker: Ranker, snapshot: Snapshot) -> None:
    report = evaluate_rank(ranker, snapshot, [case("c", [SEIZURE], "ORPHA:1")])
    assert report["groups"]["in_graph"]["top1"] == 1


def test_groups_that_cannot_be_told_are_left_out(ranker: Ranker, snapshot: Snapshot) -> None:
    assert set(evaluate_rank(ranker, snapshot, [case("c", [SEIZURE], "OMIM:1")])["groups"]) == {"all", "in_graph"}
    assert set(evaluate_rank(ranker, snapshot, [case("c", [SEIZURE], "OMIM:99")])["groups"]) == {"all"}


def test_a_label_that_is_a_group_is_counted_apart(tmp_path: Path) -> None:
    tables = small_graph.tables([*small_graph.SAME, ("OMIM:4", "OMIM:2", "broader")])
    snapshot = compile_snapshot(tables, tmp_path / "s", "f")
    cases = [case("group", [SHORT], "OMIM:4"), case("one", [SEIZURE], "OMIM:1")]
    report = evaluate_rank(Ranker.open(snapshot), snapshot, cases)
    assert report["group_labels"] == ["OMIM:4"]
    assert (report["groups"]["in_graph"]["n"], report["groups"]["all"]["top1"]) == (1, 0.5)
    assert (report["groups"]["group_label"]["n"], report["groups"]["group_label"]["top1"]) == (1, 1.0)
    assert "1 label for a group of diseases, counted apart: OMIM:4" in text(shown(report))


def test_a_member_of_the_labels_family_counts_by_family(ranker: Ranker, snapshot: Snapshot) -> None:
    wanted, other = ranker.number_of("OMIM:1"), ranker.number_of("OMIM:2")
    kin = ranker.model.families.of.copy()
    kin[other] = kin[wanted]
    related = replace(ranker.model, families=replace(ranker.model.families, of=kin))
    report = evaluate_rank(Ranker.open(snapshot, model=related), snapshot, [case("sister", [SHORT], "OMIM:1")])
    assert (report["groups"]["all"]["top1"], report["by_family"]["all"]["top1"]) == (0.0, 1.0)


def test_made_up_cases_are_counted(ranker: Ranker, snapshot: Snapshot) -> None:
    made_up = replace(case("made up", [SEIZURE], "OMIM:1"), synthetic=True)
    report = evaluate_rank(ranker, snapshot, [made_up, case("real", [SEIZURE], "OMIM:1")])
    assert report["synthetic"] == 1
    assert "1 case made up rather than observed" in text(shown(report))


def test_failed_cases_stay_in_the_denominator(ranker: Ranker, snapshot: Snapshot) -> None:
    cases = [
        case("good", [SEIZURE], "OMIM:1"),
        case("nothing", [RECESSIVE], "OMIM:1"),
        Failure("cases.jsonl:3", "is no case"),
    ]
    report = evaluate_rank(ranker, snapshot, cases)
    assert [failed["id"] for failed in report["failed"]] == ["nothing", "cases.jsonl:3"]
    assert (report["groups"]["all"]["n"], report["groups"]["in_graph"]["n"]) == (3, 2)
    assert report["groups"]["all"]["top10"] == pytest.approx(1 / 3)


def test_no_case_at_all_is_an_error(ranker: Ranker, snapshot: Snapshot) -> None:
    with pytest.raises(CaseError, match="no case to evaluate on"):
        evaluate_rank(ranker, snapshot, [])


def test_withholding_equals_a_graph_without_the_publication(ranker: Ranker, snapshot: Snapshot, tmp_path: Path) -> None:
    """Only the disease's own column is recomputed; the terms' statistics stay those of the whole graph."""
    withheld = Withheld(ranker, snapshot)
    number = ranker.number_of("OMIM:1")
    column = withheld.without(number, frozenset({"PMID:2"}))
    assert column is not None
    kept = [row for row in small_graph.HAS if "PMID:2" not in row[5]]
    bare = [table for table in small_graph.tables() if getattr(table, "type", "") != "HAS_PHENOTYPE"]
    other = Ranker.open(compile_snapshot([*bare, small_graph._annotations("HAS_PHENOTYPE", kept)], tmp_path / "s", "f"))
    assert column.annotated.index.tolist() == other.model.columns.annotated.columns(number).tolist()
    assert column.annotated.values.tolist() == other.model.columns.annotated.row(number)[1].tolist()
    assert column.breadth[0] == other.model.columns.breadth[number]


def test_a_disease_of_which_nothing_is_left_is_missed(ranker: Ranker, snapshot: Snapshot) -> None:
    report = evaluate_rank(ranker, snapshot, [case("c", [FEVER], "OMIM:3", "PMID:4")])
    assert report["groups"]["seen"]["top1"] == 1
    assert report["groups"]["withheld"]["mrr"] == 0


def test_withholding_never_changes_the_model(ranker: Ranker, snapshot: Snapshot) -> None:
    before = ranker.score_all(([SEIZURE, STATUS], ()))[1]
    evaluate_rank(ranker, snapshot, [case("c", [SEIZURE, STATUS], "OMIM:1", "PMID:1")])
    assert (ranker.score_all(([SEIZURE, STATUS], ()))[1] == before).all()


def test_the_bank_raises_the_disease_of_a_patient_alike(ranker: Ranker, snapshot: Snapshot) -> None:
    bank = CaseBank(ranker, snapshot)
    assert bank.size == 2
    scored = ranker.score(([FOCAL, SHORT], ()))
    total = scored.total
    raised = bank.match(scored).raised(total)
    fever = ranker.number_of("OMIM:3")
    assert raised[fever] > total[fever]
    assert (raised >= total).all()


def test_the_bank_never_uses_a_patient_of_the_same_publication(ranker: Ranker, snapshot: Snapshot) -> None:
    bank = CaseBank(ranker, snapshot)
    scored = ranker.score(([FOCAL, SHORT], ()))
    total = scored.total
    left_out = bank.match(scored, frozenset({"PMID:4"})).raised(total)
    fever = ranker.number_of("OMIM:3")
    assert left_out[fever] == total[fever]
    assert bank.has(fever, frozenset()) and not bank.has(fever, frozenset({"PMID:4"}))


def test_an_evaluation_with_the_bank_says_how_many_cases_had_one(ranker: Ranker, snapshot: Snapshot) -> None:
    cases = [
        case("own", [FOCAL, SHORT], "OMIM:3", "PMID:4"),
        case("other", [SHORT, HYPOTONIA], "OMIM:2", "PMID:8"),
    ]
    report = evaluate_rank(ranker, snapshot, cases, CaseBank(ranker, snapshot))
    assert report["banked"] == 1
    assert "withheld" not in report["groups"]


@pytest.mark.heavy
def test_accuracy_on_real_cases_stays(default_graph: Path, shared_data: Path, tmp_path: Path) -> None:
    """Every seventh case; bounds a little under what is measured."""
    import kgdx

    with gzip.open(shared_data / "phenopackets-dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        chosen = [line for number, line in enumerate(lines) if number % 7 == 0]
    (tmp_path / "cases.jsonl").write_text("".join(chosen), encoding="utf-8")
    with kgdx.open(default_graph) as graph:
        report = evaluate_rank(graph.ranker, graph.snapshot, read_cases(tmp_path / "cases.jsonl"))
        matched = evaluate_rank(graph.ranker, graph.snapshot, read_cases(tmp_path / "cases.jsonl"), graph.bank)[
            "groups"
        ]
    groups = report["groups"]
    assert report["failed"] == []
    assert 9_900 < report["n_candidates"] < 10_500  # without Orphanet entries that OMIM's stand for
    assert groups["seen"]["top1"] > 0.61 and groups["seen"]["top10"] > 0.85
    # 151 diseases are known by patients alone, and those of a case's own publication never count.
    assert matched["in_graph"]["top1"] > 0.47 and matched["in_graph"]["top10"] > 0.66
    assert matched["unseen"]["top1"] > 0.23 and matched["unseen"]["top10"] > 0.40
    assert groups["withheld"]["top10"] < groups["seen"]["top10"]
