"""A cluster over the real protocol: who reads where, who writes where, who sees it, and how it is encrypted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from graph.graphs import Graph, make_graph
from graph.neo4j.stand_in import BEGIN, COMMIT, Authority, Cluster
from kgdx.config import Neo4jAccess, Settings
from kgdx.errors import ConfigError, StoreError
from kgdx.graph.neo4j.bolt import connect
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.graph.protocol import GraphTable, NodeTable
from kgdx.graph.tables import fingerprint

pytestmark = pytest.mark.neo4j

GENES = NodeTable("Gene", pa.table({"id": ["NCBIGene:1"], "name": ["A1BG"], "source": ["test"]}))

Start = Callable[..., Cluster]


@pytest.fixture
def access(neo4j_uri: str) -> Neo4jAccess:
    found = Settings.load().neo4j(neo4j_uri)
    with Neo4jStore.unchecked(found) as store:
        store.clear()
    return found


@pytest.fixture
def start(access: Neo4jAccess) -> Iterator[Start]:
    """Starts clusters in front of the real server."""
    made: list[Cluster] = []

    def begin(*roles: str, **settings: object) -> Cluster:
        made.append(Cluster(access.uri, roles or ("WRITE", "READ"), **settings))  # type: ignore[arg-type]
        return made[-1]

    yield begin
    for each in made:
        each.close()


@pytest.fixture(scope="module")
def few() -> Graph:
    return make_graph(seed=11, scale=0.01)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def test_reads_go_to_the_replica_and_writes_to_the_leader(access: Neo4jAccess, start: Start) -> None:
    cluster = start("WRITE", "READ")
    leader, replica = cluster.members
    with Neo4jStore.create(replace(access, uri=cluster.uri("neo4j"))) as store:
        store.load([GENES])
        written, before = leader.writes, replica.reads
        assert store.run("count_nodes") and store.counts()["Gene"] == 1
        assert replica.reads == before + 2 and leader.writes == written
        store.transact(lambda running: running.run("put_case", case_id="saved", source="user"))
        with store.transaction() as running:
            running.run("put_case", case_id="another", source="user")
        assert leader.writes == written + 2
    assert (replica.writes, leader.reads) == (0, 0)


def test_who_saved_reads_what_was_saved(access: Neo4jAccess, start: Start) -> None:
    cluster = start("WRITE", "READ")
    replica = cluster.members[1]
    there = replace(access, uri=cluster.uri("neo4j"))
    with Neo4jStore.create(there) as store:
        store.transact(lambda running: running.run("put_case", case_id="saved", source="user"))
        marks = store.bookmarks
        assert len(marks) == 1 and store.run("case_by_id", case_id="saved")
        assert marks[0].encode() in replica.asked[-1]
    with Neo4jStore.unchecked(there) as stranger:
        assert stranger.run("case_by_id", case_id="saved") and marks[0].encode() not in replica.asked[-1]
    environ = {"KGDX_NEO4J_PASSWORD": access.password or "", "KGDX_NEO4J_BOOKMARKS": marks[0]}
    told = Settings.load(there.uri, environ=environ).neo4j()
    with Neo4jStore.unchecked(told) as store:
        assert store.run("case_by_id", case_id="saved") and marks[0].encode() in replica.asked[-1]


def test_a_bookmark_that_is_none_is_told(access: Neo4jAccess) -> None:
    Neo4jStore.create(access).close()
    with pytest.raises(StoreError, match="knows no bookmark as it is set: check KGDX_NEO4J_BOOKMARKS"):
        Neo4jStore.connect(replace(access, bookmarks=("nonsense",)))


def test_a_write_follows_the_leader_where_another_one_was_chosen(access: Neo4jAccess, start: Start) -> None:
    cluster = start("WRITE", "READ")
    with Neo4jStore.create(replace(access, uri=cluster.uri("neo4j"))) as store:
        first, second = cluster.members
        first.role, second.role = "READ", "WRITE"
        store.transact(lambda running: running.run("put_case", case_id="saved", source="user"))
        store.load([GENES])
        assert second.writes and store.counts()["Gene"] == store.counts()["PatientCase"] == 1


def test_reads_go_on_without_the_replica(access: Neo4jAccess, start: Start) -> None:
    cluster = start("WRITE", "READ", "READ")
    with Neo4jStore.create(replace(access, uri=cluster.uri("neo4j"))) as store:
        for _ in range(3):
            assert store.run("count_nodes")
        cluster.members[1].close()
        for _ in range(3):
            assert store.run("count_nodes")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot succeed is tried again for a second, and not for ten."""
    monkeypatch.setattr("kgdx.graph.neo4j.bolt._RETRY_SECONDS", 1.0)


@pytest.mark.usefixtures("impatient")
def test_a_cluster_without_a_leader_is_told(access: Neo4jAccess, start: Start) -> None:
    there = replace(access, uri=start("READ", "READ").uri("neo4j"))
    with Neo4jStore.unchecked(there) as store:
        assert store.is_empty()
        with pytest.raises(StoreError, match="names no leader that can be reached: nothing of this write was kept"):
            store.write("put_case", case_id="lost", source="user")


def test_a_cluster_that_advertises_what_cannot_be_reached_is_told(access: Neo4jAccess, start: Start) -> None:
    cluster = start("WRITE", "READ")
    cluster.advertised = "core-1.invalid"
    said = refused(replace(access, uri=cluster.uri("neo4j")))
    assert "names no member to read from that can be reached: check the addresses that the cluster advertises" in said


@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s"])
def test_a_certificate_of_ones_own_authority_is_trusted_where_it_is_set(
    access: Neo4jAccess, start: Start, authority: Authority, scheme: str
) -> None:
    cluster = start("WRITE", tls=authority.tls())
    uri = cluster.uri(scheme)
    environ = {"KGDX_NEO4J_PASSWORD": access.password or "", "KGDX_NEO4J_CA": str(authority.certificate)}
    with Neo4jStore.create(Settings.load(uri, environ=environ).neo4j()) as store:
        store.load([GENES])
        assert store.url == uri


@pytest.mark.parametrize("scheme", ["bolt+ssc", "neo4j+ssc"])
def test_any_certificate_is_trusted_where_that_is_asked_for(
    access: Neo4jAccess, start: Start, authority: Authority, scheme: str
) -> None:
    cluster = start("WRITE", tls=authority.tls("DNS:elsewhere"))
    with Neo4jStore.unchecked(replace(access, uri=cluster.uri(scheme))) as store:
        store.clear()


def refused(access: Neo4jAccess) -> str:
    with pytest.raises(StoreError) as caught:
        connect(access)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_why_a_certificate_is_not_trusted_is_told_with_what_to_do(
    access: Neo4jAccess, start: Start, authority: Authority
) -> None:
    unknown = replace(access, uri=start("WRITE", tls=authority.tls()).uri("bolt+s"))
    said = refused(unknown)
    assert "is not trusted: " in said and "KGDX_NEO4J_CA" in said and "+ssc" in said
    known = replace(unknown, ca=authority.certificate)
    expired = start("WRITE", tls=authority.tls(days=-1)).uri("neo4j+s")
    assert "has expired: renew it" in refused(replace(known, uri=expired))
    elsewhere = start("WRITE", tls=authority.tls("DNS:db.example.org")).uri("bolt+s")
    assert "is for another host" in refused(replace(known, uri=elsewhere))


def test_an_encrypted_server_is_told_to_those_who_do_not_encrypt(
    access: Neo4jAccess, start: Start, authority: Authority
) -> None:
    said = refused(replace(access, uri=start("WRITE", tls=authority.tls()).uri("bolt")))
    assert "it may want TLS: write bolt+s://" in said


def test_a_file_without_certificates_is_refused(access: Neo4jAccess, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing", "utf-8")
    there = replace(access, uri="bolt+s://127.0.0.1:7687")
    with pytest.raises(
        ConfigError, match="KGDX_NEO4J_CA names .*, which is no file of certificates: give a file in PEM"
    ):
        connect(replace(there, ca=tmp_path / "empty.pem"))
    with pytest.raises(ConfigError, match="KGDX_NEO4J_CA names .*No such file"):
        connect(replace(there, ca=tmp_path / "absent.pem"))


@pytest.mark.heavy
@pytest.mark.parametrize("sessions", [1, 4])
def test_a_load_by_several_sessions_is_the_same_graph(
    access: Neo4jAccess, start: Start, few: Graph, monkeypatch: pytest.MonkeyPatch, sessions: int
) -> None:
    monkeypatch.setattr("kgdx.graph.neo4j.bulk_tables._LOAD_ROWS", 100)
    cluster = start("WRITE", "READ")
    with Neo4jStore.create(replace(access, uri=cluster.uri("neo4j")), sessions=sessions) as store:
        loaded = store.load(few.tables())
        assert {name: n for name, n in store.counts().items() if name != "Build"} == dict(loaded)
        assert store.fingerprint() == fingerprint(few.tables())


def test_a_connection_that_is_cut_in_a_load_costs_nothing(
    access: Neo4jAccess, start: Start, few: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgdx.graph.neo4j.bulk_tables._LOAD_ROWS", 20)
    cluster = start("WRITE", "READ")
    with Neo4jStore.create(replace(access, uri=cluster.uri("neo4j")), sessions=3) as store:
        cluster.members[0].cut_at = BEGIN, 30
        loaded = store.load(few.tables())
        assert cluster.members[0].cut_at is None
        assert {name: n for name, n in store.counts().items() if name != "Build"} == dict(loaded)


def test_a_load_that_does_not_know_whether_a_batch_was_kept_stops(
    access: Neo4jAccess, start: Start, few: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgdx.graph.neo4j.bulk_tables._LOAD_ROWS", 20)
    cluster = start("WRITE", "READ")
    with Neo4jStore.create(replace(access, uri=cluster.uri("neo4j")), sessions=3) as store:
        cluster.members[0].cut_at = COMMIT, 30
        with pytest.raises(StoreError, match="lost .* confirmed a write: the graph there is incomplete now"):
            store.load(few.tables())
    with pytest.raises(StoreError, match="is incomplete: .*: replace it with `kgdx push --force`"):
        Neo4jStore.connect(access)


@pytest.mark.usefixtures("impatient")
def test_a_server_that_goes_away_in_a_load_is_told(
    access: Neo4jAccess, start: Start, few: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgdx.graph.neo4j.bulk_tables._LOAD_ROWS", 20)
    cluster = start("WRITE")

    def tables() -> Iterator[GraphTable]:
        yield from list(few.tables())[:3]
        cluster.close()
        yield from list(few.tables())[3:]

    lost = "lost .*, it was rolled back: the graph there is incomplete now"
    with (
        Neo4jStore.create(replace(access, uri=cluster.uri("bolt")), sessions=3) as store,
        pytest.raises(StoreError, match=lost),
    ):
        store.load(tables())


@pytest.mark.usefixtures("impatient")
def test_a_server_that_goes_away_is_told_to_readers(access: Neo4jAccess, start: Start) -> None:
    Neo4jStore.create(access).close()
    cluster = start("WRITE")
    with Neo4jStore.connect(replace(access, uri=cluster.uri("bolt"))) as store:
        assert store.counts() == {"Build": 1}
        cluster.close()
        with pytest.raises(StoreError, match="does not answer: start it"):
            store.counts()
