"""A build from the hand-drawn sources: what is in the graph, the report, and what a build never does."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import kgdx
from ingest import hooked
from kgdx.errors import KgdxError, SourceError, StoreError, UsageError
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.protocol import Delta, GraphTable, RelationTable
from kgdx.graph.snapshot import Snapshot
from kgdx.ingest.manifest import manifests
from kgdx.ingest.pipeline import snapshot_hooks
from kgdx.ingest.pipeline.build import build, remove
from kgdx.ingest.pipeline.build_report import SHARES, BuildProgress, read_report
from kgdx.ingest.pipeline.derive import Derive
from kgdx.ingest.pipeline.graph_folder import GraphFolder
from kgdx.ingest.source_choice import parse_choice
from kgdx.schema import load_schema, schema_checksum
from kgdx.schema.model import MATCHES

Sources = dict[str, str]


def equivalent(tables: Sequence[GraphTable]) -> list[GraphTable]:
    rows = {"start": ["ORPHA:900001"], "end": ["OMIM:100001"], "relation": ["exact"], "method": ["test"]}
    assert {type(table).__name__ for table in tables} == {"NodeTable", "RelationTable"}
    return [RelationTable("SAME_AS", "Disease", "Disease", pa.table({**rows, "source": ["kgdx:equivalence"]}))]


same = Derive("kgdx:equivalence", "1", ("Disease", "SAME_AS", "HAS_PHENOTYPE"), equivalent)


def save_a_case(graph: GraphFolder, disease: str = "OMIM:100001") -> None:
    with (
        graph.writing() as held,
        ArcadeStore.open(held.store, read_only=False) as store,
        store.transaction() as running,
    ):
        running.run("put_case", case_id="case:mine", source="user", label="mine", sex="FEMALE")
        running.run("put_observations", case_id="case:mine", source="user", rows=[{"id": "HP:0001250", "score": 0.5}])
        running.run(
            "put_run",
            case_id="case:mine",
            run_id="run:1",
            source="user",
            created="2025-01-01T00:00:00",
            policy="fixed",
            kgdx_version="0",
            fingerprint="f",
            trace="[]",
        )
        running.run("put_candidates", run_id="run:1", source="user", rows=[{"id": disease, "rank": 1, "score": 2.5}])


def test_the_graph_holds_what_the_sources_state(graph: GraphFolder, tiny_sources: Sources) -> None:
    report = build(tiny_sources, graph)
    with graph.reading() as held, ArcadeStore.open(held.store) as store:
        assert dict(store.counts()) == {**report.nodes, **report.relations, "Build": 1}
        (built,) = store.run("build")
        assert store.fingerprint() == report.fingerprint == built["fingerprint"]
        assert Snapshot.open(held.snapshot, built["fingerprint"]).rows("disease") == report.nodes["Disease"]
        for row in store.run("sources"):
            assert row["read"] == row["loaded"] + row["merged"] + row["quarantined"]
            assert row["read"] == report.sources[row["id"]].read > 0
            assert row["checksum"] == report.sources[row["id"]].checksum


def test_the_report_is_kept_and_says_what_was_refused(graph: GraphFolder, tiny_sources: Sources) -> None:
    report = build(tiny_sources, graph)
    held = graph.current()
    assert read_report(held.report) == report
    assert json.loads(held.report.read_text())["schema_checksum"] == schema_checksum()
    quarantine = pl.read_parquet(held.quarantine)
    assert quarantine.height == report.quarantined == sum(reason.count for reason in report.reasons) == 1
    assert quarantine["file"].to_list() == [tiny_sources["orphanet_omim"]]
    assert report.sources["hp"].version == "2025-01-16"
    assert report.sources["hpoa"].resolved == 2


def test_a_default_file_of_another_release_gives_a_warning(
    graph: GraphFolder, core_sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = {"default": core_sources["hp"], "expected": None}
    known = manifests()
    for checksum, warnings in (("0" * 64, 1), (hashlib.sha256(Path(core_sources["hp"]).read_bytes()).hexdigest(), 0)):
        changed = {"hp": known["hp"].model_copy(update={**mine, "checksum": checksum})}
        monkeypatch.setattr("kgdx.ingest.source_choice.manifests", lambda _own, changed=changed: {**known, **changed})
        found = build(["hp"], graph).warnings
        assert len(found) == warnings and all("another release" in each for each in found)


def test_the_same_sources_give_the_same_fingerprint(graph: GraphFolder, core_sources: Sources, tmp_path: Path) -> None:
    first = build(core_sources, graph).fingerprint
    assert build(core_sources, tmp_path / "other").fingerprint == first
    assert build({"hp": core_sources["hp"]}, graph).fingerprint != first


def test_sources_can_be_chosen_and_replaced(graph: GraphFolder, core_sources: Sources) -> None:
    report = build([f"hp={core_sources['hp']}"], graph)
    assert list(report.sources) == ["hp"] and set(report.nodes) == {"Phenotype", "Source"}
    with pytest.raises(UsageError, match="twice"):
        parse_choice(["hp", "hp=x"])
    with pytest.raises(UsageError, match="write hp=PATH"):
        parse_choice(["hp="])
    with pytest.raises(SourceError, match="give it as disease_names_zh=PATH-OR-URL"):
        build(["disease_names_zh", f"hp={core_sources['hp']}"], graph)


def test_progress_goes_forward_through_all_stages(graph: GraphFolder, core_sources: Sources) -> None:
    events: list[BuildProgress] = []
    report = build(core_sources, graph, progress=events.append)
    assert list(dict.fromkeys(event.stage for event in events)) == list(SHARES)
    assert [event.done for event in events] == sorted(event.done for event in events)
    assert events[-1].done == 1.0 and set(SHARES) <= set(report.seconds)


def test_what_is_inferred_names_itself_as_its_source(graph: GraphFolder, core_sources: Sources) -> None:
    report = build(core_sources, graph, derive=[same])
    assert report.sources["kgdx:equivalence"].loaded == report.relations["SAME_AS"] == 1
    assert Snapshot.open(graph.current().snapshot).column("same_as", "method").tolist() == ["test"]


@pytest.fixture
def second_process(monkeypatch: pytest.MonkeyPatch, small_builds: Callable[..., str | None]) -> None:
    monkeypatch.setattr(snapshot_hooks, "_import_name", small_builds)


@pytest.mark.usefixtures("second_process")
def test_hooks_run_on_the_snapshot_in_a_second_process(graph: GraphFolder, core_sources: Sources) -> None:
    seen: list[int] = []
    report = build(
        core_sources, graph, compile=[hooked.count_diseases, lambda snapshot: seen.append(snapshot.rows("disease"))]
    )
    made = graph.current().snapshot / "derived" / "count-1"
    assert (made / "count").read_text() == "5" and seen == [5]
    assert (made / "process").read_text() != str(os.getpid())
    assert report.seconds["ingest.hooked:count_diseases"] >= 0


@pytest.mark.usefixtures("second_process")
@pytest.mark.parametrize(
    ("hook", "message"),
    [
        (hooked.refuse, "no model for 5 diseases: build it again"),
        (hooked.crash, "ZeroDivisionError: by zero"),
        (hooked.die, r"without an answer \(exit code 9\)"),
    ],
)
def test_a_failed_hook_fails_the_build_and_keeps_the_old_graph(
    graph: GraphFolder, core_sources: Sources, hook: Callable[[Snapshot], None], message: str
) -> None:
    build({"hp": core_sources["hp"]}, graph)
    old = graph.current()
    with pytest.raises(KgdxError, match=message):
        build(core_sources, graph, compile=[hook])
    assert graph.current() == old and len(list((graph.path / "builds").iterdir())) == 1


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00" * 100, b"just\ttext\n", b"\x1f\x8b\x08"],
    ids=["empty", "binary", "another table", "broken gzip"],
)
def test_a_bad_file_fails_in_one_line_and_keeps_the_old_graph(
    graph: GraphFolder, core_sources: Sources, tmp_path: Path, content: bytes
) -> None:
    build(core_sources, graph)
    old = graph.current()
    bad = tmp_path / "bad"
    bad.write_bytes(content)
    for name in core_sources:
        with pytest.raises(SourceError) as caught:
            build({**core_sources, name: str(bad)}, graph)
        assert "\n" not in str(caught.value)
    assert graph.current() == old


def test_a_file_of_which_nothing_can_be_loaded_is_refused(
    graph: GraphFolder, core_sources: Sources, tmp_path: Path
) -> None:
    other = tmp_path / "genes.txt"
    other.write_text("ncbi_gene_id\tgene_symbol\tdisease_id\n1\tA1\tOMIM:424242\n")
    with pytest.raises(SourceError, match=r"none of the 1 records .* OMIM:424242 is no Disease"):
        build({**core_sources, "genes": str(other)}, graph)


def test_saved_cases_and_runs_are_carried_over(graph: GraphFolder, core_sources: Sources) -> None:
    build(core_sources, graph)
    save_a_case(graph)
    report = build(core_sources, graph)
    assert report.sources["user"].loaded == 5, "case, finding, run, its case, its candidate"
    with graph.reading() as held, ArcadeStore.open(held.store) as store:
        (case,) = store.run("case_by_id", case_id="case:mine")
        (finding,) = store.run("case_findings", case_id="case:mine")
        (run,) = store.run("case_runs", case_id="case:mine")
        (candidate,) = store.run("run_candidates", run_id="run:1")
    assert (case["label"], case["source"], finding["id"], finding["score"]) == ("mine", "user", "HP:0001250", 0.5)
    assert (run["created"], candidate["id"], candidate["score"]) == ("2025-01-01T00:00:00", "OMIM:100001", 2.5)
    assert "user" not in build(core_sources, graph, keep_cases=False).sources


def test_saved_cases_are_carried_over_from_an_older_version_of_the_ontology(
    graph: GraphFolder, core_sources: Sources
) -> None:
    build(core_sources, graph)
    save_a_case(graph)
    major = load_schema().version.partition(".")[0]
    for version, carried in ((f"{major}.0.0-before", True), ("1.6.0", True), ("0.1", False)):
        with graph.writing() as held, ArcadeStore.open(held.store, read_only=False) as store:
            store.write("set_build", schema_version=version, schema_checksum="0" * 64)
        report = read_report(graph.current().report)
        replace(report, schema_version=version, schema_checksum="0" * 64).write(graph.current().report)
        if carried:
            report = build(core_sources, graph)
            assert report.sources["user"].loaded == 5 and report.store == "loaded"
        else:
            with pytest.raises(StoreError, match="use `kgdx build --discard-saved`"):
                build(core_sources, graph)


def lose_genes(store: ArcadeStore) -> None:
    tables = [table for table in store.tables() if isinstance(table, RelationTable) and table.type == "ASSOCIATED_GENE"]
    store.apply(Delta(removed=tables))


def test_a_build_mends_a_damaged_store_and_snapshot(graph: GraphFolder, core_sources: Sources) -> None:
    first = build(core_sources, graph)
    again = build(core_sources, graph)
    assert (again.store, again.changes, again.fingerprint) == ("changed", (), first.fingerprint)
    with graph.writing() as held, ArcadeStore.open(held.store, read_only=False) as store:
        store.write("put_case", case_id="case:odd", source="nobody", label="odd")
        store.write("delete_case", case_id="case:odd")
        store.write("clear_disease_names_zh", source="nobody")
        lose_genes(store)
    (graph.current().snapshot / "disease.arrow").write_bytes(b"")
    mended = build(core_sources, graph)
    assert (mended.store, mended.fingerprint) == ("loaded", first.fingerprint)
    with graph.reading() as held, ArcadeStore.open(held.store) as store:
        assert store.fingerprint() == first.fingerprint
        assert Snapshot.open(held.snapshot, first.fingerprint).table("disease").num_rows == first.nodes["Disease"]


def test_what_a_saved_case_refers_to_and_is_gone_is_reported(graph: GraphFolder, core_sources: Sources) -> None:
    build(core_sources, graph)
    save_a_case(graph)
    report = build({"hp": core_sources["hp"]}, graph)
    assert report.sources["user"].quarantined == 1
    assert [reason.example for reason in report.reasons] == ["OMIM:100001 is no Disease of this graph"]


@pytest.mark.parametrize("source", ["hp_zh", "disease_names_zh", "orphanet_omim", "phenopackets", "genes"])
def test_a_removed_source_leaves_the_graph_as_if_it_had_never_been(
    graph: GraphFolder, tiny_sources: Sources, tmp_path: Path, source: str
) -> None:
    build(tiny_sources, graph, derive=[same])
    report = remove(source, graph, derive=[same], compile=[hooked.count_diseases])
    without = build(
        {name: path for name, path in tiny_sources.items() if name != source}, tmp_path / "other", derive=[same]
    )
    assert report.fingerprint == without.fingerprint
    assert (report.nodes, report.relations) == (without.nodes, without.relations)
    assert list(report.sources) == list(without.sources)
    with graph.reading() as held, ArcadeStore.open(held.store) as store:
        assert store.fingerprint() == report.fingerprint == store.run("build")[0]["fingerprint"]
        assert Snapshot.open(held.snapshot, report.fingerprint).derived("count", 1, lambda _: None).is_dir()
        assert read_report(held.report) == report


def test_a_source_that_is_needed_or_unknown_is_not_removed(graph: GraphFolder, core_sources: Sources) -> None:
    with pytest.raises(StoreError, match="no graph"):
        remove("hp", graph)
    build(core_sources, graph)
    with pytest.raises(SourceError, match="hpoa needs hp"):
        remove("hp", graph)
    with pytest.raises(SourceError, match="no source 'omim'"):
        remove("omim", graph)


def test_the_sources_of_the_default_build_come_first() -> None:
    names = [manifest.name for manifest in manifests().values()]
    assert names[:7] == ["hp", "hpoa", "ddxplus", "common_conditions", "genes", "hp_zh", "orphanet_omim"]


def test_broader_and_narrower_are_not_the_same(tmp_path: Path, tiny: Path) -> None:
    names = {"hp": "hp.obo", "hpoa": "phenotype.hpoa", "orphanet_omim": "orphanet-omim-xrefs.tsv"}
    report = kgdx.build({name: str(tiny / file) for name, file in names.items()}, store=tmp_path / "graph")
    with kgdx.open(tmp_path / "graph") as graph:
        counts = graph.store.counts()
    found = {relation: counts.get(type, 0) for relation, type in MATCHES.items()}
    assert sum(report.mappings["SAME_AS"].values()) == found.pop("exact")
    assert report.near["SAME_AS"] == {relation: number for relation, number in found.items() if number}
    assert report.near["SAME_AS"]["broader"]
