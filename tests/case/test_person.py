"""What is known of the person: ages, sexes, onsets, family and genes, as given and as a text says it."""

from __future__ import annotations

import time

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
from kgdx.case.ages import subject
from kgdx.case.case_rows import case_from_row
from kgdx.case.demographics import described, mentions
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


@pytest.mark.parametrize(
    ("text", "age", "sex"),
    [
        ("22F with seizures", "P22Y", "FEMALE"),
        ("68M c/o chest pain", "P68Y", "MALE"),
        ("A 3-day-old male", "P3D", "MALE"),
        ("4 yo girl", "P4Y", "FEMALE"),
        ("女,52岁", "P52Y", "FEMALE"),
        ("女，52岁，头痛", "P52Y", "FEMALE"),
        ("患儿男3月，抽搐", "P3M", "MALE"),
        ("患儿，女，10月龄", "P10M", "FEMALE"),
        ("aged 7, seizures", "P7Y", "UNKNOWN"),
        ("4yo M", "P4Y", "MALE"),
        ("4yoM with cough", "P4Y", "MALE"),
        ("M/34 with ataxia", "P34Y", "MALE"),
        ("F, 34 y", "P34Y", "FEMALE"),
        ("34/M", "P34Y", "MALE"),
        ("34 year old gentleman", "P34Y", "MALE"),
        ("Pt is a 56 y.o. F", "P56Y", "FEMALE"),
        ("5yr old boy", "P5Y", "MALE"),
        ("5-yr-old boy", "P5Y", "MALE"),
        ("6/12 old girl", "P6M", "FEMALE"),
        ("9 mo F", "P9M", "FEMALE"),
        ("9mo boy", "P9M", "MALE"),
        ("3 wk old baby boy", "P3W", "MALE"),
        ("7 week old girl", "P7W", "FEMALE"),
        ("2 1/2 year old girl", "P30M", "FEMALE"),
        ("2.5-year-old girl", "P30M", "FEMALE"),
        ("Age 34, female", "P34Y", "FEMALE"),
        ("Age: 34 Sex: M", "P34Y", "MALE"),
        ("Age/Sex: 34/F", "P34Y", "FEMALE"),
        ("Patient: 12 y, female", "P12Y", "FEMALE"),
        ("my daughter is 6 and has fits", "P6Y", "FEMALE"),
        ("my son (8) gets tummy ache", "P8Y", "MALE"),
        ("My little boy, 3, can't hear", "P3Y", "MALE"),
        ("our 2 year old can't walk. He falls", "P2Y", "MALE"),
        ("I am a 34 year old woman", "P34Y", "FEMALE"),
        ("I'm 34, female", "P34Y", "FEMALE"),
        ("I'm a 45 year old man", "P45Y", "MALE"),
        ("term newborn girl, day 2 of life", "P2D", "FEMALE"),
        ("Day 5 of life, male", "P5D", "MALE"),
        ("DOL 3 female", "P3D", "FEMALE"),
        ("baby girl, 5 days old", "P5D", "FEMALE"),
        ("1 year 3 months old boy", "P15M", "MALE"),
        ("18-month-old girl. Brother aged 5 has seizures", "P18M", "FEMALE"),
        ("Girl, 15 months", "P15M", "FEMALE"),
        ("患者，男性，45岁", "P45Y", "MALE"),
        ("男性患者，45岁", "P45Y", "MALE"),
        ("患儿女，1岁6个月", "P18M", "FEMALE"),
        ("女孩，2岁半", "P30M", "FEMALE"),
        ("男婴，生后3天", "P3D", "MALE"),
        ("出生3天男婴", "P3D", "MALE"),
        ("5岁男童", "P5Y", "MALE"),
        ("我女儿6岁，抽搐", "P6Y", "FEMALE"),
        ("我儿子今年8岁", "P8Y", "MALE"),
        ("我今年35岁，女", "P35Y", "FEMALE"),
        ("宝宝8个月，男宝", "P8M", "MALE"),
        ("老年男性，70岁", "P70Y", "MALE"),
        ("男孩3岁", "P3Y", "MALE"),
        ("姓名：某 性别：男 年龄：45岁", "P45Y", "MALE"),
        ("性别 女 年龄 30", "P30Y", "FEMALE"),
        ("年龄：8月 性别：女", "P8M", "FEMALE"),
        ("女 34 y", "P34Y", "FEMALE"),
        ("患者女性，四十五岁", "P45Y", "FEMALE"),
        ("三岁女孩", "P3Y", "FEMALE"),
        ("一岁半男孩", "P18M", "MALE"),
        ("Sex: female, age 45", "P45Y", "FEMALE"),
        ("45 M", "P45Y", "MALE"),
        ("45 y F, HTN", "P45Y", "FEMALE"),
        ("45yF", "P45Y", "FEMALE"),
        ("Mr Jones, 67, has tremor", "P67Y", "MALE"),
        ("She is 34 and has ataxia", "P34Y", "FEMALE"),
        ("This lady, 72, has tremor", "P72Y", "FEMALE"),
        ("A 9-year-old was referred. He has ataxia", "P9Y", "MALE"),
        ("Ex-32-week preterm boy, now 4 months", "P4M", "MALE"),
        ("Girl born at 38 weeks; now 5 years old", "P5Y", "FEMALE"),
        ("seizures since 3 months of age in a 2 year old boy", "P2Y", "MALE"),
        ("Onset at 5 years. 20-year-old man", "P20Y", "MALE"),
        ("3 y 2 m female", "P38M", "FEMALE"),
        ("0岁11月男", "P11M", "MALE"),
        ("11m old girl", "P11M", "FEMALE"),
        ("11/12 male", "P11M", "MALE"),
        ("Male, 3 days of age", "P3D", "MALE"),
        ("I'm 19, female.", "P19Y", "FEMALE"),
        ("Newborn F: vomiting", None, "FEMALE"),
        ("我今年45岁女的", "P45Y", "FEMALE"),
        ("女儿12岁，长得矮", "P12Y", "FEMALE"),
        ("My dad, 70, shuffles", "P70Y", "MALE"),
        ("我爸50岁，手抖", "P50Y", "MALE"),
    ],
)
def test_age_and_sex_are_read(text: str, age: str | None, sex: str) -> None:
    found = described(Case("p", text=text))
    assert (years_of(found.age), found.sex) == (pytest.approx(years_of(age)) if age else None, sex)


@pytest.mark.parametrize(
    "text",
    [
        "fever for 5 days",
        "when she was 6 years old",
        "Her 5-year-old brother has fits",
        "rash 3/7",
        "BP 120/80",
        "since 2010",
        "T 38.1 F",
        "母亲45岁",
        "咳嗽3个月",
        "5岁时起病",
    ],
)
def test_spans_of_time_and_relatives_ages_are_not_the_patients(text: str) -> None:
    assert described(Case("p", text=text)).age is None


def test_the_relative_whom_a_lay_text_is_about_is_the_patient() -> None:
    assert subject("My mum has fits.") and not subject("My mum has migraine and I get dizzy.")


def test_a_long_text_is_read_in_time() -> None:
    begin = time.process_time()
    mentions("She is 34 years old, her 3 year old son has 2 toys. " * 2000)
    assert time.process_time() - begin < 10


@pytest.mark.parametrize(
    ("text", "age", "sex"),
    [
        ("22F with seizures", "P22Y", "FEMALE"),
        ("22 y/o female", "P22Y", "FEMALE"),
        ("45-year-old man", "P45Y", "MALE"),
        ("A 30-year-old previously healthy Chinese woman", "P30Y", "FEMALE"),
        ("a 3-month-old girl", "P3M", "FEMALE"),
        ("male infant with hypotonia", None, "MALE"),
        ("Newborn, female", None, "FEMALE"),
        ("男,45岁", "P45Y", "MALE"),
        ("3月龄女婴，反复抽搐", "P3M", "FEMALE"),
        ("患者女，22岁，5岁时起病", "P22Y", "FEMALE"),
        ("咳嗽3个月，男性，60岁", "P60Y", "MALE"),
        ("She has seizures.", None, "FEMALE"),
        ("No fever. 3-month-old girl.", "P3M", "FEMALE"),
        ("Two-year-old boy", "P2Y", "MALE"),
        ("Mrs. Smith is 54 years old.", "P54Y", "FEMALE"),
        ("The patient's 30-year-old mother has migraine.", None, "UNKNOWN"),
        ("A 40-year-old woman; her 3-year-old daughter is well.", "P40Y", "FEMALE"),
        ("Her 5-year-old brother has seizures.", None, "FEMALE"),
        ("When he was 5 years old he fell.", None, "MALE"),
        ("Temp: 101F, temperature of 99 F", None, "UNKNOWN"),
        ("fever for 5 days, cough for 3 months", None, "UNKNOWN"),
        ("boy, 4 years, waddling gait", "P4Y", "MALE"),
        ("Girl (6 months), fever", "P6M", "FEMALE"),
        ("woman, 3 years of pain", None, "FEMALE"),
        ("Age: 400", None, "UNKNOWN"),
        ("I am 38, a mum of two, tired all the time.", "P38Y", "FEMALE"),
        ("Our little boy turned 5 in May.", "P5Y", "MALE"),
        ("I'm 33 and my periods are heavy.", "P33Y", "FEMALE"),
        ("my kid just turned three, his belly sticks out", "P3Y", "MALE"),
        ("F 19, vomiting", "P19Y", "FEMALE"),
        ("Our granddaughter, aged 2, isn't talking.", "P2Y", "FEMALE"),
        ("Worried about my toddler (18 months): he goes blue.", "P18M", "MALE"),
        ("我今年28，女，没劲。", "P28Y", "FEMALE"),
        ("本人男，三十岁，心慌", "P30Y", "MALE"),
        ("我30岁，月经不规律", "P30Y", "FEMALE"),
        ("我家小子6岁，坐不住", "P6Y", "MALE"),
        ("外孙七个月大，不会抬头", "P7M", "MALE"),
    ],
)
def test_age_and_sex_are_read_where_they_are_the_patients(text: str, age: str | None, sex: str) -> None:
    found = described(Case("p", text=text))
    assert (found.age, found.sex, found.issues) == (age, sex, ())


@pytest.mark.parametrize(
    ("text", "onset"),
    [
        ("seizures since birth", "HP:0003577"),
        ("onset at age 5", "P5Y"),
        ("It began at 3 months of age.", "P3M"),
        ("childhood-onset ataxia", "HP:0011463"),
        ("seizures since the age of two", "P2Y"),
        ("onset of seizures at 6 months", "P6M"),
        ("5岁时起病", "P5Y"),
        ("出生后即有", "HP:0003577"),
        ("since 3 days", None),
        ("symptoms since 2019", None),
    ],
)
def test_onset_is_read_and_how_long_something_lasts_is_not(text: str, onset: str | None) -> None:
    assert described(Case("p", text=text)).onset == onset


@pytest.mark.parametrize(
    ("text", "related"),
    [
        ("Her parents are first cousins.", True),
        ("born to consanguineous parents", True),
        ("父母近亲结婚", True),
        ("non-consanguineous parents", False),
        ("There is no consanguinity.", False),
        ("否认近亲结婚", False),
        ("Her cousin is tall.", None),
    ],
)
def test_related_parents_are_read_and_so_is_their_denial(text: str, related: bool | None) -> None:
    assert described(Case("p", text=text)).family.consanguineous is related


def test_an_affected_relative_is_read() -> None:
    assert described(Case("p", text="His mother is similarly affected.")).family.affected == ("PARENT",)
    assert described(Case("p", text="Her brother has the same condition.")).family.affected == ("SIBLING",)
    assert described(Case("p", text="His brother also has fits.")).family.affected == ("SIBLING",)
    assert described(Case("p", text="父亲也有耳聋")).family.affected == ("PARENT",)
    assert described(Case("p", text="Her mother has migraine.")).family.affected == ()


def test_what_is_given_counts_and_the_contradiction_is_told_with_its_place() -> None:
    told = described(Case("p", text="A 7-year-old girl.", sex="MALE", age="P12Y"))
    assert (told.sex, told.age) == ("MALE", "P12Y")
    assert [issue.message for issue in told.issues] == [
        "the sex is given as male, the text says female",
        "the age is given as P12Y, the text says P7Y",
    ]
    assert told.issues[0].where == "characters 13-17"


def test_of_two_ages_in_one_text_neither_is_taken() -> None:
    told = described(Case("p", text="A 7-year-old girl. A 9-year-old girl."))
    assert told.age is None and told.sex == "FEMALE"
    assert "states more than one age: P7Y (characters 2-12) and P9Y" in told.issues[0].message


@given(st.text(alphabet="01239/ -yearsoldmfwMFmonth岁男女月龄天我妈,.，。父母近亲", max_size=60))
def test_each_statement_stands_where_it_says(text: str) -> None:
    for each in mentions(text):
        assert 0 <= each.span.start < each.span.end <= len(text)
        assert text[each.span.start : each.span.end] == each.text
