"""What age, sex, family and genes add: bounded, told in words, and nothing where nobody says anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import small_graph
from kgdx.case import CandidateGene, Case, Family, Finding, GeneEvidence, Status
from kgdx.graph.protocol import GraphTable, NodeTable, RelationTable
from kgdx.graph.snapshot_compile import compile_snapshot
from kgdx.rank import Ranker
from kgdx.rank.case_bank import CaseBank
from kgdx.rank.inheritance import MISSING, MOST, ONE_COPY, WRONG_SEX
from kgdx.rank.onset import LEAST, PER_TENFOLD, STAGES, WITHIN, Onset, stage_at
from kgdx.results.ranked import Candidate

INFANTILE, ADULT, EARLY_ADULT = "HP:0003593", "HP:0003581", "HP:0025708"
ACUTE, CHRONIC = "HP:0011009", "HP:0011010"
DOMINANT, X_RECESSIVE, MALE_ORGAN = "HP:0000006", "HP:0001419", "HP:0000022"
TERMS = {
    INFANTILE: "HP:0000001",
    ADULT: "HP:0000001",
    EARLY_ADULT: ADULT,
    DOMINANT: "HP:0000001",
    X_RECESSIVE: "HP:0000001",
    MALE_ORGAN: "HP:0000118",
    ACUTE: "HP:0000001",
}
SAID = [
    ("OMIM:1", INFANTILE),
    ("OMIM:1", small_graph.RECESSIVE),
    ("OMIM:2", EARLY_ADULT),
    ("OMIM:2", DOMINANT),
    ("OMIM:2", ACUTE),
    ("OMIM:3", X_RECESSIVE),
    ("OMIM:5", MALE_ORGAN),
]
SCORERS = {"likelihood": 1.0, "onset": 0.3, "sex": 1.0, "course": 1.0, "inheritance": 1.0, "gene_evidence": 1.5}
CASE = Case("p", (Finding(small_graph.SEIZURE), Finding(small_graph.HYPOTONIA)))


def tables() -> list[GraphTable]:
    """The small graph with onsets, modes of inheritance and a disease of men."""
    edges = [(child, parent) for child, parent in TERMS.items()]
    return [
        *small_graph.tables(),
        NodeTable("Phenotype", pa.table({"id": list(TERMS), "name": list(TERMS)})),
        NodeTable("Disease", pa.table({"id": ["OMIM:5"], "name": ["A disease of men"], "course": ["months-years"]})),
        _relation("IS_A", "Phenotype", edges),
        _relation("HAS_PHENOTYPE", "Disease", SAID),
    ]


def _relation(kind: str, start: str, pairs: list[tuple[str, str]]) -> RelationTable:
    columns = {"start": [pair[0] for pair in pairs], "end": [pair[1] for pair in pairs]}
    return RelationTable(kind, start, "Phenotype", pa.table(columns))


@pytest.fixture(scope="module")
def ranker(tmp_path_factory: pytest.TempPathFactory) -> Ranker:
    folder: Path = tmp_path_factory.mktemp("person")
    return Ranker.open(compile_snapshot(tables(), folder / "snapshot", "f1"), SCORERS)


def found(ranker: Ranker, disease: str, case: Case) -> Candidate:
    ranking = ranker.rank(case, top=9, explain=True)
    return next(each for each in ranking.candidates if each.id == disease)


def part(ranker: Ranker, disease: str, scorer: str, case: Case) -> float:
    return found(ranker, disease, case).parts[scorer]


def listed(*genes: CandidateGene, complete: bool = False) -> Case:
    return replace(CASE, gene_evidence=GeneEvidence(genes, complete))


def test_a_case_that_says_nothing_of_the_person_is_ranked_as_without_these_scorers(ranker: Ranker) -> None:
    plain = Ranker(ranker.model, ranker.names, {"likelihood": ranker.scorers["likelihood"]}, ranker.weights)
    unknown = replace(CASE, sex="UNKNOWN", text="whatever else")
    assert (ranker.score(unknown).total == plain.score(unknown).total).all()
    assert set(ranker.rank(unknown).candidates[0].parts) == {"likelihood"}


def test_equal_findings_of_other_patients_are_not_taken_for_each_other(ranker: Ranker) -> None:
    boy, girl = (ranker.score(replace(CASE, sex=sex)) for sex in ("MALE", "FEMALE"))
    assert boy is not girl and (boy.total != girl.total).any()
    assert ranker.score(replace(CASE, sex="FEMALE", text="other words")) is girl


def test_one_more_finding_goes_on_from_the_case_before_to_the_last_bit(ranker: Ranker) -> None:
    girl = replace(CASE, sex="FEMALE", age="P1Y")
    longer = girl.with_finding(Finding(small_graph.FEVER))
    ranker.forget()
    after = ranker.score(longer, ranker.score(girl))
    ranker.forget()
    assert (after.total == ranker.score(longer).total).all()


def test_contributions_of_the_person_are_told_in_words_and_add_up(ranker: Ranker) -> None:
    case = replace(listed(CandidateGene("GENA")), onset=INFANTILE, sex="FEMALE", family=Family(consanguineous=True))
    best = found(ranker, "OMIM:1", case)
    assert sum(each.score for each in best.contributions) == pytest.approx(best.score)
    said = {each.rule: each.text for each in best.contributions if each.text}
    assert said == {
        "onset": "begins mostly in infancy; the patient's began in infancy",
        "inheritance": "autosomal recessive; the parents are related",
        "gene_evidence": "its gene GENA is the candidate gene",
    }


@pytest.mark.parametrize(("age", "stage"), [(0, 1), (0.05, 2), (0.5, 3), (3, 4), (10, 5), (30, 6), (50, 7), (80, 8)])
def test_each_age_is_in_its_stage(age: float, stage: int) -> None:
    assert stage_at(age) == stage < len(STAGES)


def test_the_disease_that_begins_when_the_patients_did_rises(ranker: Ranker) -> None:
    infant, adult = (replace(CASE, onset=onset) for onset in ("P6M", "P20Y"))
    assert part(ranker, "OMIM:1", "onset", infant) > 0 > part(ranker, "OMIM:2", "onset", infant)
    assert part(ranker, "OMIM:1", "onset", adult) < 0 < part(ranker, "OMIM:2", "onset", adult)
    assert part(ranker, "OMIM:3", "onset", infant) == 0  # its onset is not known
    finding = Finding(small_graph.SEIZURE, onset=INFANTILE)
    assert part(ranker, "OMIM:1", "onset", replace(CASE, findings=(finding,))) > 0


def test_age_is_a_bound_on_the_onset_and_says_less_than_it(ranker: Ranker) -> None:
    child, old = replace(CASE, age="P3M"), replace(CASE, age="P80Y")
    assert part(ranker, "OMIM:2", "onset", child) < 0 < part(ranker, "OMIM:1", "onset", child)
    assert abs(part(ranker, "OMIM:2", "onset", old)) < 1e-6
    assert Onset.name in ranker.scorers


@pytest.mark.parametrize(
    ("told", "acute", "chronic"),
    [
        ({"since": "PT1H"}, WITHIN, LEAST),
        ({"since": "P200D"}, WITHIN - PER_TENFOLD, WITHIN),
        ({"modifiers": (CHRONIC,)}, None, WITHIN),
        ({"modifiers": (ACUTE,)}, WITHIN, None),
    ],
)
def test_how_long_the_patient_has_been_ill_is_compared_with_the_usual(
    ranker: Ranker, told: Mapping[str, Any], acute: float | None, chronic: float | None
) -> None:
    case = replace(CASE, findings=(Finding(small_graph.SEIZURE, **told),))
    for disease, wanted in (("OMIM:2", acute), ("OMIM:5", chronic)):
        score = part(ranker, disease, "course", case)
        assert score < 0 if wanted is None else score == pytest.approx(wanted, abs=1e-6)
    assert part(ranker, "OMIM:1", "course", case) == 0  # its course is not known
    absent = replace(CASE, findings=(Finding(small_graph.FEVER, Status.ABSENT, **told), *CASE.findings))
    assert "course" not in found(ranker, "OMIM:2", absent).parts


def test_a_girl_has_x_linked_recessive_diseases_and_those_of_men_less(ranker: Ranker) -> None:
    girl, boy = (replace(CASE, sex=sex) for sex in ("FEMALE", "MALE"))
    assert part(ranker, "OMIM:3", "sex", girl) == -1 and part(ranker, "OMIM:3", "sex", boy) == 0
    assert part(ranker, "OMIM:5", "sex", girl) == -WRONG_SEX and part(ranker, "OMIM:5", "sex", boy) == 0
    assert part(ranker, "OMIM:1", "sex", girl) == 0
    assert not any("sex" in each.parts for each in found(ranker, "OMIM:1", girl).contributions)


def test_family_and_a_suspected_mode_move_candidates_within_bounds(ranker: Ranker) -> None:
    related = replace(CASE, family=Family(consanguineous=True))
    parent = replace(CASE, family=Family(affected=("PARENT",)))
    both = replace(CASE, family=Family(consanguineous=True, inheritance=(small_graph.RECESSIVE,)))
    assert part(ranker, "OMIM:1", "inheritance", related) > 0 > part(ranker, "OMIM:2", "inheritance", related)
    assert part(ranker, "OMIM:2", "inheritance", parent) > 0 > part(ranker, "OMIM:1", "inheritance", parent)
    assert part(ranker, "OMIM:1", "inheritance", both) == MOST
    assert part(ranker, "OMIM:5", "inheritance", both) == 0


def test_a_gene_alone_says_most_and_a_list_of_all_says_nothing(ranker: Ranker) -> None:
    def adds(count: int) -> float:
        others = (CandidateGene(f"X{number}") for number in range(count - 1))
        return part(ranker, "OMIM:1", "gene_evidence", listed(CandidateGene("gena"), *others))

    one, some, every = adds(1), adds(100), adds(20_000)
    assert one == pytest.approx(1.5 * np.log(20_000)) and some == pytest.approx(1.5 * np.log(200)) and every == 0
    assert part(ranker, "OMIM:2", "gene_evidence", listed(CandidateGene("GENA"))) == 0


def test_scores_of_genes_are_weights_and_a_complete_list_speaks_against_the_others(ranker: Ranker) -> None:
    case = listed(CandidateGene("GENA", score=0.9), CandidateGene("X", score=0.1), complete=True)
    assert part(ranker, "OMIM:1", "gene_evidence", case) == pytest.approx(1.5 * np.log(18_000))
    assert part(ranker, "OMIM:2", "gene_evidence", case) == -1.5 * MISSING
    assert part(ranker, "OMIM:3", "gene_evidence", case) == 0
    told = [each.text for each in found(ranker, "OMIM:2", case).contributions if each.text]
    assert told == ["its gene GENB is not among the 2 candidate genes"]


def test_one_changed_copy_says_less_of_a_recessive_disease(ranker: Ranker) -> None:
    one, both = (listed(CandidateGene("GENA", zygosity=each)) for each in ("HETEROZYGOUS", "BIALLELIC"))
    lost = part(ranker, "OMIM:1", "gene_evidence", both) - part(ranker, "OMIM:1", "gene_evidence", one)
    assert lost == pytest.approx(1.5 * ONE_COPY, rel=1e-4)


def test_a_graph_that_knows_no_onset_says_that_the_age_changes_nothing(tmp_path: Path) -> None:
    poor = Ranker.open(compile_snapshot(small_graph.tables(), tmp_path / "snapshot", "f1"), SCORERS)
    told = [issue.message for issue in poor.rank(replace(CASE, age="P3Y")).issues]
    assert "the graph does not know when diseases begin, so onset changes nothing" in told


def test_orphanets_ages_and_modes_count_where_they_are_loaded(tmp_path: Path) -> None:
    said = {
        "id": ["OMIM:3", "UMLS:2"],
        "name": ["Fever of unknown cause", "Rare genetic epilepsy"],
        "onset_ages": [["Adult", "Elderly"], ["Infancy"]],
        "inheritance": [["Autosomal dominant", "Unknown"], []],
    }
    others = [each for each in tables() if not (isinstance(each, NodeTable) and each.label == "Disease")]
    names = {id: name for id, name in (*small_graph.NAMES.items(), ("OMIM:5", "x")) if id not in said["id"]}
    diseases = [NodeTable("Disease", pa.table({"id": list(names), "name": list(names.values())}))]
    diseases.append(NodeTable("Disease", pa.table(said)))
    ranker = Ranker.open(compile_snapshot([*others, *diseases], tmp_path / "snapshot", "f1"), SCORERS)
    adult = replace(CASE, onset=ADULT)
    assert part(ranker, "OMIM:3", "onset", adult) > 0 > part(ranker, "UMLS:2", "onset", adult)
    girl = replace(CASE, sex="FEMALE")
    assert part(ranker, "OMIM:3", "sex", girl) == -0.5  # X-linked for HPOA, dominant for Orphanet


def test_patients_of_the_bank_share_what_the_person_says_of_their_disease(ranker: Ranker, tmp_path: Path) -> None:
    snapshot = compile_snapshot(tables(), tmp_path / "snapshot", "f1")
    bank = CaseBank(ranker, snapshot)
    plain, with_gene = (bank.match(ranker.score(case)).value for case in (CASE, listed(CandidateGene("GENB"))))
    gained = dict(zip(bank.ids, (with_gene - plain).tolist(), strict=True))
    assert gained == pytest.approx({"p1": 0.0, "p2": 1.5 * np.log(20_000)}, rel=1e-4)


def test_no_label_of_a_case_changes_its_ranking(ranker: Ranker) -> None:
    labelled = replace(CASE, diseases=("OMIM:2",), genes=("GENB",), sex="MALE")
    assert (ranker.score(labelled).total == ranker.score(replace(CASE, sex="MALE")).total).all()
