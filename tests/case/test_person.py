"""What is known of the person: ages, onsets, modes, family and genes, as given and as written back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case import (
    About,
    CandidateGene,
    Case,
    Family,
    Finding,
    GeneEvidence,
    GeneNames,
    case_from_json,
    case_from_phenopacket,
    case_to_json,
    case_to_phenopacket,
    with_person,
)
from kgdx.case.case_rows import case_from_row
from kgdx.case.person import checked_age, checked_mode, checked_onset, gene_evidence, iso_age, years_of
from kgdx.errors import CaseError, UsageError

KNOWN = GeneNames([("NCBIGene:1", "GENA", ["HGNC:11", "ENSG00000000001"]), ("NCBIGene:2", "GENB", [])])
PERSON = Case(
    "p",
    (Finding("HP:0001250"),),
    sex="FEMALE",
    age="P22Y",
    onset="HP:0003593",
    family=Family(consanguineous=True, affected=("PARENT",), inheritance=("HP:0000007",)),
    gene_evidence=GeneEvidence((CandidateGene("GENA", score=0.5, zygosity="BIALLELIC"),), complete=True, source="VCF"),
)


@pytest.mark.parametrize("said", ["400", "-5", "P400Y", "old", "", "-3 months"])
def test_what_is_no_age_of_a_human_is_refused_in_one_line(said: str) -> None:
    with pytest.raises(CaseError, match="is no age: give years from 0 to 130"):
        checked_age(said)


@given(st.integers(0, 130))
def test_every_age_in_years_is_read_back(years: int) -> None:
    assert years_of(iso_age(str(years))) == years


@given(st.text(max_size=40))
def test_any_text_is_an_age_an_onset_and_a_mode_or_a_case_error(said: str) -> None:
    for check in (checked_age, checked_onset, checked_mode):
        try:
            assert check(said)
        except CaseError as error:
            assert error.hint


def test_all_that_is_known_of_the_person_is_part_of_the_digest_and_the_background() -> None:
    bare = Case("p", PERSON.findings)
    for change in (
        {"onset": "P5Y"},
        {"family": Family(consanguineous=False)},
        {"gene_evidence": GeneEvidence((CandidateGene("A"),))},
    ):
        other = Case("p", PERSON.findings, **change)  # type: ignore[arg-type]
        assert other.digest != bare.digest and other.background != bare.background


def test_json_and_phenopacket_are_read_back() -> None:
    again = case_from_json(case_to_json(PERSON))
    assert (again.onset, again.family, again.gene_evidence) == (PERSON.onset, PERSON.family, PERSON.gene_evidence)
    diagnosed = Case("p", PERSON.findings, diseases=("OMIM:1",), onset="P5Y", gene_evidence=PERSON.gene_evidence)
    packed = case_from_phenopacket(case_to_phenopacket(diagnosed))
    assert packed.onset == "P5Y"
    assert [(gene.id, gene.zygosity) for gene in packed.gene_evidence.genes] == [("GENA", "BIALLELIC")]  # type: ignore[union-attr]


def test_a_causative_gene_is_a_label_and_a_candidate_is_evidence() -> None:
    def packet(status: str) -> dict[str, object]:
        genomic = {"interpretationStatus": status, "gene": {"valueId": "NCBIGene:1", "symbol": "GENA"}}
        diagnosis = {"disease": {"id": "OMIM:1"}, "genomicInterpretations": [genomic]}
        return {
            "id": "p",
            "phenotypicFeatures": [{"type": {"id": "HP:0001250"}}],
            "interpretations": [{"diagnosis": diagnosis}],
        }

    causative, candidate = (case_from_phenopacket(packet(status)) for status in ("CAUSATIVE", "CANDIDATE"))
    assert causative.genes == ("NCBIGene:1",) and causative.gene_evidence is None
    assert candidate.genes == () and candidate.gene_evidence is not None


def test_what_ranking_may_read_holds_no_label() -> None:
    labelled = Case("p", PERSON.findings, diseases=("OMIM:1",), genes=("GENA",), publications=("PMID:1",), text="x")
    assert labelled.evidence == Case("", PERSON.findings)


def test_a_row_says_who_the_patient_is() -> None:
    row = {
        "hpo": "HP:0001250",
        "genes": "GENA, GENB",
        "onset": "infantile",
        "inheritance": "AR",
        "consanguinity": "yes",
    }
    case = case_from_row(row)
    assert [gene.id for gene in case.gene_evidence.genes] == ["GENA", "GENB"]  # type: ignore[union-attr]
    assert case.genes == () and case.onset == "HP:0003593"
    assert case.family == Family(consanguineous=True, inheritance=("HP:0000007",))


@pytest.mark.parametrize(
    ("key", "value"), [("age", "P400Y"), ("onset", "soon"), ("inheritance", "odd"), ("affected_relatives", ["CAT"])]
)
def test_what_cannot_be_used_of_json_is_an_issue_that_names_it(key: str, value: object) -> None:
    case = case_from_json({"observed": ["HP:0001250"], key: value})
    assert [issue.where for issue in case.issues] == [f"case: {key}"]
    assert (case.age, case.onset, case.family) == (None, None, Family())


@pytest.mark.parametrize(
    "given", ["FBN1", [1], [{"gene": "A", "score": 2}], [{"gene": "A", "zygosity": "odd"}], {"genes": 1}]
)
def test_a_bad_list_of_genes_is_refused(given: object) -> None:
    with pytest.raises(CaseError):
        gene_evidence(given)


def test_what_is_stated_counts_more_than_the_case() -> None:
    told = with_person(PERSON, {"age": 3, "sex": "男", "genes": ["GENB"]})
    assert (told.age, told.sex, told.onset) == ("P3Y", "MALE", PERSON.onset)
    assert [gene.id for gene in told.gene_evidence.genes] == ["GENB"]  # type: ignore[union-attr]
    assert with_person(PERSON, {}) == PERSON


def test_an_unknown_statement_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="one of age, sex, onset"):
        with_person(PERSON, About(weight=3))  # type: ignore[typeddict-unknown-key]


@pytest.mark.parametrize("name", ["gena", "HGNC:11", "1", "NCBIGene:1", "ENSG00000000001.4"])
def test_a_gene_is_known_by_symbol_and_by_each_id(name: str) -> None:
    found = KNOWN.known(Case("p", gene_evidence=GeneEvidence((CandidateGene(name),))))
    assert [gene.id for gene in found.gene_evidence.genes] == ["NCBIGene:1"]  # type: ignore[union-attr]
    assert not found.issues


def test_an_unknown_gene_names_the_nearest_and_a_second_one_counts_without_a_disease() -> None:
    with pytest.raises(CaseError, match=r"has the gene 'GENX': did you mean GENB or GENA\?"):
        KNOWN.known(Case("p", gene_evidence=GeneEvidence((CandidateGene("GENX"),))))
    found = KNOWN.known(Case("p", gene_evidence=GeneEvidence((CandidateGene("GENA"), CandidateGene("GENX")))))
    assert len(found.gene_evidence.genes) == 2  # type: ignore[union-attr]
    assert [issue.level for issue in found.issues] == ["warning"]


def test_a_list_of_nearly_all_genes_says_that_it_says_nothing() -> None:
    genes = (CandidateGene("GENA"), *(CandidateGene(f"X{number}") for number in range(20_000)))
    issues = KNOWN.known(Case("p", gene_evidence=GeneEvidence(genes))).issues
    assert any("a list of 20,001 genes says hardly anything" in issue.message for issue in issues)
    scored = (CandidateGene("GENA"), *(CandidateGene(f"X{number}", score=1e-4) for number in range(20_000)))
    issues = KNOWN.known(Case("p", gene_evidence=GeneEvidence(scored))).issues
    assert not any("hardly anything" in issue.message for issue in issues)


def test_a_graph_without_genes_says_so() -> None:
    with pytest.raises(CaseError, match="the graph knows no genes: build it with them"):
        GeneNames([]).known(Case("p", gene_evidence=GeneEvidence((CandidateGene("GENA"),))))
