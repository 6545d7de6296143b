"""The real sources, with their counts pinned: a change of the readers, or of the installed release, shows here."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.snapshot import Snapshot
from kgdx.ingest.pipeline.build_report import BuildReport, read_report
from kgdx.ingest.pipeline.graph_folder import GraphFolder

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def default(default_graph: Path) -> tuple[GraphFolder, BuildReport]:
    folder = GraphFolder(default_graph)
    return folder, read_report(folder.current().report)


def test_the_default_graph_has_the_counts_of_its_release(default: tuple[GraphFolder, BuildReport]) -> None:
    report = default[1]
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
        "HAS_PHENOTYPE": 257_855,
        "HAS_INHERITANCE": 8_854,
        "HAS_COURSE": 8_220,
        "LACKS_PHENOTYPE": 3_250,
        "HAS_SYMPTOM": 1_878,
        "MAPPED_TO": 275,
        "SAME_AS": 3_657,
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


def test_the_store_holds_exactly_what_was_staged(default: tuple[GraphFolder, BuildReport]) -> None:
    folder, report = default
    with folder.reading() as held, ArcadeStore.open(held.store) as store:
        assert store.fingerprint() == report.fingerprint
        assert Snapshot.open(held.snapshot, report.fingerprint).rows("has_phenotype") == 274_929


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
