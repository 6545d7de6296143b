"""Which names are a typo apart."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from conftest import examples
from kgdx.terms.names.entity_names import with_forms
from kgdx.terms.names.typos import bound, is_typo, near


def forms(*names: str) -> pl.DataFrame:
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
    assert near(forms(said), forms(name, "something else entirely")).height == 1


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
    assert near(forms(said), forms(name)).height == 0


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
