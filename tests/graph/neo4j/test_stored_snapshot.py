"""The snapshot that is stored beside a graph: fetched by who has none, never believed when it is of another state."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import kgdx
from kgdx import api
from kgdx.actions import server_snapshot
from kgdx.config import Settings
from kgdx.errors import StoreError
from kgdx.graph.neo4j import stored_snapshot
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.graph.neo4j.stored_snapshot import Stored, find, keep

pytestmark = pytest.mark.neo4j

TEXT = "A girl with seizures and low muscle tone, no fever."
EDIT = "MATCH (d:Disease)-[r:HAS_PHENOTYPE]->() WITH d, collect(r) AS rs LIMIT 1 FOREACH (r IN rs | DELETE r)"

Machine = Callable[[str], None]


@pytest.fixture
def machine(neo4j_uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Takes one's seat at another machine: a state folder of its own, which knows the server's password."""
    password = Settings.load().neo4j(neo4j_uri).password or ""

    def sit(name: str) -> None:
        monkeypatch.setenv("KGDX_NEO4J_PASSWORD", password)
        monkeypatch.setenv("KGDX_HOME", str(tmp_path / name))

    sit("pusher")
    return sit


@pytest.fixture
def pushed(machine: Machine, neo4j_uri: str, tiny_graph: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(stored_snapshot, "_PART", 4096)
    api.push(store=tiny_graph, neo4j=neo4j_uri, force=True)
    machine("client")
    yield neo4j_uri
    with unchecked(neo4j_uri) as store:
        store.clear()


def unchecked(uri: str) -> Neo4jStore:
    return Neo4jStore.unchecked(Settings.load().neo4j(uri))


def cypher(uri: str, text: str, **parameters: Any) -> list[dict[str, Any]]:
    with unchecked(uri) as store:
        return [record.data() for record in store._driver.execute_query(text, parameters).records]


def opened(uri: str) -> tuple[str, list[str]]:
    said: list[str] = []
    with kgdx.open(uri, progress=said.append) as graph:
        return graph.fingerprint, said


def did(said: list[str]) -> str:
    words = {"fetching": "fetching", "compiling": "compiling", "is damaged": "damaged", "storing": "storing"}
    words["was changed since"] = "changed"
    return " ".join(word for line in said for sign, word in words.items() if sign in line)


def test_another_machine_fetches_what_the_push_stored(pushed: str, tiny_graph: Path) -> None:
    with kgdx.open(tiny_graph) as embedded:
        here = embedded.diagnose(TEXT)
    said: list[str] = []
    with kgdx.open(pushed, progress=said.append) as graph:
        there = graph.diagnose(TEXT)
        assert list((graph.snapshot.path / "derived").glob("rank-*")), "what a first diagnosis would compute"
    assert did(said) == "fetching"
    assert there.to_dict(trace=False) == here.to_dict(trace=False)
    assert did(opened(pushed)[1]) == ""


def test_a_reader_fetches_without_a_write(pushed: str) -> None:
    before = cypher(pushed, "MATCH (b:Build) RETURN b")
    with Neo4jStore.connect(Settings.load().neo4j(pushed)) as store:
        serial = store.serial()
        assert did(opened(pushed)[1]) == "fetching"
        assert store.serial() == serial
    assert cypher(pushed, "MATCH (b:Build) RETURN b") == before


def test_it_is_no_part_of_the_graph(pushed: str, tiny_graph: Path, tmp_path: Path) -> None:
    with kgdx.open(tiny_graph) as embedded, kgdx.open(pushed) as graph:
        here, there = embedded.status(), graph.status()
        assert {**there["nodes"], "Build": 1} == {**here["nodes"], "Build": 1}
        assert there["relations"] == here["relations"]
    report = api.pull(store=tmp_path / "pulled", neo4j=pushed)
    assert "KgdxSnapshot" not in report.counts
    assert api.push(store=tiny_graph, neo4j=pushed).method == "unchanged"


def test_saves_leave_it_good(pushed: str, machine: Machine) -> None:
    with kgdx.open(pushed) as graph:
        graph.save(graph.diagnose(TEXT))
    machine("third")
    assert did(opened(pushed)[1]) == "fetching"


def test_an_edited_graph_is_not_answered_from_it(pushed: str, machine: Machine) -> None:
    before, _ = opened(pushed)
    cypher(pushed, EDIT)
    machine("third")
    after, said = opened(pushed)
    assert after != before and did(said) == "compiling changed storing"
    machine("fourth")
    again, said = opened(pushed)
    assert again == after and did(said) == "fetching changed", "what the third compiled serves the fourth"


DAMAGES = (
    ("MATCH (p:KgdxSnapshotPart) WITH p LIMIT 1 DELETE p", "parts are there"),
    ("MATCH (p:KgdxSnapshotPart) WITH p LIMIT 1 SET p.bytes = $bytes", "cannot be read"),
    ("MATCH (p:KgdxSnapshotPart) WITH p LIMIT 1 SET p.at = p.at + 1000000000", "does not fit"),
    ("MATCH (p:KgdxSnapshotPart) WITH p LIMIT 1 SET p.file = '../../x'", "does not fit"),
    ("MATCH (p:KgdxSnapshotPart) WITH p LIMIT 1 SET p.size = 'x'", "does not fit"),
    ("MATCH (s:KgdxSnapshot) SET s.document = replace(s.document, '1', '2')", "its head was changed"),
    ("MATCH (s:KgdxSnapshot) SET s.document = 'x'", "is damaged"),
    (
        "MATCH (p:KgdxSnapshotPart), (q:KgdxSnapshotPart) WHERE p.file = q.file AND p.size = q.size AND p.at < q.at "
        "WITH p, q LIMIT 1 SET p.bytes = q.bytes",
        "is not what was written",
    ),
)


@pytest.mark.parametrize(("damage", "why"), DAMAGES)
def test_what_is_damaged_is_said_and_compiled_anew(pushed: str, machine: Machine, damage: str, why: str) -> None:
    right, _ = opened(pushed)
    state = cypher(pushed, "MATCH (b:Build) RETURN b.saves AS saves")[0]["saves"]
    cypher(pushed, damage, bytes=b"\x00" * 40)
    # The damage is a transaction, after which no stored snapshot would be believed: it is counted as if it were a save.
    cypher(pushed, "MATCH (b:Build) SET b.saves = $saves", saves=state + 2)
    machine("third")
    fingerprint, said = opened(pushed)
    assert fingerprint == right
    assert [line for line in said if why in line], said
    assert did(said).endswith("damaged compiling storing")
    machine("fourth")
    assert did(opened(pushed)[1]) == "fetching", "the one that is whole took its place"


def test_one_of_another_version_is_left_alone(pushed: str, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_snapshot, "layout", lambda: "another")
    assert did(opened(pushed)[1]) == "compiling storing"
    monkeypatch.undo()
    machine("third")
    assert did(opened(pushed)[1]) == "fetching", "both are there"
    assert cypher(pushed, "MATCH (s:KgdxSnapshot) RETURN count(s) AS n") == [{"n": 2}]


def test_without_numbers_of_transactions_it_is_not_believed(
    pushed: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgdx.graph.neo4j.neo4j_store.serial_of", lambda _marks: None)
    assert did(opened(pushed)[1]) == "compiling"


def test_one_that_was_not_finished_does_not_count(pushed: str, machine: Machine, tiny_graph: Path) -> None:
    """A push is killed while it stores the snapshot: the graph is whole, and the next one tidies up."""
    script = (
        "import sys, os, signal\n"
        "from kgdx import api\n"
        "from kgdx.graph.neo4j import stored_snapshot as s\n"
        "s._PART = 4096\n"
        "s._finished = lambda *a: os.kill(os.getpid(), signal.SIGKILL)\n"
        "api.push(store=sys.argv[1], neo4j=sys.argv[2], force=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tiny_graph), pushed], env=dict(os.environ), check=False)
    assert done.returncode == -signal.SIGKILL
    parts = "MATCH (p:KgdxSnapshotPart) RETURN count(DISTINCT p.snapshot) AS n, count(p) > 0 AS some"
    assert cypher(pushed, parts) == [{"n": 1, "some": True}]
    machine("third")
    assert did(opened(pushed)[1]) == "compiling storing"
    assert cypher(pushed, parts) == [{"n": 1, "some": True}]
    machine("fourth")
    assert did(opened(pushed)[1]) == "fetching"


def test_two_at_once_leave_one_that_is_whole(pushed: str, machine: Machine) -> None:
    with kgdx.open(pushed) as graph:
        snapshot = graph.snapshot

        def store(_: int) -> Stored | None:
            with Neo4jStore.connect(Settings.load().neo4j(pushed), read_only=False) as own:
                state = own.state()
                assert state.serial is not None
                return keep(own, snapshot, state.fingerprint, state.saves, state.serial)

        with ThreadPoolExecutor(4) as pool:
            kept = list(pool.map(store, range(4)))
    assert any(kept)
    with Neo4jStore.connect(Settings.load().neo4j(pushed)) as own:
        found = find(own)
    assert found is not None and found in kept
    machine("third")
    assert did(opened(pushed)[1]) == "fetching"
    assert cypher(pushed, "MATCH (p:KgdxSnapshotPart) RETURN count(p) AS n") == [{"n": found.parts}]


def test_who_may_not_write_compiles_for_oneself(pushed: str, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    cypher(pushed, "MATCH (s:KgdxSnapshot) DELETE s")

    def refused(*_: object) -> None:
        raise StoreError("the user may not write")

    monkeypatch.setattr(stored_snapshot, "prepare", refused)
    assert did(opened(pushed)[1]) == "compiling"


def test_a_replaced_graph_takes_its_snapshot_along(pushed: str, machine: Machine, tiny: Path, tmp_path: Path) -> None:
    before, _ = opened(pushed)
    files = {"hp": "hp.obo", "hpoa": "phenotype.hpoa"}
    kgdx.build({name: str(tiny / file) for name, file in files.items()}, store=tmp_path / "other")
    api.push(store=tmp_path / "other", neo4j=pushed, force=True)
    machine("third")
    after, said = opened(pushed)
    assert after != before and did(said) == "fetching"


def test_cases_of_users_are_not_stored_in_it(pushed: str, machine: Machine) -> None:
    with kgdx.open(pushed) as graph:
        graph.save(graph.diagnose(TEXT))
    cypher(pushed, "MATCH (s:KgdxSnapshot) DELETE s")
    machine("third")
    with kgdx.open(pushed) as graph:
        assert graph.snapshot.rows("patient_case") == 1
    machine("fourth")
    said: list[str] = []
    with kgdx.open(pushed, progress=said.append) as graph:
        assert did(said) == "" and graph.snapshot.rows("patient_case") == 0
        assert graph.snapshot.rows("observed") == 0
        assert len(graph.run("saved_cases", source="user")) == 1


def test_a_write_while_a_push_compares_is_noticed(
    machine: Machine, neo4j_uri: str, tiny_graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kgdx.graph.copies import Content

    verify = Content.verify

    def meddled(self: Content, target: Neo4jStore) -> None:
        verify(self, target)
        cypher(neo4j_uri, EDIT)

    monkeypatch.setattr(Content, "verify", meddled)
    with pytest.raises(StoreError, match="somebody else wrote into"):
        api.push(store=tiny_graph, neo4j=neo4j_uri, force=True)
    with pytest.raises(StoreError, match="is incomplete"):
        opened(neo4j_uri)


def test_a_write_before_the_snapshot_is_stored_is_noticed(
    machine: Machine, neo4j_uri: str, tiny_graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed = api.building._indexed  # what a push does between the copy and the snapshot
    monkeypatch.setattr(api.building, "_indexed", lambda *given: (cypher(neo4j_uri, EDIT), indexed(*given)))
    api.push(store=tiny_graph, neo4j=neo4j_uri, force=True)
    for name in ("pusher", "client"):
        machine(name)
        assert "changed" in did(opened(neo4j_uri)[1])


def test_what_a_client_keeps_is_not_fetched_again(pushed: str, machine: Machine) -> None:
    opened(pushed)
    (Path(os.environ["KGDX_HOME"]) / "snapshots" / server_snapshot.SEEN).unlink()
    assert did(opened(pushed)[1]) == ""
