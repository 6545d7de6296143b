"""The case bank: patients alike raise their disease, say so, and never the patient's own."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

import small_graph
from kgdx.case.patient import Case, Finding, Status
from kgdx.errors import StoreError
from kgdx.graph.protocol import GraphTable, NodeTable
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker
from kgdx.rank.case_bank import CaseBank
from kgdx.results.ranked import Candidate
from small_graph import FOCAL, HYPOTONIA, SEIZURE, SHORT


@pytest.fixture(scope="module")
def bank(ranker: Ranker, snapshot: Snapshot) -> CaseBank:
    return CaseBank(ranker, snapshot)


def patient(*observed: str, id: str = "new", publications: tuple[str, ...] = ()) -> Case:
    return Case(id, tuple(Finding(term) for term in observed), publications=publications)


def candidate(ranker: Ranker, case: Case, bank: CaseBank | None, disease: str = "OMIM:3") -> Candidate:
    return next(found for found in ranker.rank(case, bank=bank, explain=True).candidates if found.id == disease)


def test_a_patient_alike_raises_the_disease_and_is_named(ranker: Ranker, bank: CaseBank) -> None:
    case = patient(FOCAL, SHORT)
    alone, raised = candidate(ranker, case, None), candidate(ranker, case, bank)
    assert alone.cases == () and alone.rank > 1
    assert raised.rank == 1 and raised.score > alone.score
    (match,) = raised.cases
    assert (match.id, match.shared, match.publications) == ("p1", (FOCAL, SHORT), ("PMID:4",))
    assert alone.score < match.score < raised.score


def test_what_patients_are_worth_can_be_set(ranker: Ranker, snapshot: Snapshot) -> None:
    weights = ranker.weights.patients.model_copy(update={"pooling": 0.01, "crowding": 0.0, "update": 0.0})
    raised = candidate(ranker, patient(FOCAL, SHORT), CaseBank(ranker, snapshot, weights=weights))
    assert raised.score == pytest.approx(raised.cases[0].score, abs=1e-3), "the best patient's score alone"


def test_two_patients_alike_say_more_than_one(ranker: Ranker, tmp_path_factory: pytest.TempPathFactory) -> None:
    def doubled(table: GraphTable) -> GraphTable:
        labels = (table.label,) if isinstance(table, NodeTable) else (table.start_label,)
        if labels != ("PatientCase",):
            return table
        key = "id" if isinstance(table, NodeTable) else "start"
        ids = table.rows.column(key).to_pylist()
        again = table.rows.filter(pa.array([id == "p1" for id in ids]))
        again = again.set_column(again.column_names.index(key), key, pa.array(["p1b"] * len(again), pa.string()))
        return replace(table, rows=pa.concat_tables([table.rows, again]))

    tables = [doubled(table) for table in small_graph.tables()]
    snapshot = compile_snapshot(tables, tmp_path_factory.mktemp("doubled") / "snapshot", "f4")
    one, two = (
        candidate(ranker, patient(FOCAL, SHORT), CaseBank(ranker, compiled))
        for compiled in (ranker.names.snapshot, snapshot)
    )
    assert two.score > one.score
    assert [case.id for case in two.cases] == ["p1", "p1b"]


def test_what_a_patient_adds_is_a_contribution_of_its_own(ranker: Ranker, bank: CaseBank) -> None:
    raised = candidate(ranker, patient(FOCAL, SHORT), bank)
    (part,) = [part for part in raised.contributions if "case_bank" in part.parts]
    assert (part.rule, part.matched, part.finding, part.status) == ("patient", "p1", "", Status.UNKNOWN)
    assert part.score == raised.parts["case_bank"]
    assert sum(part.score for part in raised.contributions) == pytest.approx(raised.score, abs=1e-4)
    assert sum(raised.parts.values()) == pytest.approx(raised.score)


def test_a_more_specific_finding_of_the_patient_is_shared_a_more_general_one_is_not(
    ranker: Ranker, bank: CaseBank
) -> None:
    (match,) = candidate(ranker, patient(SEIZURE), bank).cases
    assert match.shared == (SEIZURE,)
    assert [found.shared for found in candidate(ranker, patient(HYPOTONIA), bank, "OMIM:2").cases] == [(HYPOTONIA,)]
    assert candidate(ranker, patient(HYPOTONIA), bank).cases == ()


@pytest.mark.parametrize("own", [{"publications": ("PMID:0", "PMID:4")}, {"id": "p1"}], ids=["publication", "id"])
def test_a_case_is_never_matched_with_its_own(ranker: Ranker, bank: CaseBank, own: dict[str, object]) -> None:
    case = patient(FOCAL, SHORT, **own)  # type: ignore[arg-type]
    assert candidate(ranker, case, bank) == candidate(ranker, case, None)


def test_a_disease_that_fits_better_than_its_patients_keeps_its_score(ranker: Ranker, bank: CaseBank) -> None:
    case = patient(HYPOTONIA)
    alone, kept = candidate(ranker, case, None, "OMIM:1"), candidate(ranker, case, bank, "OMIM:1")
    assert (kept.score, kept.parts, kept.cases) == (alone.score, alone.parts, ())


def test_a_graph_without_patients_is_an_error_that_says_what_to_load(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    tables = [
        table
        for table in small_graph.tables()
        if "PatientCase" not in ((table.label,) if isinstance(table, NodeTable) else (table.start_label,))
    ]
    snapshot = compile_snapshot(tables, tmp_path_factory.mktemp("empty") / "snapshot", "f2")
    with pytest.raises(StoreError, match=r"no patient case with a diagnosis .*kgdx build hp hpoa genes phenopackets="):
        CaseBank(Ranker.open(snapshot), snapshot)


def test_a_patient_that_was_made_up_counts_only_when_asked_for(
    ranker: Ranker, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def marked(table: GraphTable) -> GraphTable:
        if not isinstance(table, NodeTable) or table.label != "PatientCase":
            return table
        made_up = [id == "p1" for id in table.rows.column("id").to_pylist()]
        return NodeTable("PatientCase", table.rows.append_column("synthetic", pa.array(made_up)))

    tables = [marked(table) for table in small_graph.tables()]
    snapshot = compile_snapshot(tables, tmp_path_factory.mktemp("made-up") / "snapshot", "f3")
    real, all_of_them = CaseBank(ranker, snapshot), CaseBank(ranker, snapshot, synthetic=True)
    assert real.size == all_of_them.size - 1
    assert candidate(ranker, patient(FOCAL, SHORT), real).cases == ()
    assert [case.id for case in candidate(ranker, patient(FOCAL, SHORT), all_of_them).cases] == ["p1"]
