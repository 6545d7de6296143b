"""The Neo4j store and the copies against a real server of the test's own: what only a server can show."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import pyarrow as pa
import pytest

import kgdx
from kgdx.config import Neo4jAccess, Settings
from kgdx.errors import StoreError
from kgdx.graph import copies
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.copies import push
from kgdx.graph.neo4j import browser_links, import_files, local_server
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.graph.protocol import NodeTable, RelationTable
from kgdx.graph.snapshot import Snapshot
from kgdx.ingest.pipeline.build import pull
from kgdx.ingest.pipeline.graph_folder import GraphFolder

pytestmark = [pytest.mark.neo4j, pytest.mark.java, pytest.mark.maven, pytest.mark.heavy]

GENE = NodeTable("Gene", pa.table({"id": ["NCBIGene:1"], "name": ["A1BG"], "source": ["test"]}))
RUN = {"source": "user", "created": "2026", "policy": "fixed", "kgdx_version": "0", "fingerprint": "f"}


def crash(settings: Settings) -> None:
    running = local_server.status(settings)
    assert running is not None
    os.kill(running.pid, signal.SIGKILL)
    while local_server.status(settings) is not None:
        time.sleep(0.05)


def restart(settings: Settings) -> None:
    """Start the server again on the ports that it had, with the data that it has."""
    configured = (settings.server_folder / "conf" / "neo4j.conf").read_text()
    bolt, http = re.findall(r"^server\.(?:bolt|http)\.listen_address=.*:(\d+)$", configured, re.MULTILINE)
    local_server.up(settings, bolt_port=int(bolt), http_port=int(http), heap="600m")


def test_up_again_finds_the_running_server(settings: Settings) -> None:
    running = local_server.status(settings)
    assert running is not None and local_server.up(settings) == running


def test_browser_is_served(settings: Settings) -> None:
    with urlopen(browser_links.shell_url(settings, "MATCH (n) RETURN n LIMIT 1")) as answer:
        assert answer.status == 200 and b"Neo4j Browser" in answer.read()


@pytest.mark.parametrize("password", ["wrong", None])
def test_wrong_or_missing_password_is_one_clear_line(access: Neo4jAccess, password: str | None) -> None:
    with pytest.raises(StoreError, match="refuses the user neo4j or the password: check KGDX_NEO4J_USER") as caught:
        Neo4jStore.connect(replace(access, password=password))
    assert "wrong" not in str(caught.value)


def test_unknown_database_is_named(access: Neo4jAccess) -> None:
    with pytest.raises(StoreError, match="has no database 'absent'"):
        Neo4jStore.connect(replace(access, database="absent"))


def test_empty_database_holds_no_graph(empty: Neo4jAccess) -> None:
    with pytest.raises(StoreError, match="no graph in the database .*kgdx push"):
        Neo4jStore.connect(empty)


def test_graph_of_another_schema_is_refused(empty: Neo4jAccess) -> None:
    with Neo4jStore.create(empty) as store:
        store.write("set_build", schema_version="0.0.0", schema_checksum="other")
    with pytest.raises(StoreError, match="has schema version 0.0.0, this kgdx has"):
        Neo4jStore.connect(empty)


def test_database_in_use_is_not_made_into_a_graph(empty: Neo4jAccess) -> None:
    with Neo4jStore.create(empty) as store:
        store.load([GENE])
    with pytest.raises(StoreError, match="is not empty"):
        Neo4jStore.create(empty)


def test_reader_cannot_write(empty: Neo4jAccess) -> None:
    Neo4jStore.create(empty).close()
    with Neo4jStore.connect(empty) as store:
        with pytest.raises(StoreError, match="open for reading only"):
            store.write("set_build", created="now")
        with pytest.raises(StoreError, match="open for reading only"), store.transaction():
            pass
        with pytest.raises(StoreError, match="open for reading only"):
            store.load([GENE])


def test_failed_load_never_opens_as_whole(empty: Neo4jAccess) -> None:
    unknown = {"start": ["HP:1"], "end": ["HP:2"], "source": ["test"]}
    with Neo4jStore.create(empty) as store:
        with pytest.raises(StoreError, match=r"Phenotype-IS_A->Phenotype: no Phenotype HP:1"):
            store.load([GENE, RelationTable("IS_A", "Phenotype", "Phenotype", pa.table(unknown))])
        assert store.counts()["Gene"] == 1
    with pytest.raises(StoreError, match="is incomplete: a load or removal was interrupted: replace it with"):
        Neo4jStore.connect(empty)


def test_server_killed_in_a_transaction_leaves_nothing_half_written(settings: Settings, empty: Neo4jAccess) -> None:
    with Neo4jStore.create(empty) as store, Neo4jStore.connect(empty) as reader:
        store.load([GENE])
        store.write("put_case", case_id="before", source="user")
        rolled_back = "in the middle of a write, it was rolled back: nothing of this write"
        with pytest.raises(StoreError, match=rolled_back), store.transaction() as running:
            running.run("put_case", case_id="lost", source="user")
            running.run("put_run", case_id="lost", run_id="run", **RUN)
            crash(settings)
            running.run("put_case", case_id="after", source="user")
        restart(settings)
        for opened in (reader, store):  # those who had it open read on
            assert opened.counts() == {"Build": 1, "Gene": 1, "PatientCase": 1}
            assert [row["id"] for row in opened.run("case_by_id", case_id="before")] == ["before"]


def test_server_killed_in_a_load_leaves_no_graph_that_opens(settings: Settings, empty: Neo4jAccess) -> None:
    ids = [f"HP:{i}" for i in range(30)]

    def tables() -> Iterator[NodeTable]:
        yield GENE
        crash(settings)
        yield NodeTable("Phenotype", pa.table({"id": ids, "name": ids, "source": ["a"] * 30}))

    with Neo4jStore.create(empty) as store, pytest.raises(StoreError, match="Phenotype: lost .* incomplete"):
        store.load(tables())
    restart(settings)
    with pytest.raises(StoreError, match="is incomplete"):
        Neo4jStore.connect(settings.neo4j())


def test_server_that_falls_silent_is_given_up_and_asked_again_when_it_goes_on(
    settings: Settings, empty: Neo4jAccess, embedded: ArcadeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(embedded, Settings.load(environ={"KGDX_HOME": str(tmp_path / "another home")}), empty)
    monkeypatch.setenv("KGDX_HOME", str(settings.home))
    monkeypatch.setattr("kgdx.graph.neo4j.bolt._RETRY_SECONDS", 1.0)
    running = local_server.status(settings) or pytest.fail("its own server is down")
    with kgdx.open(empty.uri) as graph, ThreadPoolExecutor(4) as threads:
        before = [each.rows() for each in threads.map(graph.frame, ["build"] * 4)]
        os.kill(running.pid, signal.SIGSTOP)
        try:
            for asked in [threads.submit(graph.frame, "build") for _ in range(4)]:
                with pytest.raises(StoreError, match=r"^Neo4j at bolt://\S+ (does not|did not) answer.*\Z"):
                    asked.result(timeout=600)  # what never ends fails
        finally:
            os.kill(running.pid, signal.SIGCONT)
        assert [each.rows() for each in threads.map(graph.frame, ["build"] * 4)] == before


def test_push_by_offline_import_gives_an_equal_graph(
    settings: Settings, empty: Neo4jAccess, embedded: ArcadeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "_OFFLINE_ROWS", 1)
    report = push(embedded, settings, empty)
    assert report.method == "offline import"
    assert report.fingerprint == embedded.fingerprint()
    with Neo4jStore.connect(settings.neo4j()) as store:
        assert store.counts() == embedded.counts()
        assert store.fingerprint() == report.fingerprint
        assert store.run("build") == embedded.run("build")
        with pytest.raises(StoreError, match="there already"), Neo4jStore.connect(empty, read_only=False) as writer:
            writer.load([NodeTable("Disease", store.export_nodes("Disease", ["name", "source"]).slice(0, 1))])


def test_failed_import_leaves_the_graph_of_before(
    settings: Settings, empty: Neo4jAccess, embedded: ArcadeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    Neo4jStore.create(empty).close()
    with Neo4jStore.connect(empty, read_only=False) as store:
        store.write("put_case", case_id="precious", source="user")

    def fail(*_: object) -> None:
        raise StoreError("the import failed")

    monkeypatch.setattr(copies, "_OFFLINE_ROWS", 1)
    monkeypatch.setattr(import_files, "_import", fail)
    with pytest.raises(StoreError, match="the import failed"):
        push(embedded, settings, empty, force=True)
    with Neo4jStore.connect(settings.neo4j()) as store:
        assert len(store.run("case_by_id", case_id="precious")) == 1


def test_push_over_bolt_then_pull_gives_equal_graphs(
    settings: Settings, empty: Neo4jAccess, embedded: ArcadeStore, tmp_path: Path
) -> None:
    elsewhere = Settings.load(environ={"KGDX_HOME": str(tmp_path / "another home")})
    assert local_server.status(elsewhere) is None
    report = push(embedded, elsewhere, empty)
    assert report.method == "bolt"
    assert push(embedded, elsewhere, empty).method == "unchanged"
    said: list[str] = []
    with Neo4jStore.connect(empty) as store:
        pulled = pull(store, tmp_path / "pulled", progress=said.append)
        assert pull(store, tmp_path / "pulled").method == "unchanged"
    assert (pulled.counts, pulled.fingerprint) == (report.counts, report.fingerprint)
    assert "Comparing both graphs" in said
    with GraphFolder(tmp_path / "pulled").reading() as build, ArcadeStore.open(build.store) as held:
        assert held.counts() == embedded.counts()
        assert held.run("build") == embedded.run("build")
        assert Snapshot.open(build.snapshot, held.run("build")[0]["fingerprint"]).rows("disease") > 0


def test_push_into_another_graph_needs_force(
    settings: Settings, empty: Neo4jAccess, embedded: ArcadeStore, tmp_path: Path
) -> None:
    elsewhere = Settings.load(environ={"KGDX_HOME": str(tmp_path / "another home")})
    with Neo4jStore.create(empty) as store:
        store.load([GENE])
    with pytest.raises(StoreError, match="holds something else: replace it with `kgdx push --force`"):
        push(embedded, elsewhere, empty)
    assert push(embedded, elsewhere, empty, force=True).counts == push(embedded, elsewhere, empty).counts


def test_pull_into_another_graph_needs_force(empty: Neo4jAccess, embedded: ArcadeStore, tmp_path: Path) -> None:
    with Neo4jStore.create(empty) as store:
        store.load([GENE])
        store.write("set_build", fingerprint=store.fingerprint(), kgdx_version="0", created="2026")
        pull(store, tmp_path / "graph")
        store.write("put_case", case_id="new", source="user")
        with pytest.raises(StoreError, match="holds another graph: replace it with `kgdx pull --force`"):
            pull(store, tmp_path / "graph")
        assert pull(store, tmp_path / "graph", force=True).counts == {"Gene": 1, "PatientCase": 1}


def test_down_ends_the_process_and_keeps_the_data(settings: Settings, empty: Neo4jAccess) -> None:
    Neo4jStore.create(empty).close()
    assert local_server.down(settings) is True
    assert local_server.status(settings) is None and local_server.down(settings) is False
    with pytest.raises(StoreError, match="does not answer"):
        Neo4jStore.connect(empty)
    restart(settings)
    with Neo4jStore.connect(settings.neo4j()) as store:
        assert store.counts() == {"Build": 1}
