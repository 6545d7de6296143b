"""A graph that is brought up to date is the graph that a build from scratch gives, whatever changed."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from conftest import examples
from ingest import hooked, own
from ingest.pipeline.test_build import lose_genes, save_a_case
from kgdx.errors import SourceError, StoreError
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.snapshot import TABLES, Snapshot
from kgdx.ingest.pipeline import check_parsed, parse, stages
from kgdx.ingest.pipeline.build import build, remove, update
from kgdx.ingest.pipeline.build_report import BuildReport, read_report
from kgdx.ingest.pipeline.built_graph import BuiltGraph, read_graph
from kgdx.ingest.pipeline.graph_folder import GraphFolder
from kgdx.ingest.pipeline.stages import Stages

Sources = dict[str, str]


STEPS = (hooked.ALIKE,)


def numbers(report: BuildReport) -> dict[str, Any]:
    """What a report says of the graph, but for how and when it was made."""
    content = asdict(report)
    for name in ("id", "path", "created", "seconds", "kind", "stages", "changes", "store", "peak_memory"):
        del content[name]
    for source in content["sources"].values():
        del source["seconds"], source["found"]
    content["order"] = list(content["sources"])
    return content


def refused(folder: GraphFolder) -> list[tuple[Any, ...]]:
    return sorted(pl.read_parquet(folder.current().quarantine).rows(), key=str)


def same(updated: GraphFolder, report: BuildReport, scratch: GraphFolder, other: BuildReport) -> None:
    """Hold an updated graph against one that was built from scratch: report, store, snapshot, quarantine."""
    assert numbers(report) == numbers(other)
    assert refused(updated) == refused(scratch)
    assert read_report(updated.current().report) == report
    with updated.reading() as held, ArcadeStore.open(held.store) as store:
        assert store.fingerprint() == report.fingerprint == store.run("build")[0]["fingerprint"]
        assert {**report.nodes, **report.relations, "Build": 1} == dict(store.counts())
        mine = Snapshot.open(held.snapshot, report.fingerprint)
        theirs = Snapshot.open(scratch.current().snapshot, report.fingerprint)
        for name in TABLES:
            assert mine.table(name).equals(theirs.table(name)), name


def changed_file(path: str, folder: Path, old: str, new: str) -> str:
    text = Path(path).read_text("utf-8")
    assert old in text
    copy = folder / Path(path).name
    copy.write_text(text.replace(old, new), "utf-8")
    return str(copy)


EDITS = {
    "hp_zh": ("癫痫发作", "痫性发作"),
    "disease_names_zh": ("ORPHA:900001\t", "ORPHA:900002\t"),
    "hpoa": ("DECIPHER:18\tTINY DELETION", "DECIPHER:19\tSMALL DELETION"),
    "genes": ("20\tGENB", "21\tGENB"),
    "orphanet_omim": ("ORPHA:900002\tOMIM:100001\tBTNT", "ORPHA:900002\tOMIM:100002\tE"),
    "hp": ('synonym: "', 'synonym: "new '),
    "phenopackets": ("FEMALE", "MALE"),
}


@pytest.mark.parametrize("source", EDITS)
def test_an_update_gives_what_a_build_from_scratch_gives(
    graph: GraphFolder, tiny_sources: Sources, tmp_path: Path, source: str
) -> None:
    build(tiny_sources, graph, derive=STEPS, compile=[hooked.count_diseases])
    edited = changed_file(tiny_sources[source], tmp_path, *EDITS[source])
    report = update([f"{source}={edited}"], graph, derive=STEPS, compile=[hooked.count_diseases])
    scratch = GraphFolder(tmp_path / "scratch")
    other = build({**tiny_sources, source: edited}, scratch, derive=STEPS)
    same(graph, report, scratch, other)
    assert (report.kind, report.store) == ("update", "changed") and report.changes
    read = {stage.what for stage in report.stages if stage.stage == "parse" and stage.made}
    assert read == {source}, "no other source is read again"
    assert Snapshot.open(graph.current().snapshot).derived("count", 1, lambda _: None).is_dir()


def test_tables_in_small_parts_make_the_same_graph(
    graph: GraphFolder, tiny_sources: Sources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = build(tiny_sources, graph, derive=STEPS)
    before = pl.read_parquet(graph.current().quarantine)
    for module in (check_parsed, parse, stages):
        monkeypatch.setattr(module, "PART_ROWS", 2)
    parts = GraphFolder(tmp_path / "parts")
    report = build(tiny_sources, parts, derive=STEPS)
    same(parts, report, graph, whole)
    assert pl.read_parquet(parts.current().quarantine).equals(before)


def test_what_users_saved_before_and_after_the_build_stays(
    graph: GraphFolder, tiny_sources: Sources, tmp_path: Path
) -> None:
    build(tiny_sources, graph)
    save_a_case(graph)
    edited = changed_file(tiny_sources["genes"], tmp_path, *EDITS["genes"])
    report = update({"genes": edited}, graph)
    assert report.store == "changed" and report.sources["user"].loaded == 5
    with graph.writing() as held, ArcadeStore.open(held.store, read_only=False) as store:
        store.write("put_case", case_id="case:other", source="user", label="other")
    report = update({"genes": tiny_sources["genes"]}, graph)
    assert report.store == "changed" and report.sources["user"].loaded == 6
    with graph.reading() as held, ArcadeStore.open(held.store) as store:
        assert store.fingerprint() == report.fingerprint
        assert store.run("case_by_id", case_id="case:other")[0]["label"] == "other"
    without = remove("user", graph)
    scratch = GraphFolder(tmp_path / "scratch")
    same(graph, without, scratch, build(tiny_sources, scratch))


def test_what_a_saved_case_refers_to_and_an_update_takes_away_is_reported(
    graph: GraphFolder, core_sources: Sources, tmp_path: Path
) -> None:
    build(core_sources, graph)
    save_a_case(graph, disease="DECIPHER:18")
    report = update({"hpoa": changed_file(core_sources["hpoa"], tmp_path, "DECIPHER:18", "DECIPHER:19")}, graph)
    assert report.sources["user"].quarantined == 1
    with graph.reading() as held, ArcadeStore.open(held.store) as store:
        assert store.fingerprint() == report.fingerprint


def test_a_source_can_be_added_with_what_it_needs_and_removed_again(
    graph: GraphFolder, tiny_sources: Sources, tmp_path: Path
) -> None:
    first = build({"hp": tiny_sources["hp"]}, graph)
    added = update({name: tiny_sources[name] for name in ("genes", "hpoa")}, graph)
    scratch = GraphFolder(tmp_path / "scratch")
    same(graph, added, scratch, build({name: tiny_sources[name] for name in ("hp", "hpoa", "genes")}, scratch))
    remove("genes", graph)
    last = remove("hpoa", graph)
    assert numbers(last) == numbers(first)
    with pytest.raises(SourceError, match="hp is the graph's only source"):
        remove("hp", graph)


def test_a_node_goes_over_to_the_next_source_that_states_it(graph: GraphFolder, tmp_path: Path) -> None:
    one, two = (own.manifest(tmp_path, name) for name in ("alpha", "beta"))
    shared = own.gene(1, "ONE"), own.gene(2, "ZWO")
    sources = {
        one: own.table(tmp_path, "alpha", shared),
        two: own.table(tmp_path, "beta", [own.gene(2, "TWO"), own.gene(1, "EINS"), own.gene(3, "THREE")]),
    }
    build(sources, graph)
    left = own.table(tmp_path / "..", "alpha", shared[1:])
    report = update({one: left}, graph)
    scratch = GraphFolder(tmp_path / "scratch")
    same(graph, report, scratch, build({**sources, one: left}, scratch))
    with graph.reading() as held, ArcadeStore.open(held.store) as store:
        genes = {row["id"]: row for row in store.export_nodes("Gene", ["name", "source"]).to_pylist()}
        assert store.fingerprint() == report.fingerprint
    assert genes["NCBIGene:1"] == {"id": "NCBIGene:1", "name": "EINS", "source": "beta"}
    assert genes["NCBIGene:2"] == {"id": "NCBIGene:2", "name": "ZWO", "source": "alpha"}


number = st.integers(1, 6)
word = st.sampled_from(["", "A", "B", "C"])
good = st.builds(own.gene, number, word, number, word)
bad = st.sampled_from([("OMIM:1", "", "OMIM:1", ""), ("", "A", "OMIM:2", "A"), ("NCBIGene:1", "", "", "B")])
rows = st.lists(st.one_of(good, good, bad), min_size=1, max_size=12).filter(
    lambda rows: any(row[0].startswith("NCBI") and all(row) for row in rows)
)


@pytest.mark.heavy
@settings(examples(8), phases=[Phase.explicit, Phase.generate])
@given(before=st.tuples(rows, rows), after=rows, which=st.sampled_from([0, 1]))
def test_whatever_changes_an_update_equals_a_build_and_the_counts_add_up(
    before: tuple[list[own.Row], list[own.Row]], after: list[own.Row], which: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        names = ("alpha", "beta")
        manifests = [own.manifest(folder, each) for each in names]
        sources = {
            path: own.table(folder, each, part) for path, each, part in zip(manifests, names, before, strict=True)
        }
        graph, scratch = GraphFolder(folder / "graph"), GraphFolder(folder / "scratch")
        build(sources, graph, derive=STEPS)
        (folder / "new").mkdir()
        sources[manifests[which]] = own.table(folder / "new", names[which], after)
        try:
            report = update({manifests[which]: sources[manifests[which]]}, graph, derive=STEPS)
        except SourceError:  # the ends of one source's rows went with the other's: a build refuses that too
            with pytest.raises(SourceError, match="none of the"):
                build(sources, scratch, derive=STEPS)
            return
        same(graph, report, scratch, build(sources, scratch, derive=STEPS))
        for each, part in zip(names, (after, before[1]) if which == 0 else (before[0], after), strict=True):
            counts = report.sources[each]
            assert counts.read == len(part) == counts.loaded + counts.merged + counts.quarantined
        assert sum(report.sources[each].loaded for each in names) == report.relations["ASSOCIATED_GENE"]
        assert len(refused(graph)) == report.quarantined


def test_a_store_that_is_not_what_its_build_says_is_made_anew(
    graph: GraphFolder, tiny_sources: Sources, tmp_path: Path
) -> None:
    build(tiny_sources, graph)
    with graph.writing() as held, ArcadeStore.open(held.store, read_only=False) as store:
        lose_genes(store)
    report = update({"genes": changed_file(tiny_sources["genes"], tmp_path, *EDITS["genes"])}, graph)
    assert report.store == "loaded"
    with graph.reading() as held, ArcadeStore.open(held.store) as store:
        assert store.fingerprint() == report.fingerprint


def test_a_store_that_cannot_be_copied_is_made_anew(
    graph: GraphFolder, core_sources: Sources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise shutil.Error([("a", "b", "No space left on device")])

    build(core_sources, graph)
    monkeypatch.setattr("kgdx.ingest.pipeline.build_stages.shutil.copytree", fail)
    report = update({"genes": changed_file(core_sources["genes"], tmp_path, *EDITS["genes"])}, graph)
    assert report.store == "loaded"


def known(folder: GraphFolder) -> BuiltGraph:
    found = read_graph(folder.current().tables, Stages(folder.path / "stages"))
    assert found is not None
    return found


def test_a_source_whose_manifest_has_changed_is_not_taken_as_it_was_read(
    graph: GraphFolder, core_sources: Sources
) -> None:
    build(core_sources, graph)
    first = known(graph)
    older = replace(first.sources["hpoa"], mapping="of an older manifest")
    replace(first, sources={**first.sources, "hpoa": older}).write(graph.current().tables)
    update(["genes"], graph)
    assert known(graph).sources == first.sources


def test_a_graph_of_another_ontology_is_no_base_for_a_new_one(graph: GraphFolder, core_sources: Sources) -> None:
    first = build(core_sources, graph)
    made, tables = graph.current(), known(graph).tables
    made.report.write_text(made.report.read_text("utf-8").replace(f'"{first.schema_version}"', '"0.1"'), "utf-8")
    renamed = [replace(table, name="Locus" if table.name == "Gene" else table.name) for table in tables]
    replace(known(graph), tables=renamed).write(made.tables)
    again = build(core_sources, graph, keep_cases=False)
    assert (again.fingerprint, again.store, again.changes) == (first.fingerprint, "loaded", None)


def test_sources_whose_files_are_gone_stay_as_they_were_read(
    graph: GraphFolder, core_sources: Sources, tmp_path: Path
) -> None:
    copies = {name: changed_file(path, tmp_path, "", "") for name, path in core_sources.items()}
    build(copies, graph)
    for name in ("hp", "hpoa"):
        Path(copies[name]).unlink()
    report = update(["genes"], graph)
    assert report.changes == () and report.store == "changed"
    with pytest.raises(SourceError, match="no such file"):
        update(["hp"], graph)


def test_a_new_version_that_lost_half_of_its_rows_is_refused_unless_forced(graph: GraphFolder, tmp_path: Path) -> None:
    mine = own.manifest(tmp_path, "alpha")
    many = [own.gene(number, disease=number) for number in range(1, 301)]
    build({mine: own.table(tmp_path, "alpha", many)}, graph)
    old = graph.current()
    (tmp_path / "new").mkdir()
    few = {mine: own.table(tmp_path / "new", "alpha", many[:150])}
    for attempt in (build, update):
        with pytest.raises(SourceError, match=r"alpha: .*Disease-ASSOCIATED_GENE->Gene 300 → 150.*--force"):
            attempt(few, graph)
        assert graph.current() == old
    report = update(few, graph, force=True)
    assert report.relations["ASSOCIATED_GENE"] == 150
    update({mine: own.table(tmp_path / "new", "alpha", many[:76])}, graph)
    update({mine: own.table(tmp_path / "new", "alpha", many[:30])}, graph), "few rows are no sign of anything"


def test_relations_that_a_new_version_no_longer_fits_count_as_lost(graph: GraphFolder, tmp_path: Path) -> None:
    mine = own.manifest(tmp_path, "alpha")
    many = [own.gene(number, disease=number) for number in range(1, 301)]
    build({mine: own.table(tmp_path, "alpha", many)}, graph)
    (tmp_path / "new").mkdir()
    odd = [(f"GENE:{number}", "", f"OMIM:{number}", "") for number in range(200)]
    with pytest.raises(SourceError, match="300 → 100"):
        update({mine: own.table(tmp_path / "new", "alpha", [*many[200:], *odd])}, graph)


def test_only_a_graph_that_was_built_can_be_updated(graph: GraphFolder) -> None:
    with pytest.raises(StoreError, match="no graph"):
        update(["hp"], graph)
