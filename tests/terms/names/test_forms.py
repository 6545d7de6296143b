"""Which names have the same form, and which must not."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from kgdx.terms.names.entity_names import variants, with_forms


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
    for form in ("folded", "key", "bag"):
        values = forms(one, other)[form]
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
