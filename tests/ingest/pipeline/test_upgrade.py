"""Graphs of earlier layouts: what was saved in them is carried into the new graph, or nothing is changed."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from kgdx.errors import StoreError
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.ingest.pipeline import build_files
from kgdx.ingest.pipeline.build import build
from kgdx.ingest.pipeline.graph_folder import GraphFolder

LAYOUTS = sorted(Path(__file__).parents[2].joinpath("data", "layouts").glob("*.tar.xz"))
LISTED = "layout-3"


@pytest.fixture(params=LAYOUTS, ids=lambda file: file.name.removesuffix(".tar.xz"))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> GraphFolder:
    with tarfile.open(request.param) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.4 and newer
        packed.extractall(tmp_path / request.param.name)
    return GraphFolder(tmp_path / request.param.name)


def saved_patients(graph: GraphFolder) -> list[tuple[str, str]]:
    """Each saved patient's findings and the best candidate of the run."""
    with graph.reading() as held, ArcadeStore.open(held.store) as store:
        found = []
        for case in store.run("user_cases", source="user", limit=9):
            (finding,) = store.run("case_findings", case_id=case["id"])
            best = store.run("run_candidates", run_id=store.run("case_runs", case_id=case["id"])[0]["id"])[0]
            found.append((finding["id"], best["id"]))
        return found


def test_a_build_carries_over_what_an_earlier_layout_saved(old: GraphFolder, core_sources: dict[str, str]) -> None:
    old.path.joinpath("mappings.sssom.tsv").touch()
    report = build(core_sources, old)
    assert report.sources["user"].loaded == 8 and not report.sources["user"].quarantined
    assert saved_patients(old) == [("HP:0001250", "OMIM:100001")]
    assert old.path.joinpath("mappings.sssom.tsv").exists(), "decisions lie beside the builds"
    assert not build_files.verify(old.current().path).faults


def test_a_build_that_cannot_read_what_was_saved_stops_and_keeps_the_old_one(
    old: GraphFolder, core_sources: dict[str, str]
) -> None:
    before = old.current()
    before.store.joinpath("schema.json").write_text("{")
    with pytest.raises(StoreError, match="--discard-saved"):
        build(core_sources, old)
    assert old.current() == before
    assert "user" not in build(core_sources, old, keep_cases=False).sources


def test_an_earlier_layout_is_named_with_what_made_it(old: GraphFolder) -> None:
    build_folder = old.current().path
    if old.path.name.startswith(LISTED):
        build_files.check(build_folder)
        os.truncate(build_folder / build_files.LIST, 100)
        said = "gone or damaged"
    else:
        said = rf"made by kgdx 0\.1\.0 \(layout {old.path.name[7]}; this version reads layout 3\)"
    with pytest.raises(StoreError, match=f"{said}.*carries over what was saved"):
        build_files.check(build_folder)


def test_a_graph_of_an_earlier_layout_is_found_without_its_pointer(
    old: GraphFolder, core_sources: dict[str, str]
) -> None:
    old.path.joinpath("CURRENT").unlink()
    assert build(core_sources, old).sources["user"].loaded == 8
