"""Names that are compared by what they say: look-alikes and entries of one vocabulary stay apart at every stage."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgdx.terms.names.morphemes as morphemes
from conftest import examples
from kgdx.terms.encoder import NameEncoder
from kgdx.terms.names.cascade import STAGES, AlignmentLimits, Given, candidates, decide
from kgdx.terms.names.entity_names import Side, diseases, side
from kgdx.terms.names.morphemes import adds, meaning
from kgdx.terms.names.same_diseases import RARE, Components, align_diseases, exact_pairs, vocabulary
from kgdx.terms.normalise import form, read_table
from terms.names.named import nodes, same_as

PAIRS = [
    tuple(map(str.strip, line.split("|")))
    for line in Path(__file__).with_name("look_alikes.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]


def of(names: list[str], prefix: str) -> Side:
    ids = [f"{prefix}:{number}" for number in range(len(names))]
    nodes = pl.DataFrame({"id": ids, "name": names, "source": prefix})
    said = pl.DataFrame({"entity": ids, "text": names, "weight": 1.0, "relation": "exact"})
    return side(nodes, said, diseases=True)


BOTH = of([one for one, _ in PAIRS], "A"), of([other for _, other in PAIRS], "B")
APART = pl.DataFrame(
    [(f"A:{one}", f"B:{other}") for one in range(len(PAIRS)) for other in range(len(PAIRS)) if one != other],
    ["subject", "object"],
    orient="row",
)
"""Names of two pairs, which are not what is asked."""


class _Near:
    """An encoder that finds the two names of every pair near."""

    name = "near"

    def encode(self, names: list[str]) -> object:
        assert len(names) == len(PAIRS)
        return np.eye(len(names), dtype=np.float32)


@pytest.mark.parametrize("words", [set[str](), None])
def test_no_two_that_look_alike_are_joined_by_a_typo(words: set[str] | None) -> None:
    found = decide(candidates(*BOTH, AlignmentLimits(), Given(refused=APART), words=words), AlignmentLimits())
    assert len(PAIRS) >= 198 and (found["outcome"] == "stated").sum() <= 0.01 * len(PAIRS)


def test_no_two_that_look_alike_are_joined_by_meaning() -> None:
    meaning = NameEncoder(_Near(), chinese=True)  # type: ignore[arg-type]
    found = candidates(*BOTH, AlignmentLimits(stages=STAGES), Given(refused=APART), meaning, set())
    assert 0 < found.height <= 0.3 * len(PAIRS), found["said"].to_list()


def test_what_a_typo_joins_is_close_and_what_a_name_joins_is_exact() -> None:
    found = candidates(
        of(["legionela pneumonia", "gout"], "A"), of(["legionella pneumonia", "Gout"], "B"), AlignmentLimits()
    )
    assert dict(found.select("subject", "relation").iter_rows()) == {"A:0": "close", "A:1": "exact"}


NAMES = ("Alpha disease", "Beta disease", "Gamma disease", "Delta disease")

entries = st.dictionaries(
    st.builds("{}:{}".format, st.sampled_from(["OMIM", "ORPHA", "MONDO", "DECIPHER"]), st.integers(1, 4)),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(tuple),
    max_size=10,
)


@examples(40)
@given(entries)
def test_a_component_has_one_entry_of_each_vocabulary(rows: dict[str, tuple[str, ...]]) -> None:
    tables = [nodes("Disease", rows)]
    found = align_diseases(diseases(tables), exact_pairs(tables), Given())
    joined = Components()
    for one, other in found.filter(pl.col("outcome") == "stated").select("subject", "object").iter_rows():
        joined.join(one, other)
    for one, other in combinations(rows, 2):
        if joined.find(one) == joined.find(other):
            assert vocabulary(one) != vocabulary(other)
            assert not {vocabulary(one), vocabulary(other)} <= set(RARE)


def test_a_conflict_is_left_to_people() -> None:
    tables = [
        nodes("Disease", {"OMIM:1": ("Alpha disease",), "ORPHA:1": ("Beta disease",)}),
        nodes("Disease", {"MONDO:1": ("Alpha disease", "Beta disease"), "OMIM:2": ("Other disease",)}),
        same_as(("ORPHA:1", "OMIM:2", "exact")),
    ]
    found = align_diseases(diseases(tables), exact_pairs(tables), Given())
    outcomes = dict(found.select("object", "outcome").iter_rows())
    assert outcomes == {"OMIM:1": "stated", "ORPHA:1": "conflict"}


def test_groups_are_none_of_their_members() -> None:
    tables = [nodes("Disease", {"MONDO_GROUPED:1_2": ("Alpha disease",), "MONDO:1": ("Alpha disease",)})]
    assert align_diseases(diseases(tables), exact_pairs(tables), Given()).is_empty()


def test_loaded_equalities_are_taken_for_granted() -> None:
    joined = Components()
    for one, other in (("OMIM:1", "OMIM:2"), ("OMIM:2", "ORPHA:1")):
        joined.join(one, other)
    assert joined.of("ORPHA:1") == {"OMIM:1", "OMIM:2", "ORPHA:1"}
    assert joined.fits("MONDO:1", "OMIM:1")
    assert not joined.fits("OMIM:3", "ORPHA:1")


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
