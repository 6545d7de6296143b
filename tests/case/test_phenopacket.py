"""Phenopackets are read whole, written back the same, and refused with the place of the fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case import Case, Failure, Finding, Status, case_from_phenopacket, case_to_phenopacket, read_cases
from kgdx.errors import CaseError

SEIZURE = {"type": {"id": "HP:0001250", "label": "Seizure"}}


def packet(**changes: Any) -> dict[str, Any]:
    return {"id": "p", "phenotypicFeatures": [SEIZURE], **changes}


def test_reads_findings_onset_person_disease_publication_and_gene(tiny: Path) -> None:
    case = case_from_phenopacket(json.loads((tiny / "phenopacket.json").read_text()))
    assert case.observed == ("HP:0001250", "HP:0006824")
    assert case.excluded == ("HP:0004322",)
    assert case.findings[0].onset == "HP:0003577"
    assert (case.sex, case.age) == ("FEMALE", "P7Y")
    assert case.diseases == ("OMIM:100001",)
    assert case.publications == ("PMID:11111111",)
    assert case.issues == ()


def test_reads_snake_case_keys() -> None:
    case = case_from_phenopacket({"id": "p", "phenotypic_features": [SEIZURE]})
    assert case.observed == ("HP:0001250",)


def test_excluded_disease_is_no_label() -> None:
    diseases = [{"term": {"id": "OMIM:1"}, "excluded": True}, {"term": {"id": "OMIM:2"}}]
    assert case_from_phenopacket(packet(diseases=diseases)).diseases == ("OMIM:2",)


def test_label_of_an_interpretation_counts_once() -> None:
    interpretation = {"diagnosis": {"disease": {"id": "OMIM:1"}}}
    case = case_from_phenopacket(packet(diseases=[{"term": {"id": "OMIM:1"}}], interpretations=[interpretation]))
    assert case.diseases == ("OMIM:1",)


@pytest.mark.parametrize(("status", "diseases"), [("SOLVED", ("OMIM:1",)), ("UNSOLVED", ()), ("IN_PROGRESS", ())])
def test_a_suspected_disease_is_no_diagnosis(status: str, diseases: tuple[str, ...]) -> None:
    interpretation = {"progressStatus": status, "diagnosis": {"disease": {"id": "OMIM:1"}}}
    assert case_from_phenopacket(packet(interpretations=[interpretation])).diseases == diseases


@pytest.mark.parametrize(("status", "genes"), [("CAUSATIVE", ("NCBIGene:1",)), ("REJECTED", ()), ("CANDIDATE", ())])
def test_a_rejected_or_candidate_gene_is_not_taken_for_the_cause(status: str, genes: tuple[str, ...]) -> None:
    genomic = {"interpretationStatus": status, "gene": {"valueId": "NCBIGene:1"}}
    interpretation = {"diagnosis": {"disease": {"id": "OMIM:1"}, "genomicInterpretations": [genomic]}}
    assert case_from_phenopacket(packet(interpretations=[interpretation])).genes == genes


@pytest.mark.parametrize(
    "reference",
    [{"id": "PMID:12"}, {"id": "pmid: 12"}, {"reference": "https://pubmed.ncbi.nlm.nih.gov/12/"}],
)
def test_publication_is_read_from_any_common_form(reference: dict[str, str]) -> None:
    assert case_from_phenopacket(packet(metaData={"externalReferences": [reference]})).publications == ("PMID:12",)


def test_age_range_gives_its_start() -> None:
    subject = {"timeAtLastEncounter": {"ageRange": {"start": {"iso8601duration": "P3Y"}}}}
    assert case_from_phenopacket(packet(subject=subject)).age == "P3Y"


@pytest.mark.parametrize("features", [[], None])
def test_no_features_is_refused(features: object) -> None:
    with pytest.raises(CaseError, match=r"cases.jsonl line 4: .*no phenotypicFeatures: add"):
        case_from_phenopacket({"id": "p", "phenotypicFeatures": features}, "cases.jsonl line 4")


def test_version_1_and_no_usable_feature_are_refused() -> None:
    with pytest.raises(CaseError, match="phenopacket v1"):
        case_from_phenopacket(packet(phenotypicFeatures=[{**SEIZURE, "negated": True}]))
    with pytest.raises(CaseError, match=r"none of the 1 phenotypicFeatures.*MONDO:1.*not an HPO id"):
        case_from_phenopacket(packet(phenotypicFeatures=[{"type": {"id": "MONDO:1"}}]))


def test_unusable_parts_become_issues_and_the_rest_is_read() -> None:
    features = [SEIZURE, 7, {"type": {"id": "ORPHA:1"}}, {"type": {"id": "HP:0001252"}, "excluded": "yes"}]
    subject = {"sex": "F", "timeAtLastEncounter": {"age": {"iso8601duration": "seven"}}}
    case = case_from_phenopacket(packet(phenotypicFeatures=features, subject=subject), "f.json")
    assert case.observed == ("HP:0001250",)
    assert (case.sex, case.age) == ("UNKNOWN", None)
    assert len(case.issues) == 5
    assert all(issue.where.startswith("f.json: ") for issue in case.issues)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
PLACES = ("id", "subject", "phenotypicFeatures", "diseases", "interpretations", "metaData")


@given(st.sampled_from(PLACES), json_values)
def test_any_wrong_type_gives_a_case_or_a_case_error(place: str, value: object) -> None:
    try:
        case = case_from_phenopacket(packet(**{place: value}))
    except CaseError as error:
        assert ": " in str(error)
    else:
        assert case.observed == ("HP:0001250",) or place == "phenotypicFeatures"


@given(json_values)
def test_any_wrong_feature_is_never_a_finding(value: object) -> None:
    case = case_from_phenopacket(packet(phenotypicFeatures=[SEIZURE, {"type": value}]))
    assert case.observed == ("HP:0001250",)


ids = st.integers(0, 9_999_999).map(lambda number: f"HP:{number:07d}")
findings = st.builds(
    Finding,
    id=ids,
    status=st.sampled_from([Status.PRESENT, Status.ABSENT]),
    label=st.text(max_size=10).map(str.strip),
    onset=st.none() | ids,
)
curies = st.integers(1, 999_999).map(lambda number: f"OMIM:{number}")
cases = st.builds(
    Case,
    id=st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=10),
    findings=st.lists(findings, min_size=1, max_size=8, unique_by=lambda f: f.id).map(tuple),
    sex=st.sampled_from(["MALE", "FEMALE", "OTHER", "UNKNOWN"]),
    age=st.none() | st.integers(0, 99).map(lambda years: f"P{years}Y"),
    diseases=st.lists(curies, min_size=1, max_size=3, unique=True).map(tuple),
    publications=st.lists(st.integers(1, 99).map(lambda n: f"PMID:{n}"), max_size=3, unique=True).map(tuple),
    genes=st.lists(st.sampled_from(["HGNC:1", "SCN1A", "NCBIGene:5"]), max_size=3, unique=True).map(tuple),
)


@given(cases)
def test_written_and_read_back_a_case_is_the_same(case: Case) -> None:
    back = case_from_phenopacket(json.loads(json.dumps(case_to_phenopacket(case))))
    for name in ("id", "observed", "excluded", "sex", "age", "diseases", "publications", "genes"):
        assert getattr(back, name) == getattr(case, name)
    assert [(f.label, f.onset) for f in back.findings] == [(f.label, f.onset) for f in case.findings]


@pytest.mark.heavy
def test_real_phenopackets_are_read_without_a_doubt_and_round_trip(shared_data: Path) -> None:
    cases = list(read_cases(shared_data / "phenopackets-dev.jsonl.gz"))
    assert len(cases) == 5714
    for case in cases:
        assert not isinstance(case, Failure)
        assert {each.message for each in case.issues} <= {"a modifier has no HPO id"}
        assert len(case.publications) == 1
        back = case_from_phenopacket(case_to_phenopacket(case))
        for name in ("observed", "excluded", "sex", "age", "diseases", "publications", "genes"):
            assert getattr(back, name) == getattr(case, name)
