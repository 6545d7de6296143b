"""A graph's content from the files of its build: the same as from its store, or none of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ingest import hooked
from ingest.pipeline.test_build import lose_genes, save_a_case
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.copies import Content
from kgdx.graph.protocol import Store
from kgdx.graph.tables import digests, title
from kgdx.ingest.pipeline.build import build
from kgdx.ingest.pipeline.graph_folder import BuildFolder, GraphFolder
from kgdx.ingest.pipeline.stages import Stages
from kgdx.ingest.pipeline.user_data import kept_tables

Sources = dict[str, str]


@pytest.fixture
def graph(tmp_path: Path, tiny_sources: Sources) -> GraphFolder:
    made = GraphFolder(tmp_path / "graph")
    build(tiny_sources, made, derive=(hooked.ALIKE,))
    return made


def kept(graph: GraphFolder, store: Store, build: BuildFolder) -> Content | None:
    found = kept_tables(build, Stages(graph.path / "stages"), store)
    return None if found is None else Content.of_kept(store, found)


def same(graph: GraphFolder) -> None:
    with graph.reading() as build, ArcadeStore.open(build.store) as store:
        content, read = kept(graph, store, build), Content.of(store)
    assert content is not None
    assert (content.fingerprint, content.counts, content.build) == (read.fingerprint, read.counts, read.build)
    titles = [title(table) for table in content.tables]
    assert len(titles) == len(set(titles)) and set(titles) == {title(table) for table in read.tables}
    theirs = {title(table): table for table in read.tables}
    for table in content.tables:
        assert digests([table]) == digests([theirs[title(table)]])


def test_the_files_of_a_build_hold_what_its_store_holds(graph: GraphFolder) -> None:
    same(graph)


def test_what_users_saved_since_comes_from_the_store(graph: GraphFolder, tiny_sources: Sources) -> None:
    save_a_case(graph)
    same(graph)
    build(tiny_sources, graph)  # whose files have the case
    with graph.writing() as held, ArcadeStore.open(held.store, read_only=False) as store:
        store.write("delete_case", case_id="case:mine")
    same(graph)


def state_another_build(store: ArcadeStore) -> None:
    store.write("set_build", fingerprint="another")


@pytest.mark.parametrize("change", [lose_genes, state_another_build])
def test_files_that_are_not_what_the_store_holds_are_not_taken(
    graph: GraphFolder, change: Callable[[ArcadeStore], None]
) -> None:
    with graph.writing() as build, ArcadeStore.open(build.store, read_only=False) as store:
        change(store)
    with graph.reading() as build, ArcadeStore.open(build.store) as store:
        assert kept(graph, store, build) is None


def test_without_its_files_nothing_is_held(graph: GraphFolder) -> None:
    with graph.reading() as build, ArcadeStore.open(build.store) as store:
        build.tables.unlink()
        assert kept_tables(build, Stages(graph.path / "stages"), store) is None
