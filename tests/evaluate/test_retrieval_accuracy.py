"""What a comparison of ways to retrieve counts, on the small graph: ranks, intervals, and where a patient was lost."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import small_graph
from kgdx.case import Case, Failure, Finding
from kgdx.errors import CaseError, UsageError
from kgdx.evaluate.labels import Kinship, Label, Labels
from kgdx.evaluate.metrics import MISS, gains, hits
from kgdx.evaluate.retrieval_accuracy import (
    Arm,
    CandidatePool,
    Reordered,
    RetrievedCases,
    of_source,
    patient_lines,
    retrieval_figures,
    whole_numbers,
)
from kgdx.evaluate.runner import Record, Runner, by_arm, kept, numbered
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker
from kgdx.render.terminal.accuracy_text import retrieval_figures as retrieval_text
from kgdx.render.terminal.console import text
from small_graph import FEVER, RECESSIVE, SEIZURE, SHORT


class Comparison:
    """Cases ranked by arms, and what came of it."""

    def __init__(self, measure: RetrievedCases) -> None:
        self.measure, self.records = measure, list[Record]()
        self.arms = [arm.name for arm in measure.arms]

    def run(self, cases: Sequence[Case | Failure], runner: Runner | None = None) -> None:
        self.records = (runner or Runner()).run(numbered(cases), self.arms, self.measure)

    @property
    def found(self) -> dict[str, list[Record]]:
        return by_arm(self.records, self.arms)

    def report(self, at: Sequence[int] = (1, 2)) -> dict[str, Any]:
        return retrieval_figures(self.records, self.arms, self.measure.size, at)


Measure = Callable[..., Comparison]


class Ordered:
    """A way to retrieve that puts diseases in one order, whoever the patient is."""

    def __init__(self, ranker: Ranker, *first: str) -> None:
        self.ranker, self.asked = ranker, 0
        self._scores = np.zeros(ranker.model.columns.size, np.float32)
        for place, disease in enumerate(first):
            self._scores[ranker.number_of(disease)] = len(first) - place

    def query(self, case: Case) -> Any:
        return self.ranker.query(case)[0]

    def scores(self, query: Any) -> Any:
        self.asked += 1
        return self._scores


@pytest.fixture
def measure(ranker: Ranker, snapshot: Snapshot) -> Measure:
    """Makes a comparison of methods; ``name=method`` or ``name=(method, reorder, kept)``."""

    def make(among: Any = None, **arms: Any) -> Comparison:
        chosen = [Arm(name, *(arm if isinstance(arm, tuple) else (arm,))) for name, arm in arms.items()]
        return Comparison(RetrievedCases(chosen, ranker, snapshot, Labels(ranker, snapshot), among=among))

    return make


def patient(id: str, disease: str, *observed: str) -> Case:
    return Case(id, tuple(map(Finding, observed or (SEIZURE,))), diseases=(disease,))


ranks = st.lists(st.one_of(st.floats(1, 200), st.just(MISS)), min_size=1, max_size=20)


@given(ranks)
def test_neither_hits_nor_ndcg_fall_with_k(found: list[float]) -> None:
    for values in (hits(found, (1, 10, 20, 50)), gains(found, (1, 10, 20, 50))):
        assert (np.diff(values, axis=1) >= 0).all()
        assert ((values >= 0) & (values <= 1)).all()


def test_the_report_has_the_published_shape(ranker: Ranker, measure: Measure) -> None:
    measured = measure(good=Ordered(ranker, "OMIM:1", "OMIM:2"), bad=Ordered(ranker, "OMIM:3", "OMIM:2"))
    measured.run([patient("a", "OMIM:1"), patient("b", "OMIM:2"), patient("c", "OMIM:99")])
    report = measured.report((1, 2))
    good = report["methods"]["good"]
    assert good.keys() >= {"n", "hit", "ndcg", "ci95", "ms_median"}
    assert (good["n"], good["hit"]) == (3, {"1": pytest.approx(1 / 3), "2": pytest.approx(2 / 3)})
    assert report["in_graph"]["good"]["n"] == 2
    assert report["in_graph"]["good"]["hit"] == {"1": 0.5, "2": 1.0}
    assert report["in_graph"]["good"]["ndcg"]["2"] == pytest.approx((1 + 1 / np.log2(3)) / 2)
    assert all(low <= high for low, high in good["ci95"]["hit"].values())
    assert report["labels"] == {"n": 3, "in_graph": 2, "unknown": ["OMIM:99"]}
    assert report["paired"]["bad"]["against"] == "good"
    assert report["paired"]["bad"]["hit"]["1"] == -0.5
    json.dumps(report)


def test_a_label_with_many_patients_counts_once_by_label(ranker: Ranker, measure: Measure) -> None:
    measured = measure(one=Ordered(ranker, "OMIM:1"))
    measured.run([*(patient(str(n), "OMIM:1") for n in range(3)), patient("d", "OMIM:2")])
    told = measured.report((1,))["methods"]["one"]
    assert (told["hit"]["1"], told["by_label"]["hit"]["1"], told["by_label"]["n"]) == (0.75, 0.5, 2)


def test_each_patient_is_lost_somewhere(ranker: Ranker, measure: Measure) -> None:
    def last_first(pool: CandidatePool) -> Reordered:
        return Reordered(pool.candidates[::-1], {"asked": 1})

    order = Ordered(ranker, "OMIM:1", "OMIM:2", "OMIM:3")
    measured = measure(plain=(order, None, 2), turned=(order, last_first, 2))
    measured.run(
        [
            *(patient(disease, disease) for disease in ("OMIM:1", "OMIM:2", "OMIM:3", "OMIM:99")),
            patient("none", "OMIM:1", RECESSIVE),
            Failure("cases.jsonl line 9", "no case", "bad"),
        ]
    )
    stages = {name: [each["stage"] for each in told] for name, told in measured.found.items()}
    others = ["missed in retrieval", "not in the graph", "failed", "failed"]
    assert stages == {"plain": ["right", "behind", *others], "turned": ["lost in re-ranking", "right", *others]}
    assert [(each["retrieved"], each["rank"]) for each in measured.found["turned"][:3]] == [(1, 2), (2, 1), (3, 3)]
    assert measured.report((1,))["methods"]["turned"]["orders"] == {"asked": 4}


def test_arms_that_differ_in_layer_two_retrieve_once(ranker: Ranker, measure: Measure) -> None:
    order = Ordered(ranker, "OMIM:1")
    measure(plain=order, same=(order, lambda pool: Reordered(pool.candidates))).run([patient("a", "OMIM:1")])
    assert order.asked == 1


def test_candidates_of_one_source_are_compared_alone(ranker: Ranker, measure: Measure) -> None:
    among = np.zeros(ranker.model.columns.size, bool)
    among[[ranker.number_of("OMIM:2"), ranker.number_of("OMIM:3")]] = True
    measured = measure(among, order=Ordered(ranker, "OMIM:1", "OMIM:2", "OMIM:3"))
    measured.run([patient("b", "OMIM:2"), patient("a", "OMIM:1")])
    assert [(each["rank"], each["known"]) for each in measured.found["order"]] == [(1, True), (None, False)]
    assert measured.measure.size == 2


def test_a_source_that_describes_nothing_names_those_that_do(ranker: Ranker, snapshot: Snapshot) -> None:
    with pytest.raises(UsageError, match="no source 'nowhere' describes a disease"):
        of_source(snapshot, ranker, "nowhere")


def test_the_first_disease_is_told_by_what_the_graph_says_of_both(tmp_path: Path) -> None:
    same = [*small_graph.SAME, ("OMIM:4", "OMIM:3", "broader"), ("OMIM:3", "OMIM:1", "close")]
    names = {"OMIM:4": "Fevers", "UMLS:2": "Hypotonia with short stature"}
    snapshot = compile_snapshot(small_graph.tables(same, names=names), tmp_path / "s", "f")
    ranker = Ranker.open(snapshot)
    kinship, number = Kinship(ranker, snapshot), ranker.number_of

    def kin(first: str, right: str) -> str:
        return kinship.of(number(first), Label((right,), (number(right),)))

    assert kin("OMIM:1", "OMIM:1") == "same"
    assert kin("OMIM:3", "OMIM:1") == kin("OMIM:1", "OMIM:3") == "synonym"
    assert kin("OMIM:1", "OMIM:2") == "none"
    assert kinship.of(number("OMIM:2"), Label(("group",), (), (number("OMIM:2"),))) == "subtype"


def test_what_a_journal_holds_is_not_ranked_again(ranker: Ranker, measure: Measure, tmp_path: Path) -> None:
    cases = [patient("a", "OMIM:1"), patient("b", "OMIM:2"), patient("c", "OMIM:3")]
    orders = [Ordered(ranker, "OMIM:2", "OMIM:1") for _ in range(3)]
    reports = []
    for order, some in zip(orders, (cases[:2], cases, cases), strict=True):
        measured = measure(order=order)
        with kept(tmp_path / "run", {"what": "retrieval"}) as journal:
            measured.run(some, Runner(journal))
        reports.append(measured.report((1, 2)))
    assert [order.asked for order in orders] == [2, 1, 0]
    assert reports[1] == reports[2]


def test_cases_without_labels_are_no_evaluation(ranker: Ranker, measure: Measure) -> None:
    measured = measure(order=Ordered(ranker))
    measured.run([Case("a", (Finding(SEIZURE),))])
    with pytest.raises(CaseError, match="none of 1 cases states its diagnosis"):
        measured.report()


@given(st.text("0123456789,. x-", max_size=12))
def test_any_list_of_ranks_is_read_or_refused(at: str) -> None:
    try:
        found = whole_numbers(at, "--at", 1, 1000)
    except UsageError:
        return
    assert found == tuple(sorted(set(found))) and 1 <= found[0] <= found[-1] <= 1000


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_each_patient_is_written_by_each_arm(ranker: Ranker, measure: Measure, suffix: str) -> None:
    measured = measure(one=Ordered(ranker, "OMIM:1"), two=Ordered(ranker, "OMIM:2"))
    measured.run([patient("a", "OMIM:1"), patient("b", "OMIM:99", FEVER, SHORT)])
    written = patient_lines(measured.records, suffix)
    rows: list[Any] = (
        [json.loads(line) for line in written.splitlines()]
        if suffix == ".jsonl"
        else list(csv.DictReader(io.StringIO(written), delimiter="," if suffix == ".csv" else "\t"))
    )
    assert [(row["id"], row["arm"], row["stage"]) for row in rows] == [
        ("a", "one", "right"),
        ("a", "two", "behind"),
        ("b", "one", "not in the graph"),
        ("b", "two", "not in the graph"),
    ]
    assert rows[1]["first"] == "OMIM:2"


def test_the_table_fits_a_terminal(ranker: Ranker, measure: Measure) -> None:
    measured = measure(fused=Ordered(ranker, "OMIM:1"), other=Ordered(ranker, "OMIM:2"))
    measured.run([patient("a", "OMIM:1"), patient("b", "OMIM:99")])
    shown = text(retrieval_text({**measured.report((1, 2)), "not_run": {"vgae": "no embeddings"}}), 120)
    assert "no candidate is named so: OMIM:99" in shown
    assert "not run (no embeddings): vgae" in shown
    assert "difference from fused" in shown and "fused by label, the worst first" in shown


def test_a_method_that_reads_nothing_of_any_patient_did_not_run(ranker: Ranker, measure: Measure) -> None:
    class Silent(Ordered):
        def query(self, case: Case) -> Any:
            raise CaseError("it reads pictures", hint="give some")

    measured = measure(order=Ordered(ranker, "OMIM:1"), silent=Silent(ranker))
    measured.run([patient("a", "OMIM:1"), patient("b", "OMIM:2")])
    report = measured.report((1,))
    assert list(report["methods"]) == ["order"] and "pictures" in report["not_run"]["silent"]


def test_a_method_without_what_it_needs_never_ends_the_others(ranker: Ranker, measure: Measure) -> None:
    class Lacking(Ordered):
        def scores(self, query: Any) -> Any:
            raise UsageError("no embeddings", hint="train some")

    measured, runner = measure(order=Ordered(ranker, "OMIM:1"), lacking=Lacking(ranker)), Runner()
    measured.run([patient("a", "OMIM:1"), patient("b", "OMIM:2")], runner)
    assert "no embeddings" in str(runner.not_run["lacking"]) and len(measured.records) == 2


def test_each_label_has_its_hits_and_what_comes_first_instead(ranker: Ranker, measure: Measure) -> None:
    measured = measure(one=Ordered(ranker, "OMIM:1", "OMIM:2"))
    measured.run([patient("a", "OMIM:1"), patient("b", "OMIM:2"), patient("c", "OMIM:2")])
    labels = measured.report((1, 2))["in_graph"]["one"]["labels"]
    assert labels["OMIM:1"] == {"n": 1, "hit": {"1": 1.0, "2": 1.0}, "instead": ""}
    assert (labels["OMIM:2"]["n"], labels["OMIM:2"]["hit"]) == (2, {"1": 0.0, "2": 1.0})
    assert labels["OMIM:2"]["instead"]
