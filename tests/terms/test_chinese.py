"""Chinese text: names, wordings, traditional characters, and a graph without Chinese names."""

from __future__ import annotations

import pytest

from kgdx.case.patient import Status
from kgdx.terms.everyday import chinese_wordings, lay_wordings
from kgdx.terms.extractor import Extractor
from kgdx.terms.normalise import fold_chinese, wordings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("发热", "HP:0001945"),
        ("發熱", "HP:0001945"),
        ("发 热", "HP:0001945"),
        ("发烧", "HP:0001945"),
        ("肝脏肿大", "HP:0002240"),
        ("肝增大", "HP:0002240"),
        ("听力下降", "HP:0000365"),
        ("癲癇發作", "HP:0001250"),
    ],
)
def test_wordings_of_a_name_are_read(reader: Extractor, text: str, expected: str) -> None:
    (finding,) = reader.extract(f"患者{text}。").findings
    assert (finding.id, finding.text) == (expected, text)


def test_languages_may_be_mixed(reader: Extractor) -> None:
    findings = reader.extract("患者有seizures，否认发热。No microcephaly.").findings
    assert [(f.id, f.status) for f in findings] == [
        ("HP:0001250", Status.PRESENT),
        ("HP:0001945", Status.ABSENT),
        ("HP:0000252", Status.ABSENT),
    ]


def test_one_language_can_be_asked_for(reader: Extractor) -> None:
    text = "发热 and seizures"
    assert [f.id for f in reader.extract(text, language="zh").findings] == ["HP:0001945"]
    assert [f.id for f in reader.extract(text, language="en").findings] == ["HP:0001250"]


def test_graph_without_chinese_names_says_how_to_load_them(english_reader: Extractor) -> None:
    extraction = english_reader.extract("肾缺如，发烧")
    assert [f.id for f in extraction.findings] == ["HP:0001945"]  # everyday words need no translation
    assert ["kgdx update hp_zh" in issue.remedy for issue in extraction.issues] == [True]


def test_folding_keeps_places() -> None:
    folded = fold_chinese(" ㎏發 Ａ")
    assert folded.text == "kg发a"
    assert folded.places == [1, 1, 2, 4]


def test_wordings_leave_single_characters_out() -> None:
    assert wordings("心脏") == set()


def test_every_lay_wording_stands_for_a_current_finding(hpo_reader: Extractor) -> None:
    for phrase, curie in lay_wordings():
        finding, issues = hpo_reader.terms.current(curie)
        assert finding is not None, phrase
        assert not issues, phrase
        assert chinese_wordings()[phrase].alone or hpo_reader.extract(phrase).findings, phrase
