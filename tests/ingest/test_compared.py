"""What two graphs differ in: counts and examples by table and source, and what the last update changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest import own
from ingest.pipeline.test_build import save_a_case
from kgdx.errors import StoreError
from kgdx.ingest.pipeline.build import build, update
from kgdx.ingest.pipeline.build_report import Change, by_table
from kgdx.ingest.pipeline.freshness import freshness
from kgdx.ingest.pipeline.graph_diff import diff
from kgdx.ingest.pipeline.graph_folder import GraphFolder


@pytest.fixture
def graph(tmp_path: Path) -> GraphFolder:
    return GraphFolder(tmp_path / "graph")


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, str]:
    rows = [own.gene(1, "A", 1), own.gene(2, "B", 2), own.gene(3, "C", 3)]
    (tmp_path / "new").mkdir()
    own.table(tmp_path / "new", "alpha", [own.gene(1, "A", 1), own.gene(2, "Z", 2), own.gene(4, "D", 3)])
    return {own.manifest(tmp_path, "alpha"): own.table(tmp_path, "alpha", rows)}


RELATION = "Disease-ASSOCIATED_GENE->Gene"
EXPECTED = (
    Change("Gene", "alpha", 1, 1, 1, ("- NCBIGene:3", "+ NCBIGene:4", "~ NCBIGene:2")),
    Change(
        RELATION,
        "alpha",
        2,
        2,
        0,
        ("- OMIM:2 NCBIGene:2", "- OMIM:3 NCBIGene:3", "+ OMIM:2 NCBIGene:2", "+ OMIM:3 NCBIGene:4"),
    ),
)


def test_two_graphs_and_a_graph_with_its_past_differ_alike(
    graph: GraphFolder, sources: dict[str, str], tmp_path: Path
) -> None:
    build(sources, graph)
    other = GraphFolder(tmp_path / "other")
    with pytest.raises(StoreError, match="kgdx diff OLD NEW"):
        diff(None, graph)
    (mine,) = sources
    build({mine: str(tmp_path / "new" / "alpha.tsv")}, other)
    assert diff(graph, other).changes == EXPECTED
    report = update({mine: str(tmp_path / "new" / "alpha.tsv")}, graph)
    assert report.changes is not None and by_table(report.changes) == {"Gene": (1, 1, 1), RELATION: (2, 2, 0)}
    past = diff(None, graph)
    assert past.changes == EXPECTED
    names = {"NCBIGene:2": "Z", "NCBIGene:3": "C", "NCBIGene:4": "D", "OMIM:2": "Title", "OMIM:3": "Title"}
    assert past.names == names, "of nodes that are gone too; of one that changed, the name that it has now"
    assert diff(graph, other).changes == ()
    assert diff(other, graph).to_dict()["old"] == str(other.path)


def test_a_graph_that_does_not_know_its_tables_is_read_from_its_store(
    graph: GraphFolder, core_sources: dict[str, str], tmp_path: Path
) -> None:
    build(core_sources, graph)
    other = GraphFolder(tmp_path / "other")
    build({"hp": core_sources["hp"], "hpoa": core_sources["hpoa"]}, other)
    kept = diff(graph, other).changes
    graph.current().tables.unlink()
    assert diff(graph, other).changes == kept
    assert {each.source for each in kept} == {"genes"} and all(each.removed and not each.added for each in kept)


def test_saved_cases_do_not_count_until_the_next_build(graph: GraphFolder, core_sources: dict[str, str]) -> None:
    build(core_sources, graph)
    save_a_case(graph)
    report = update(["genes"], graph)
    assert report.changes == ()
    assert {each.table for each in diff(None, graph).changes} == set(), "they were there when it was updated"


def test_a_graph_knows_what_it_lacks_and_which_command_brings_it(graph: GraphFolder, sources: dict[str, str]) -> None:
    build(sources, graph)
    absent = {each.name: each for each in freshness(graph).absent}
    assert absent["hp_zh"].command == "kgdx update hp_zh" and "Chinese" in absent["hp_zh"].worth
    assert absent["chinese_kg"].command == "kgdx update chinese_kg=FILE"
    assert not absent.keys() & sources.keys()


def test_a_graph_knows_which_of_its_sources_have_changed(graph: GraphFolder, sources: dict[str, str]) -> None:
    (manifest, file) = next(iter(sources.items()))
    build(sources, graph)
    found = freshness(graph)
    assert (found.kind, [each.stale for each in found.sources]) == ("build", [""])
    assert found.kept > 0 and found.kept_bytes > 0 and found.to_dict()["sources"][0]["origin"] == file
    Path(file).write_text(Path(file).read_text() + "NCBIGene:9\tI\tOMIM:9\tT\n")
    assert [each.stale for each in freshness(graph).sources] == ["its file has changed"]
    update({manifest: file}, graph)
    assert [each.stale for each in freshness(graph).sources] == [""]
    Path(file).unlink()
    assert [each.stale for each in freshness(graph).sources] == ["its file is gone"]
    next(graph.current().manifests.iterdir()).unlink()
    assert [each.stale for each in freshness(graph).sources] == ["its manifest is gone"]
