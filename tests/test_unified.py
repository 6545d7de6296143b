"""All real files in one graph, on both stores: what is loaded, what is refused, and what an update makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgdx
from kgdx import api
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.ingest.pipeline.build_report import BuildReport
from kgdx.ingest.source_choice import select

pytestmark = pytest.mark.heavy

COUNTS = {
    "agentclinic": (214, 214, 0, 0),
    "chinese_kg": (159_995, 158_675, 231, 1_089),
    "disease_names_zh": (8_689, 7_589, 0, 1_100),
    "dx_dialogues": (2_799, 2_792, 0, 7),
    "dx_symptoms": (41, 0, 41, 0),
    "encyclopedia": (2_116, 2_116, 0, 0),
    "encyclopedia_symptoms": (10_869, 10_846, 23, 0),
    "hp_zh": (18_988, 18_988, 0, 0),
    "hpoa": (271_702, 271_659, 43, 0),
    "orphanet_omim": (11_378, 7_364, 0, 4_014),
    "phenopackets": (150_808, 150_636, 0, 172),
    "symptom2disease": (3_513, 3_513, 0, 0),
}
"""Read, loaded, merged, refused."""

RELATIONS = {"HAS_SYMPTOM", "RECOMMEND_TEST", "RECOMMEND_DRUG", "RECOMMEND_CURE", "HAS_COMORBIDITY"}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("unified") / "graph"


@pytest.fixture(scope="session")
def report(shared_data: Path, folder: Path) -> BuildReport:
    return kgdx.build(select((), place=shared_data).sources, store=folder)


def test_every_source_adds_up(report: BuildReport) -> None:
    found = {name: (s.read, s.loaded, s.merged, s.quarantined) for name, s in report.sources.items()}
    assert {name: counts for name, counts in found.items() if name in COUNTS} == COUNTS
    assert all(read == loaded + merged + refused for read, loaded, merged, refused in found.values())
    assert report.relations.keys() >= RELATIONS
    assert report.nodes["Document"] == 1_058 and report.nodes["PatientCase"] == 6_740 + 1_307  # those of DDXPlus


def test_the_store_holds_what_was_built(report: BuildReport, folder: Path) -> None:
    with ArcadeStore.open(folder / "builds" / report.id / "store") as store:
        assert store.fingerprint() == report.fingerprint


def test_removing_a_source_and_reading_it_again_changes_nothing(
    report: BuildReport, folder: Path, shared_data: Path
) -> None:
    without = api.remove("dx_dialogues", store=folder)
    assert "dx_dialogues" not in without.sources and without.fingerprint != report.fingerprint
    again = api.update({"dx_dialogues": str(shared_data / "dxy-dialogue-train.jsonl.gz")}, store=folder)
    assert again.fingerprint == report.fingerprint
    assert (again.nodes, again.relations) == (report.nodes, report.relations)


@pytest.mark.neo4j
def test_the_same_graph_is_on_both_stores(report: BuildReport, folder: Path, neo4j_uri: str) -> None:
    copied = api.push(store=folder, neo4j=neo4j_uri, force=True)
    assert copied.fingerprint == report.fingerprint
    with kgdx.open(folder) as here, kgdx.open(neo4j_uri) as there:
        for text in ("A girl with seizures and low muscle tone.", "患儿肌张力减低，反复抽搐，智力障碍。"):
            local, remote = here.diagnose(text), there.diagnose(text)
            assert remote.to_dict(trace=False) == local.to_dict(trace=False)
