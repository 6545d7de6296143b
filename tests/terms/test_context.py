"""What a text says of a finding, by its sentence, its relative, its heading or its place in a list."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgdx.case.patient import Status
from kgdx.terms.checklist import answers
from kgdx.terms.context import sentences, statuses
from kgdx.terms.headings import kind_at, parts, patients
from kgdx.terms.kin import relatives

DATA = Path(__file__).resolve().parents[1] / "data"


def examples(language: str) -> list[tuple[str, str, str]]:
    lines = (DATA / f"context_{language}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.replace("\\n", "\n").split("\t") for line in lines if not line.startswith("#")]
    return [(text, finding, status) for text, finding, status in rows[1:]]


@pytest.mark.parametrize(("text", "finding", "status"), [*examples("en"), *examples("zh")])
def test_status_of_a_sentence(text: str, finding: str, status: str) -> None:
    start = text.index(finding)
    assert statuses(text, [(start, start + len(finding))]) == [Status(status)]


def test_sentences_end_at_stops_and_items() -> None:
    text = "No fever. Cough 2.5 days\n- rash\n\nEnd。无热"
    assert [text[start:].split()[0] for start in sentences(text)] == ["No", "Cough", "-", "End。无热", "无热"]


def test_words_of_a_finding_are_no_triggers() -> None:
    text = "absence of speech, seizures"
    assert statuses(text, [(0, 17), (19, 27)]) == [Status.PRESENT, Status.PRESENT]


def test_denied_in_the_family_says_nothing_of_the_patient() -> None:
    assert statuses("Her mother denies seizures.", [(18, 26)]) == [Status.ABSENT]
    assert statuses("No seizures in her mother; her father has no ataxia.", [(45, 51)]) == [Status.UNKNOWN]


@pytest.mark.parametrize(
    "text",
    [
        "Mom has ...",
        "Mother: ...",
        "her maternal grandmother had ...",
        "Twin brother also has ...",
        "母亲有偏",
        "父患耳",
        "父脑梗，",
        "老伴有高",
        "患儿姐姐也有",
    ],
)
def test_a_relative_of_whom_something_is_told_is_found(text: str) -> None:
    assert [each.kind for each in relatives(text)] == ["forward"]


@pytest.mark.parametrize(
    "text",
    [
        "Mum reports ...",
        "his mother noticed ...",
        "Mother well, father healthy",
        "seen with her mother",
        "brought in by his dad with ...",
        "born to consanguineous parents",
        "母亲诉患儿",
        "父母体健",
        "由母亲带来",
    ],
)
def test_a_relative_who_only_speaks_or_is_well_has_nothing(text: str) -> None:
    assert list(relatives(text)) == []


def test_a_relative_behind_a_finding_owns_it() -> None:
    assert [each.kind for each in relatives("... in father")] == ["backward"]
    assert [each.kind for each in relatives("... (mother)")] == ["behind"]


def test_the_relative_whom_a_lay_text_is_about_is_the_patient() -> None:
    assert list(relatives("My mum has ...", "mum")) == []


@pytest.mark.parametrize(
    ("text", "finding", "status"),
    [
        ("Sister d. cardiomyopathy.", "cardiomyopathy", "family"),
        ("There is a strong history of deafness in the family.", "deafness", "family"),
        ("There is deafness on the maternal side.", "deafness", "family"),
        ("Migraines run in the family.", "Migraines", "family"),
        ("An uncle on my dad's side had dementia.", "dementia", "family"),
        ("His big sister also walks on her toes.", "walks on her toes", "family"),
        ("He falls. Our other child has ataxia too.", "ataxia", "family"),
        ("He falls. My older boy also has seizures.", "seizures", "family"),
        ("I get dizzy. My grandad had a tremor.", "tremor", "family"),
        ("Gran had glaucoma.", "glaucoma", "family"),
        ("Nobody else in the family has seizures.", "seizures", "family"),
        ("Lives with his brother, has ataxia.", "ataxia", "present"),
        ("Both she and her brother have scoliosis.", "scoliosis", "present"),
        ("His mum says he has seizures.", "seizures", "present"),
        ("他爸个子矮，他妈也矮。", "个子矮", "family"),
        ("外甥有癫痫", "癫痫", "family"),
        ("孩子的二姨也有癫痫", "癫痫", "family"),
        ("其弟有癫痫。", "癫痫", "family"),
        ("家里有人耳聋。", "耳聋", "family"),
        ("妈妈发现孩子眼球震颤", "眼球震颤", "present"),
    ],
)
def test_whose_a_finding_is_in_lay_words(text: str, finding: str, status: str) -> None:
    start = text.index(finding)
    assert str(statuses(text, [(start, start + len(finding))])[0]) == status


def test_a_heading_holds_to_the_next_one() -> None:
    text = "PMH: asthma. FHx: deafness in father. O/E: ataxia"
    assert [(part.kind, text[part.body : part.end].strip()) for part in parts(text)] == [
        ("patient", "asthma."),
        ("family", "deafness in father."),
        ("patient", "ataxia"),
    ]


def test_a_family_without_anything_ends_there() -> None:
    text = "FHx nil, hypotonia"
    assert kind_at(parts(text), text.index("hypotonia")) == "patient"


def test_the_lines_below_a_heading_belong_to_it_up_to_an_empty_line() -> None:
    text = "Family history\nfather: ataxia\nsister: epilepsy\n\nShe is well"
    assert kind_at(parts(text), text.index("epilepsy")) == "family"
    assert kind_at(parts(text), text.index("She")) == "patient"


def test_what_is_denied_in_a_list_of_its_own_is_absent_up_to_the_full_stop() -> None:
    text = "Negatives: fever, rash. Seizures daily"
    spans = [(text.index(word), text.index(word) + len(word)) for word in ("fever", "rash", "Seizures")]
    assert statuses(text, spans) == [Status.ABSENT, Status.ABSENT, Status.PRESENT]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Patient 1 has ataxia. Patient 2 has fits.", 2),
        ("Twin A is well, twin B has fits", 2),
        ("患者1抽搐，患者2发热", 2),
        ("The first patient had ataxia, the second patient fits", 2),
        ("Patient 1 of the series", 0),
        ("Patient 2 years old", 0),
        ("患者3岁，患者2天前发热", 0),
    ],
)
def test_several_patients_are_noticed(text: str, count: int) -> None:
    assert len(patients(text)) == count


@given(st.text(alphabet="FHxPMO/E: .,\n-*abc家族史查体：，。无12 patient", max_size=120))
def test_parts_lie_in_the_text_in_its_order(text: str) -> None:
    found = parts(text)
    assert all(0 <= part.start <= part.body <= len(text) and part.end <= len(text) for part in found)
    assert [part.start for part in found] == sorted(part.start for part in found)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("fits: no", "absent"),
        ("fits - none", "absent"),
        ("fits (-)", "absent"),
        ("fits -ve,", "absent"),
        ("fits\tno\n", "absent"),
        ("fits: N", "absent"),
        ("fits | no |", "absent"),
        ("fits? No.", "absent"),
        ("fits: none reported", "absent"),
        ("fits: yes", "present"),
        ("fits +ve", "present"),
        ("fits (+)", "present"),
        ("fits: unknown", "unknown"),
        ("fits, no fever", None),
        ("fits: no fever", None),
        ("fits-like", None),
    ],
)
def test_the_answer_beside_a_finding_is_read(text: str, status: str | None) -> None:
    found = answers(text, [(0, 4)]).get(0)
    assert (found.status if found else None) == status


def test_an_answer_holds_for_what_a_slash_joins_and_not_for_more() -> None:
    text = "rash, fits/fever: nil"
    assert sorted(answers(text, [(0, 4), (6, 10), (11, 16)])) == [1, 2]


def test_an_empty_box_denies_only_where_another_is_ticked() -> None:
    spans = [(4, 8), (13, 18)]
    assert [str(each.status) for _, each in sorted(answers("[x] fits [ ] fever", spans).items())] == [
        "present",
        "absent",
    ]
    assert answers("[ ] fits", [(4, 8)])[0].status == "unknown"


@given(st.text(alphabet="ab :-()+no/yes[]x√□，。?\t", max_size=40), st.data())
def test_an_answer_stands_in_the_text_beside_its_finding(text: str, data: st.DataObject) -> None:
    ends = data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=2).map(sorted))
    for each in answers(text, [(ends[0], ends[1])]).values():
        assert 0 <= each.start <= each.end <= len(text)
