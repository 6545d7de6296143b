"""Which names have the same form, one by one and in columns, and which are a typo apart."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from conftest import examples
from kgdx.terms.names.entity_names import variants, with_forms
from kgdx.terms.names.typos import bound, is_typo, near
from kgdx.terms.normalise import bare, form


def forms(*names: str, diseases: bool = True) -> pl.DataFrame:
    return with_forms(pl.DataFrame({"text": names}), diseases=diseases)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ménière's disease", "MENIERE DISEASE"),
        ("Oedema of the lung", "edema of lung"),
        ("Tumours", "tumor"),
        ("Skin rashes", "skin rash"),
        ("Lung abscesses", "lung abscess"),
        ("Diabetes mellitus type II", "diabetes mellitus type 2"),
        ("β-Thalassaemia", "beta thalassemia"),
        ("綜合徵", "综合征"),
        ("糖尿病Ⅱ型", "糖尿病2型"),
        ("多发性综合症", "多发性综合征"),
        ("Spastic paraplegia IIB", "spastic paraplegia 2B"),
    ],
)
def test_these_are_one_name(one: str, other: str) -> None:
    keys = forms(one, other)["key"]
    assert keys[0] == keys[1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Glycogen storage disease type 1", "Glycogen storage disease type 2"),
        ("Hepatitis A", "Hepatitis B"),
        ("Hypertension", "Hypotension"),
        ("Congenital disorder of glycosylation, type In", "Congenital disorder of glycosylation"),
        ("1型糖尿病", "2型糖尿病"),
        ("低血压", "高血压"),
    ],
)
def test_these_are_two_names(one: str, other: str) -> None:
    for kind in ("folded", "key", "bag"):
        values = forms(one, other)[kind]
        assert values[0] is None or values[0] != values[1]


def test_words_may_come_in_another_order_unless_that_tells() -> None:
    found = forms("Paraplegia, spastic", "Spastic paraplegia", "Fever without rash", "Rash without fever")
    assert found["bag"][0] == found["bag"][1]
    assert found["bag"][2] is None and found["bag"][3] is None


def test_an_abbreviation_after_a_name_can_be_left_out() -> None:
    found = variants(pl.DataFrame({"text": ["软骨发育不全（ACH）", "ACHONDROPLASIA; ACH", "Aarskog syndrome"]}))
    assert found["text"].to_list()[3:] == ["软骨发育不全", "ACHONDROPLASIA"]


def test_phrases_of_diseases_count_for_diseases_only() -> None:
    pair = ("Methylmalonic aciduria", "Methylmalonic acidemia")
    assert forms(*pair)["key"].n_unique() == 1
    assert forms(*pair, diseases=False)["key"].n_unique() == 2


def test_names_of_signs_alone_are_left_out() -> None:
    assert forms("???", "", "Fever")["text"].to_list() == ["Fever"]


@examples(40)
@given(st.lists(st.text(max_size=30), max_size=8))
def test_forms_do_not_depend_on_the_names_beside(names: list[str]) -> None:
    together = {row["text"]: row for row in forms(*names, "Fever").iter_rows(named=True)}
    for name in names:
        alone = forms(name, "Fever").row(0, named=True)
        assert alone["text"] != name or together[name] == alone


@examples(60)
@given(st.text(max_size=40))
def test_folding_twice_is_folding_once(name: str) -> None:
    for folded in forms(name)["folded"]:
        assert forms(folded)["folded"].to_list() == [folded]


PIECES = st.sampled_from(
    [
        "Type",
        "II",
        "type",
        "2",
        "IIB",
        "of",
        "the",
        "and",
        "tumours",
        "Marfan's",
        "syndrome",
        "X-linked",
        "mental",
        "retardation",
        "hearing",
        "loss",
        "Ménière",
        "β",
        "α-1",
        "In",
        "deficiency,",
        "without",
        "一型",
        "二型",
        "糖尿病",
        "综合症",
        "症候群",
        "征候群",
        "癫癎",
        "的",
        "粘",
        "Ⅱ",
        "型",
        "iv",
        "（ACH）",
        "(DMD)",
        ";",
        "ACH",
        "貧血",
        "急性",
        "左",
        "_",
        "+",
        "<5%",
        "'",
        "’s",
    ]
)

LETTERS = st.text(st.characters(max_codepoint=0x24F, exclude_categories=("Cc", "Cs", "No")), max_size=12)

HAN = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5), max_size=6)

NAMES = st.lists(st.one_of(PIECES, LETTERS, HAN), max_size=6).flatmap(
    lambda parts: st.sampled_from(["", " "]).map(lambda between: between.join(parts))
)


@examples(300)
@given(st.lists(NAMES, min_size=1, max_size=8))
def test_one_name_has_the_forms_that_a_column_gives_it(names: list[str]) -> None:
    column = with_forms(pl.DataFrame({"text": names}, schema={"text": pl.String}), diseases=True)
    found = column.select("text", "folded", "key", "bag", "turned", "mark", "han").rows()
    singly = [(name, each) for name in names if (each := form(name)).folded]
    assert [(name, f.folded, f.key, f.bag, f.turned, f.mark, f.han) for name, f in singly] == found


@given(NAMES)
def test_a_name_loses_the_abbreviation_that_a_column_takes_off(name: str) -> None:
    without = variants(pl.DataFrame({"text": [name]}, schema={"text": pl.String}))["text"].to_list()[1:]
    assert without in ([], [bare(name)])
    assert without or bare(name) == name or len(bare(name)) < 2


def forms_of(*names: str) -> pl.DataFrame:
    return with_forms(pl.DataFrame({"text": names}), diseases=True)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("hypertensie retinopathy", "hypertensive retinopathy"),
        ("lobarpneumonia", "lobar pneumonia"),
        ("Langenhans cell histiocytosis", "Langerhans cell histiocytosis"),
        ("searlet feverish illness", "scarlet feverish illness"),
        ("急性间歇型卟啉病", "急性间歇性卟啉病"),
        ("diabtees insipidus", "diabetes insipidus"),
    ],
)
def test_a_slip_is_found(said: str, name: str) -> None:
    assert near(forms_of(said), forms_of(name, "something else entirely")).height == 1


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Glycogen storage disease type 1", "Glycogen storage disease type 2"),
        ("Spinocerebellar ataxia 31", "Spinocerebellar ataxia 13"),
        ("Hypertension, portal", "Hypotension, portal"),
        ("Hyperkalemic paralysis", "Hypokalemic paralysis"),
        ("Septic shock with fever", "Septic shock without fever"),
        ("gout", "goat"),
        ("Tracheitis", "Trachoma"),
        ("左侧肢体活动障碍", "右侧肢体活动障碍"),
        ("家族性腹主动脉瘤", "家族性胸主动脉瘤"),
        ("发热", "发冷"),
        ("Hepatitis A infection", "Hepatitis B infection"),
    ],
)
def test_another_meaning_is_no_typo(said: str, name: str) -> None:
    assert near(forms_of(said), forms_of(name)).height == 0


def test_two_known_words_are_two_words() -> None:
    known = {"chromotherapy", "chronotherapy"}
    assert is_typo("chromotherapy", "chronotherapy", set())
    assert not is_typo("chromotherapy", "chronotherapy", known)


def test_short_names_allow_no_typo() -> None:
    assert [bound(letters, han=False) for letters in (7, 8, 11, 12, 17, 18)] == [0, 1, 1, 2, 2, 3]
    assert [bound(letters, han=True) for letters in (5, 6, 40)] == [0, 1, 1]


words = (
    st.text("abcde ", min_size=8, max_size=24)
    .map(lambda text: " ".join(text.split()))
    .filter(lambda text: len(text) >= 8)
)


@examples(150)
@given(st.lists(words, min_size=1, max_size=6), st.data())
def test_no_pair_within_the_distance_is_missed(names: list[str], data: st.DataObject) -> None:
    """The join by rare trigrams finds what comparing all pairs finds."""
    said = [data.draw(edited(name)) for name in names]
    sides = [
        pl.DataFrame({"key": list(dict.fromkeys(side))}).with_columns(mark=pl.lit(""), han=pl.lit(False))
        for side in (said, names)
    ]
    expected = {
        (one, other)
        for one in said
        for other in names
        if 0 < OSA.distance(one, other) <= bound(min(len(one), len(other)), han=False) and is_typo(one, other, set())
    }
    repetitive = {pair for pair in expected if min(len({t[i : i + 3] for i in range(len(t) - 2)}) for t in pair) < 13}
    found = set(near(*sides, words=set()).select("key", "other").iter_rows())
    assert found <= expected
    assert expected - repetitive <= found


@st.composite
def edited(draw: st.DrawFn, name: str) -> str:
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(name)))
        kind = draw(st.sampled_from(["insert", "delete", "replace", "swap"]))
        letter = draw(st.sampled_from("abcde"))
        if kind == "insert":
            name = name[:at] + letter + name[at:]
        elif kind == "swap":
            name = name[:at] + name[at : at + 2][::-1] + name[at + 2 :]
        else:
            name = name[:at] + (letter if kind == "replace" else "") + name[at + 1 :]
    return " ".join(name.split()) or "a"


@pytest.mark.parametrize(
    ("one", "other"),
    [("急性白血病", "白血病"), ("白血病", "急性白血病"), ("高血糖", "高血病"), ("腹主动脉瘤", "胸主动脉瘤")],
)
def test_a_chinese_sign_that_says_something_is_no_typo(one: str, other: str) -> None:
    assert not is_typo(one, other, {one, other})
