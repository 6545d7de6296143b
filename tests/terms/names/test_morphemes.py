"""Names are compared by what they say, in two languages; the table of morphemes says one thing in one row."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import kgdx.terms.names.morphemes as morphemes
from kgdx.terms.names.morphemes import adds, meaning
from kgdx.terms.normalise import form, read_table

ROWS = read_table(Path(morphemes.__file__).with_suffix(".tsv"))


@pytest.mark.parametrize("column", [1, 2])
def test_no_word_of_the_table_has_two_meanings(column: int) -> None:
    words = [[text.strip() for text in row[column].split(";") if text.strip()] for row in ROWS]
    texts = [{form(text).key for text in row if "-" not in (text[0], text[-1])} for row in words]
    twice = [text for text, rows in Counter(text for row in texts for text in row).items() if rows > 1]
    assert not twice


def test_every_row_has_a_known_kind_and_a_word() -> None:
    assert all(
        len(row) == 3 and row[0] in ("", "head", "little", "germ", "child", "name") and any(row[1:]) for row in ROWS
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Cholecystitis", "胆囊炎"),
        ("hepatosplenomegaly", "肝脾肿大"),
        ("takayasus arteritis", "多发性大动脉炎"),
        ("ovarian hyperstimulation syndrome ohss", "卵巢过度刺激综合征"),
        ("salmonella infection", "沙门菌病"),
        ("broken collarbone", "锁骨骨折"),
        ("获得性免疫缺陷综合症", "AIDS"),
    ],
)
def test_names_of_one_meaning(one: str, other: str) -> None:
    assert meaning(one) == meaning(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("type 1 diabetes", "2型糖尿病"),
        ("hypothyroidism", "甲状腺功能亢进"),
        ("pseudohypoparathyroidism", "pseudopseudohypoparathyroidism"),
        ("acute hepatitis", "慢性肝炎"),
        ("ulcerative colitis", "结肠溃疡"),
        ("骨样骨瘤", "骨瘤"),
        ("丹毒", "类丹毒"),
        ("anosmia", "嗅觉障碍"),
        ("renal cyst", "囊性肾病"),
        ("enchondroma", "内生软骨瘤病"),
    ],
)
def test_names_of_two_meanings(one: str, other: str) -> None:
    assert meaning(one) != meaning(other)


def test_a_name_that_adds_nothing_is_no_part_of_itself() -> None:
    assert not adds(meaning("肺炎"), meaning("pneumonia")) and adds(meaning("肺炎"), meaning("bacterial pneumonia"))
