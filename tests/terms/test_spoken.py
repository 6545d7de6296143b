"""Phrases and answers of what people say, and how findings are qualified."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgdx.terms.sites
from kgdx.case import Case
from kgdx.case.patient import QUALIFIERS, Finding, Span, Status
from kgdx.case.phenopacket import case_from_phenopacket, case_to_phenopacket
from kgdx.terms.extractor import Extractor
from kgdx.terms.normalise import read_table
from kgdx.terms.qualifiers import days_of, duration, qualified
from kgdx.terms.replies import COMMANDS, STATUSES, read_reply
from kgdx.terms.sites import at_sites
from kgdx.terms.spoken import DENIED, _near, marked, phrase_pattern, spoken, spoken_patterns, spoken_phrases

DATA = Path(__file__).resolve().parents[1] / "data"


def test_every_id_is_the_term_that_its_name_says(hpo_reader: Extractor) -> None:
    rows = [(row.id, row.name) for row in spoken_patterns()] + [(id, name) for id, name, _ in spoken_phrases()]
    for id, name in rows:
        if "HP:" in id:
            finding, issues = hpo_reader.terms.current(id.removeprefix(DENIED))
            assert finding is not None and not issues and finding.label == name, (id, name)


def test_no_phrase_stands_for_two_terms() -> None:
    meant: dict[str, str] = {}
    for id, _, phrase in spoken_phrases():
        assert id.startswith(DENIED) or meant.setdefault(phrase, id) == id, phrase


def test_every_phrase_is_sought_where_it_is_said() -> None:
    for id, _, phrase in spoken_phrases():
        said = _first(phrase)
        assert re.fullmatch(phrase_pattern(phrase), marked(said.lower())), (phrase, said)
        assert any(row.pattern == phrase for row in _near(said.lower())), (id, phrase, said)


def _first(phrase: str) -> str:
    while "(" in phrase:
        phrase = re.sub(r"\(([^()]*)\)", lambda found: max(found[1].split("|"), key=len), phrase)
    return phrase.replace(" ~ ", " ").replace("~", "").replace("*", "").replace("#", "3")


@pytest.mark.parametrize(("text", "label", "status"), read_table(DATA / "readings.tsv"))
def test_what_is_said_is_read_of_what_it_is_said_of(text: str, label: str, status: str, hpo_reader: Extractor) -> None:
    told = {each.label: str(each.status) for each in hpo_reader.extract(text).findings}
    assert told.get(label, "-") == status


@pytest.mark.parametrize(
    "text",
    [
        "Soaked bread. Sheets of paper.",
        "blind as a bat",
        "他心里像蜜一样甜",
        "thirst for knowledge",
    ],
)
def test_what_is_no_finding_is_not_read(text: str, hpo_reader: Extractor) -> None:
    assert not [each for each in hpo_reader.extract(text).findings if each.status is Status.PRESENT]


@pytest.mark.parametrize(
    ("said", "days"), [("for 3 weeks", 21), ("5/7", 5), ("三个月", 91.2), ("since last night", 1), ("半年", 182.4)]
)
def test_durations(said: str, days: float) -> None:
    assert days_of(duration(said)) == pytest.approx(days)


@pytest.mark.parametrize("text", ["3/7/2024", "BP 120/80", "12岁", "grade 3/6 murmur", "for"])
def test_what_is_no_duration(text: str) -> None:
    assert duration(text) == ""


def test_findings_carry_degree_side_course_and_duration(hpo_reader: Extractor) -> None:
    text = "Mild fever for 2 days. Chronic severe headache. 左膝关节疼痛3年。No cough for a week."
    said = {each.label: each for each in hpo_reader.extract(text).findings}
    fever = said.get("Fever") or said["Low-grade fever"]
    headache, joints = said["Headache"], said["Arthralgia"]
    assert (fever.since, headache.severity, joints.since) == ("P2D", "HP:0012828", "P3Y")
    assert "HP:0011010" in headache.modifiers and {"HP:0012835", "HP:0011010"} <= set(joints.modifiers)
    assert not said["Cough"].since
    sweat, smokes = qualified("大汗，吸烟30年", [Finding("a", span=Span(0, 2)), Finding("b", span=Span(3, 8))])
    assert (sweat.since, smokes.since) == ("", "P30Y")


def test_qualifiers_go_through_a_phenopacket() -> None:
    finding = Finding("HP:0002315", severity="HP:0012828", modifiers=("HP:0012835", "HP:0011009"), since="P3D")
    again = case_from_phenopacket(case_to_phenopacket(Case("p", (finding,)))).findings[0]
    assert (again.severity, again.modifiers, again.since) == (finding.severity, finding.modifiers, finding.since)
    assert again.qualified_by == "severe, left, acute, for 3 days"


def test_every_modifier_is_named(hpo_reader: Extractor) -> None:
    from pathlib import Path

    import kgdx.terms.qualifiers as module

    for kind, id, name, pattern in read_table(Path(module.__file__).with_name("qualifiers.tsv")):
        row = hpo_reader.terms.row(id)
        named = row is not None and hpo_reader.terms.name(row) == name and id in QUALIFIERS
        assert re.compile(pattern) and (named or kind in ("since", "unit"))


def test_many_findings_take_no_longer_than_their_number() -> None:
    text = "severe headache for 3 days " * 2000
    found = [Finding("HP:0002315", span=Span(27 * at + 7, 27 * at + 15)) for at in range(2000)]
    assert len(qualified(text, found)) == 2000


def test_what_is_over_is_absent(hpo_reader: Extractor) -> None:
    text = "Had pneumonia in 2011, fully recovered. No fever, smoker, tired. The rash has gone."
    said = {each.label: each.status for each in hpo_reader.extract(text).findings}
    assert said == {"Pneumonia": "absent", "Fever": "absent", "Fatigue": "present", "Skin rash": "absent"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on warfarin, 2 weeks after a sore throat", {"takes an anticoagulant", "recent viral infection"}),
        (
            "Meds: bisoprolol 2.5 mg, apixaban 5 mg bd, ramipril 10 mg",
            {"takes an anticoagulant", "high blood pressure or treated for it"},
        ),
        ("ibuprofen 400 mg for his knee", {"takes anti-inflammatory drugs (NSAIDs)"}),
        ("长期服用华法林", {"takes an anticoagulant"}),
        ("强的松片10mg，咽痛后两周", {"takes corticosteroids", "recent viral infection"}),
        ("allergic to ibuprofen; sore throat for two weeks, cold hands, flu jab last week; 感冒两周", set()),
    ],
)
def test_drugs_and_infections_before_the_illness_are_read_by_their_kind(text: str, expected: set[str]) -> None:
    assert {each.label for each in spoken(text, lambda id: id.startswith("DDXPLUS"))} == expected


@pytest.mark.parametrize(
    ("words", "meaning", "rest"),
    [
        ("y", "present", ""),
        ("Yes.", "present", ""),
        ("yes, in both hands", "present", "in both hands"),
        ("Yes in both hands", "present", "in both hands"),
        ("no", "absent", ""),
        ("No, but he coughs", "absent", "but he coughs"),
        ("no but he coughs", "absent", "but he coughs"),
        ("I don’t know", "unknown", ""),
        ("not sure, maybe last year", "unknown", "maybe last year"),
        ("?", "unknown", ""),
        ("", "unknown", ""),
        ("   ", "unknown", ""),
        ("有", "present", ""),
        ("有，三天前开始", "present", "三天前开始"),
        ("是的两只手都有", "present", "两只手都有"),
        ("没有。", "absent", ""),
        ("没有，但是咳嗽", "absent", "但是咳嗽"),
        ("不知道", "unknown", ""),
        ("skip", "skip", ""),
        ("跳过", "skip", ""),
        ("b", "back", ""),
        ("为什么", "why", ""),
        ("结束", "finish", ""),
    ],
)
def test_the_beginning_of_an_answer_says_what_it_means(words: str, meaning: str, rest: str) -> None:
    assert read_reply(words)[:2] == (meaning, rest)


@pytest.mark.parametrize(
    "words",
    [
        "no fever but a cough",
        "没有发烧，有咳嗽",
        "有时头痛得厉害",
        "never mind the cough",
        "back pain",
        "finishing school",
    ],
)
def test_words_that_say_something_of_their_own_are_left_to_the_reader(words: str) -> None:
    assert read_reply(words)[:2] == ("", words)


@pytest.mark.parametrize(("words", "dated"), [("三天前开始", True), ("since Monday", True), ("in both hands", False)])
def test_since_when_is_noticed(words: str, dated: bool) -> None:
    assert read_reply(words).dated is dated


@given(st.text(max_size=200) | st.just("!"))
def test_any_text_is_read_and_nothing_of_it_is_lost(words: str) -> None:
    said = read_reply(words)
    assert said.meaning in ("", *STATUSES, *COMMANDS)
    assert said.rest in words
    if not said.meaning:
        assert said.rest == words.strip()


def at_places(text: str) -> set[str]:
    return {each.label for each in at_sites(text, (), lambda _: True)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("her elbow hurts when she lifts the kettle", {"Elbow pain"}),
        ("no feeling in both feet and the left hand", {"Hypoesthesia"}),
        ("knees and ankles are swollen", {"Joint swelling", "Ankle swelling"}),
        ("pain in the hips, shoulders and jaw", {"Hip pain", "Shoulder pain", "Jaw pain"}),
        ("can't turn my head to the left", {"Limited neck range of motion"}),
        ("his calf is tender and twitches", {"Calf pain", "Fasciculations"}),
        ("My LEFT Arm won’t do what I tell it", {"Upper limb muscle weakness"}),
        ("手指和手腕都肿", {"Finger swelling", "Wrist swelling"}),
        ("右膝盖弯不了，上下楼都疼", {"Limited knee flexion/extension", "Knee pain"}),
        ("眼皮老是抽动", {"Eyelid fasciculation"}),
    ],
)
def test_place_and_quality_make_a_finding(text: str, expected: set[str]) -> None:
    assert at_places(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "the elbow does not hurt",
        "knee fine. It hurts elsewhere",
        "back to work, sore losers all",
        "手术后伤口疼",
        "脚不肿",
        "荨麻疹",
        "red reflex in both eyes",
        "shakes her head",
        "\u017fore \u017fhin",
    ],
)
def test_words_that_only_look_like_it_make_none(text: str) -> None:
    assert not at_places(text)


def test_what_a_longer_wording_says_is_not_said_again() -> None:
    whole = Finding("HP:0000001", span=Span(0, 17))
    assert not at_sites("elbow hurts badly", [whole], lambda _: True)


def test_every_finding_has_a_place_and_a_quality_of_the_table() -> None:
    rows = read_table(Path(kgdx.terms.sites.__file__).with_name("sites.tsv"))
    named = {kind: {row[1] for row in rows if row[0] == kind} for kind in ("site", "quality")}
    cells = [(row[1], row[2]) for row in rows if row[0] == "finding"]
    assert len(set(cells)) == len(cells)
    assert all(site in {*named["site"], "*"} and quality in named["quality"] for site, quality in cells)
