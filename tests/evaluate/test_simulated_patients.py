"""Made-up patients, and recorded ones that answer and never tell more."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import small_graph
from kgdx.arrays.sparse import ancestors
from kgdx.case import (
    Case,
    Finding,
    Status,
    case_from_document,
    case_from_phenopacket,
    case_to_json,
    case_to_phenopacket,
)
from kgdx.episode import AskPatient, Reply, State
from kgdx.episode.recorded_patient import Noise, SimulatedPatient, opening
from kgdx.errors import StoreError, UsageError
from kgdx.evaluate.simulated_patients import ROOT, Perturbation, Synthesis
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.graph.snapshot import Snapshot
from kgdx.graph.snapshot_compile import compile_snapshot

EXACT = Perturbation(imprecision=0, noise=0, omission=0, exclusion=0)


@pytest.fixture(scope="module")
def synthesis(snapshot: Snapshot) -> Synthesis:
    return Synthesis(snapshot, least=2)


def annotated(snapshot: Snapshot) -> dict[str, set[str]]:
    table = snapshot.table("has_phenotype")
    diseases, terms = snapshot.column("disease", "id"), snapshot.column("phenotype", "id")
    found: dict[str, set[str]] = {}
    for row in table.select(["disease", "phenotype"]).to_pylist():
        found.setdefault(diseases[row["disease"]], set()).add(terms[row["phenotype"]])
    return found


def above(snapshot: Snapshot) -> dict[str, set[str]]:
    ids = snapshot.column("phenotype", "id").tolist()
    child, parent = (snapshot.column("is_a", name) for name in ("child", "parent"))
    up = ancestors(child, parent, len(ids), ids.index(ROOT))
    return {id: {ids[row] for row in up.columns(number)} for number, id in enumerate(ids)}


def test_a_seed_makes_the_same_cases_however_many(synthesis: Synthesis) -> None:
    many, few = list(synthesis.cases(30, seed=7)), list(synthesis.cases(10, seed=7))
    assert many[:10] == few
    assert list(synthesis.cases(10, seed=8)) != few
    assert len({case.id for case in many}) == 30


def test_every_case_is_marked_and_states_its_disease(synthesis: Synthesis, snapshot: Snapshot) -> None:
    known = annotated(snapshot)
    for case in synthesis.cases(50):
        assert case.synthetic
        (disease,) = case.diseases
        assert len(known[disease]) >= 2
        assert case.observed


def test_without_perturbation_a_case_has_only_what_its_disease_has(synthesis: Synthesis, snapshot: Snapshot) -> None:
    known = annotated(snapshot)
    for case in synthesis.cases(50, perturbation=EXACT):
        assert set(case.observed) <= known[case.diseases[0]]
        assert case.excluded == ()


def test_an_imprecise_term_is_one_or_two_steps_above_an_annotated_one(tmp_path: Path) -> None:
    chain = [ROOT, *(f"HP:000000{number}" for number in range(1, 6))]
    tables: list[GraphTable] = [
        NodeTable("Disease", pa.table({"id": ["OMIM:1"], "name": ["one"]})),
        NodeTable("Phenotype", pa.table({"id": chain, "name": chain})),
        RelationTable("IS_A", "Phenotype", "Phenotype", pa.table({"start": chain[1:], "end": chain[:-1]})),
        RelationTable("HAS_PHENOTYPE", "Disease", "Phenotype", pa.table({"start": ["OMIM:1"], "end": chain[5:]})),
    ]
    synthesis = Synthesis(compile_snapshot(tables, tmp_path / "chain", "f"), least=1)
    found = {case.observed for case in synthesis.cases(50, perturbation=Perturbation(1, 0, 0, 0))}
    assert found == {(chain[4],), (chain[3],)}
    tables[3] = RelationTable(
        "HAS_PHENOTYPE", "Disease", "Phenotype", pa.table({"start": ["OMIM:1"], "end": chain[2:3]})
    )
    synthesis = Synthesis(compile_snapshot(tables, tmp_path / "vague", "f"), least=1)
    found = {case.observed for case in synthesis.cases(20, perturbation=Perturbation(1, 0, 0, 0))}
    assert found == {(chain[2],)}, "above it stands only the name of an organ"


def test_noise_has_nothing_to_do_with_the_disease(synthesis: Synthesis, snapshot: Snapshot) -> None:
    known, up = annotated(snapshot), above(snapshot)
    foreign = 0
    for case in synthesis.cases(100, perturbation=Perturbation(0, 1, 0, 0)):
        terms = known[case.diseases[0]]
        for term in set(case.observed) - terms:
            foreign += 1
            assert not up[term] & terms
            assert not any(term in up[own] for own in terms)
    assert foreign


def test_whatever_is_left_out_one_finding_stays(synthesis: Synthesis) -> None:
    assert all(len(case.observed) == 1 for case in synthesis.cases(30, perturbation=Perturbation(0, 0, 1, 0)))


def test_what_is_stated_as_absent_does_not_contradict_what_is_there(synthesis: Synthesis, snapshot: Snapshot) -> None:
    up, stated = above(snapshot), 0
    for case in synthesis.cases(100, perturbation=Perturbation(0, 0, 0, 1)):
        stated += len(case.excluded)
        assert not any(term in up[present] for term in case.excluded for present in case.observed)
    assert stated


def test_the_mark_survives_every_form(synthesis: Synthesis) -> None:
    case = next(synthesis.cases(1))
    packet = json.loads(json.dumps(case_to_phenopacket(case, made_of="seed 0")))
    assert {"id": "kgdx:synthetic", "description": "seed 0"} in packet["metaData"]["externalReferences"]
    again = case_from_phenopacket(packet)
    assert (again.synthetic, again.observed, again.excluded, again.diseases, again.publications) == (
        *(True, case.observed, case.excluded, case.diseases, ()),
    )
    assert case_from_document(case_to_json(case)).synthetic
    assert not case_from_phenopacket(case_to_phenopacket(Case("p", again.findings))).synthetic


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_between_0_and_1(share: float) -> None:
    with pytest.raises(UsageError, match="noise is"):
        Perturbation(noise=share)


def test_numbers_out_of_range_are_refused(synthesis: Synthesis) -> None:
    for n, seed in ((0, 0), (10**9, 0), (1, -1)):
        with pytest.raises(UsageError):
            synthesis.cases(n, seed)


def test_a_graph_without_annotations_has_no_patients(tmp_path: Path) -> None:
    tables = [table for table in small_graph.tables() if getattr(table, "type", "") != "HAS_PHENOTYPE"]
    with pytest.raises(StoreError, match="no disease of the graph"):
        Synthesis(compile_snapshot(tables, tmp_path / "a", "f"))
    nothing = [table for table in tables if isinstance(table, NodeTable) and table.label == "Disease"]
    with pytest.raises(StoreError, match="no Phenotypic abnormality"):
        Synthesis(compile_snapshot(nothing, tmp_path / "b", "f"))


SEIZURE, FOCAL, NERVOUS, SHORT, GROWTH = "HP:0001250", "HP:0007359", "HP:0000707", "HP:0004322", "HP:0001507"

ABOVE = {FOCAL: {SEIZURE, NERVOUS}, SEIZURE: {NERVOUS}, SHORT: {GROWTH}}

RECORDED = Case(
    "p", (Finding(FOCAL, label="Focal-onset seizure"), Finding(GROWTH, Status.ABSENT)), diseases=("OMIM:1",)
)


class Tree:
    def ancestors(self, id: str) -> frozenset[str]:
        return frozenset(ABOVE.get(id, ()))


@pytest.mark.parametrize(
    ("term", "reply"),
    [
        (FOCAL, Reply(status=Status.PRESENT)),
        (NERVOUS, Reply(status=Status.PRESENT, term=FOCAL, label="Focal-onset seizure")),
        (GROWTH, Reply(status=Status.ABSENT)),
        (SHORT, Reply(status=Status.ABSENT)),
        ("HP:0001945", Reply(status=Status.UNKNOWN)),
    ],
)
def test_answers_follow_the_recorded_case(term: str, reply: Reply) -> None:
    asked = AskPatient(term=term)
    assert SimulatedPatient(RECORDED, Tree()).reply(asked, State(Case("p"))) == reply


def test_a_yes_names_the_finding_below_only_when_asked_to() -> None:
    patient = SimulatedPatient(RECORDED, Tree(), named=False)
    assert patient.reply(AskPatient(term=SEIZURE), State(Case("p"))) == Reply(status=Status.PRESENT)


def test_an_open_question_gets_what_is_not_known_yet_and_never_the_diagnosis() -> None:
    patient = SimulatedPatient(RECORDED, Tree())
    assert patient.reply(AskPatient(), State(Case("p"))) == Reply(text="Focal-onset seizure")
    assert patient.reply(AskPatient(), State(RECORDED)) == Reply(status=Status.UNKNOWN)


def test_an_opening_is_some_of_the_findings_and_equal_for_equal_seeds() -> None:
    whole = Case("p", tuple(Finding(f"HP:{number:07}") for number in range(9)), text="words", diseases=("OMIM:1",))
    first = opening(whole, 3, seed=4)
    assert first == opening(whole, 3, seed=4) != opening(whole, 3, seed=5)
    assert len(first.findings) == 3 and set(first.findings) <= set(whole.findings)
    assert (first.text, first.diseases) == ("", ())


def test_noise_forgets_contradicts_and_is_unsure_and_stays_the_same() -> None:
    def statuses(noise: Noise) -> list[Status | None]:
        patient = SimulatedPatient(RECORDED, Tree(), noise=noise, seed=3)
        return [patient.reply(AskPatient(term=term), State(Case("p"))).status for term in (FOCAL, NERVOUS, GROWTH)]

    yes, no, unsure = Status.PRESENT, Status.ABSENT, Status.UNKNOWN
    assert statuses(Noise()) == [yes, yes, no]
    assert statuses(Noise(unsure=1)) == [unsure] * 3
    assert statuses(Noise(forgets=1)) == [unsure, unsure, no]
    assert statuses(Noise(contradicts=1)) == [no, no, yes]
    assert statuses(Noise(0.5, 0.5, 0.5)) == statuses(Noise(0.5, 0.5, 0.5))
    with pytest.raises(UsageError):
        Noise(forgets=1.5)


def test_an_evidence_is_answered_with_its_values_and_a_whole_record_says_no() -> None:
    values = tuple(Finding(f"DDXPLUS:E_55_@_{value}", label=value) for value in ("V_89", "V_108"))
    patient = SimulatedPatient(Case("p", values), Tree(), complete=True)
    asked = AskPatient(term="DDXPLUS:E_55")
    reply = patient.reply(asked, State(Case("p")))
    assert (reply.term, reply.more) == ("DDXPLUS:E_55_@_V_89", (("DDXPLUS:E_55_@_V_108", "V_108"),))
    assert patient.reply(AskPatient(term="DDXPLUS:E_91"), State(Case("p"))).status is Status.ABSENT


def test_a_recorded_consultation_begins_with_what_was_reported_first() -> None:
    whole = Case("p", (Finding("a"), Finding("b")), text="words", extra={"first": ["b"], "diagnosis": "Gout"})
    assert opening(whole).observed == ("b",) and not opening(whole).text and not opening(whole).extra
