"""What two graphs differ in; and a graph's content from the files of its build."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest import hooked, own
from ingest.pipeline.test_build import lose_genes, save_a_case
from kgdx.errors import StoreError
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.copies import Content
from kgdx.graph.protocol import Store
from kgdx.graph.tables import digests, title
from kgdx.ingest.pipeline.build import build, update
from kgdx.ingest.pipeline.build_report import Change, by_table
from kgdx.ingest.pipeline.freshness import freshness
from kgdx.ingest.pipeline.graph_diff import diff
from kgdx.ingest.pipeline.graph_folder import BuildFolder, GraphFolder
from kgdx.ingest.pipeline.stages import Stages
from kgdx.ingest.pipeline.user_data import kept_tables


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
    shutil.copy2(file, f"{file}.again")
    Path(f"{file}.again").replace(file)  # as a package manager does that installs it anew
    assert [each.stale for each in freshness(graph).sources] == [""]
    Path(file).write_text(Path(file).read_text() + "NCBIGene:9\tI\tOMIM:9\tT\n")
    assert [each.stale for each in freshness(graph).sources] == ["its file has changed"]
    update({manifest: file}, graph)
    assert [each.stale for each in freshness(graph).sources] == [""]
    Path(file).unlink()
    assert [each.stale for each in freshness(graph).sources] == ["its file is gone"]
    next(graph.current().manifests.iterdir()).unlink()
    assert [each.stale for each in freshness(graph).sources] == ["its manifest is gone"]


Sources = dict[str, str]


@pytest.fixture
def own_graph(tmp_path: Path, tiny_sources: Sources) -> GraphFolder:
    made = GraphFolder(tmp_path / "graph")
    build(tiny_sources, made, derive=(hooked.ALIKE,))
    return made


def kept(own_graph: GraphFolder, store: Store, build: BuildFolder) -> Content | None:
    found = kept_tables(build, Stages(own_graph.path / "stages"), store)
    return None if found is None else Content.of_kept(store, found)


def same(own_graph: GraphFolder) -> None:
    with own_graph.reading() as build, ArcadeStore.open(build.store) as store:
        content, read = kept(own_graph, store, build), Content.of(store)
    assert content is not None
    assert (content.fingerprint, content.counts, content.build) == (read.fingerprint, read.counts, read.build)
    titles = [title(table) for table in content.tables]
    assert len(titles) == len(set(titles)) and set(titles) == {title(table) for table in read.tables}
    theirs = {title(table): table for table in read.tables}
    for table in content.tables:
        assert digests([table]) == digests([theirs[title(table)]])


def test_the_files_of_a_build_hold_what_its_store_holds(own_graph: GraphFolder) -> None:
    same(own_graph)


def test_what_users_saved_since_comes_from_the_store(own_graph: GraphFolder, tiny_sources: Sources) -> None:
    save_a_case(own_graph)
    same(own_graph)
    build(tiny_sources, own_graph)  # whose files have the case
    with own_graph.writing() as held, ArcadeStore.open(held.store, read_only=False) as store:
        store.write("delete_case", case_id="case:mine")
    same(own_graph)


def state_another_build(store: ArcadeStore) -> None:
    store.write("set_build", fingerprint="another")


@pytest.mark.parametrize("change", [lose_genes, state_another_build])
def test_files_that_are_not_what_the_store_holds_are_not_taken(
    own_graph: GraphFolder, change: Callable[[ArcadeStore], None]
) -> None:
    with own_graph.writing() as build, ArcadeStore.open(build.store, read_only=False) as store:
        change(store)
    with own_graph.reading() as build, ArcadeStore.open(build.store) as store:
        assert kept(own_graph, store, build) is None


def test_without_its_files_nothing_is_held(own_graph: GraphFolder) -> None:
    with own_graph.reading() as build, ArcadeStore.open(build.store) as store:
        build.tables.unlink()
        assert kept_tables(build, Stages(own_graph.path / "stages"), store) is None
