"""What the embedded store promises beyond the common contract: locks, crashes, half-loaded folders, silence."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from graph.graphs import Graph
from kgdx.errors import StoreError, StoreLockedError, TemplateError
from kgdx.graph.arcade.arcade_engine import _translated
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.protocol import NodeTable, Store
from kgdx.graph.tables import fingerprint
from kgdx.schema import load_schema

LOAD_MARKER = "kgdx-loading"


@pytest.fixture
def folder(tmp_path: Path, small_graph: Graph) -> Path:
    path = tmp_path / "a folder's name"
    with ArcadeStore.create(path) as store:
        store.load(small_graph.tables())
    return path


def process(code: str, *args: object, cwd: Path | None = None) -> subprocess.Popen[str]:
    """Another Python process that runs ``code``; its output is text."""
    command = [
        sys.executable,
        "-c",
        "import sys\nfrom kgdx.graph.arcade.embedded import ArcadeStore\n" + code,
        *map(str, args),
    ]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd
    )


@pytest.fixture
def holding(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the graph open for writing."""
    other = process(
        "s = ArcadeStore.open(sys.argv[1], read_only=False)\nprint('open', flush=True)\ninput()\ns.close()", folder
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "open\n"
    yield other
    other.communicate("\n", timeout=60)


def test_it_is_a_store(folder: Path) -> None:
    with ArcadeStore.open(folder) as store:
        assert isinstance(store, Store)
        assert store.url == str(folder)


def test_content_survives_closing_and_opening(folder: Path, small_graph: Graph) -> None:
    with ArcadeStore.open(folder) as store:
        assert store.fingerprint() == fingerprint(small_graph.tables())
        assert dict(store.counts()) == small_graph.counts() | {"Build": 1}


def test_a_second_writer_is_refused_in_one_line(folder: Path, holding: subprocess.Popen[str]) -> None:
    for read_only in (False, True):
        with pytest.raises(StoreLockedError) as caught:
            ArcadeStore.open(folder, read_only=read_only)
        assert "in use" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_second_writer_of_the_same_process_is_refused(folder: Path) -> None:
    with ArcadeStore.open(folder, read_only=False), pytest.raises(StoreLockedError):
        ArcadeStore.open(folder, read_only=False)


def test_several_processes_read_at_once(folder: Path, small_graph: Graph) -> None:
    code = "s = ArcadeStore.open(sys.argv[1])\nprint('open', flush=True)\ninput()\nprint(s.counts()['Disease'])"
    others = [process(code, folder) for _ in range(2)]
    assert [other.stdout.readline() for other in others if other.stdout] == ["open\n"] * 2
    with ArcadeStore.open(folder) as store:
        expected = len(small_graph.nodes["Disease"])
        assert store.counts()["Disease"] == expected
        assert [other.communicate("\n", timeout=60)[0] for other in others] == [f"{expected}\n"] * 2


def test_several_readers_of_one_process_close_apart(folder: Path) -> None:
    one, two = ArcadeStore.open(folder), ArcadeStore.open(folder)
    one.close()
    one.close()
    assert two.run("build")
    with pytest.raises(StoreError, match="closed"):
        one.run("build")
    two.close()
    ArcadeStore.open(folder, read_only=False).close()


def test_threads_read_one_store(folder: Path, small_graph: Graph) -> None:
    ids = [row["id"] for row in small_graph.nodes["Disease"]][:100]
    wrong: list[str] = []
    with ArcadeStore.open(folder) as store:

        def read() -> None:
            for id_ in ids:
                if [row["id"] for row in store.run("disease_by_id", disease=id_)] != [id_]:
                    wrong.append(id_)

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_a_reader_cannot_write(folder: Path) -> None:
    with ArcadeStore.open(folder) as store:
        for write in (
            lambda: store.write("put_case", case_id="c", source="user"),
            lambda: store.load([]),
        ):
            with pytest.raises(StoreError, match="reading only"):
                write()
        with pytest.raises(TemplateError, match="write template"):
            store.run("put_case", case_id="c", source="user")


WRITER = """
s = ArcadeStore.open(sys.argv[1], read_only=False)
for i in range(100_000):
    with s.transaction() as t:
        t.run("put_case", case_id=f"case:k{i}", source="killed")
        rows = [{"id": f"HP:{j:07d}"} for j in range(10)]
        t.run("put_observations", case_id=f"case:k{i}", source="killed", rows=rows)
    print(i, flush=True)
"""


@pytest.mark.parametrize("written", [1, 7, 25, 60])
def test_a_killed_writer_leaves_every_finished_transaction_and_no_half_one(folder: Path, written: int) -> None:
    writer = process(WRITER, folder)
    assert writer.stdout is not None
    for _ in range(written):
        last = int(writer.stdout.readline())
    writer.send_signal(signal.SIGKILL)
    rest = writer.stdout.read().split()
    writer.communicate(timeout=60)
    acknowledged = int(rest[-1]) if rest else last
    with ArcadeStore.open(folder) as store:
        cases = {c["id"]: c["observed"] for c in store.run("user_cases", source="killed", limit=1_000_000)}
        assert acknowledged + 1 <= len(cases) <= acknowledged + 2
        assert set(cases.values()) == {10}
        assert set(cases) == {f"case:k{i}" for i in range(len(cases))}
        assert all(len(store.run("case_by_id", case_id=id_)) == 1 for id_ in cases)
        exported = store.export_relations("OBSERVED", "PatientCase", "Phenotype", ["source"]).to_pylist()
        assert sum(row["source"] == "killed" for row in exported) == 10 * len(cases)
    with ArcadeStore.open(folder, read_only=False) as store, store.transaction() as running:
        for case in cases:
            running.run("delete_case", case_id=case)


LOADER = """
import pyarrow as pa
from kgdx.graph.protocol import NodeTable
def tables():
    for i in range(1000):
        ids = [f"g{i}.{j}" for j in range(1000)]
        yield NodeTable("Gene", pa.table({"id": ids, "name": ids, "source": ["s"] * 1000}))
        print(i, flush=True)
ArcadeStore.create(sys.argv[1]).load(tables())
"""


def test_a_killed_load_never_opens_as_whole(tmp_path: Path) -> None:
    loader = process(LOADER, tmp_path / "new")
    assert loader.stdout is not None
    for _ in range(3):
        assert loader.stdout.readline()
    loader.send_signal(signal.SIGKILL)
    loader.communicate(timeout=60)
    for read_only in (True, False):
        with pytest.raises(StoreError, match="half-loaded: build it again"):
            ArcadeStore.open(tmp_path / "new", read_only=read_only)


def test_a_failed_load_never_opens_as_whole(tmp_path: Path) -> None:
    genes = pa.table({"id": ["g1"], "name": ["a"], "source": ["s"]})
    store = ArcadeStore.create(tmp_path / "new")
    with pytest.raises(StoreError, match="twice"):
        store.load([NodeTable("Gene", genes), NodeTable("Gene", genes)])
    store.close()
    with pytest.raises(StoreError, match="half-loaded"):
        ArcadeStore.open(tmp_path / "new")


def test_a_later_load_adds_to_what_is_there(folder: Path, small_graph: Graph) -> None:
    more = pa.table({"id": ["NCBIGene:new"], "name": ["NEW"], "source": ["later"]})
    with ArcadeStore.open(folder, read_only=False) as store:
        assert store.load([NodeTable("Gene", more)]) == {"Gene": 1}
    with ArcadeStore.open(folder) as store:
        assert store.counts()["Gene"] == len(small_graph.nodes["Gene"]) + 1
    assert not (folder / LOAD_MARKER).exists()


@pytest.mark.parametrize("what", ["missing", "empty", "a file"])
def test_what_is_no_graph_says_how_to_get_one(tmp_path: Path, what: str) -> None:
    path = tmp_path / "graph"
    if what == "empty":
        path.mkdir()
    elif what == "a file":
        path.write_text("not a graph")
    with pytest.raises(StoreError, match=r"no graph at .*kgdx build"):
        ArcadeStore.open(path)
    assert list(tmp_path.glob("graph/*")) == []


def test_a_folder_in_use_is_not_overwritten(folder: Path) -> None:
    with pytest.raises(StoreError, match="not empty"):
        ArcadeStore.create(folder)


@pytest.mark.parametrize("content", ["", "{", "[1, 2]", "\u0000" * 500])
def test_a_damaged_store_is_one_clear_line(folder: Path, content: str) -> None:
    (folder / "schema.json").write_text(content, encoding="utf-8")
    (folder / "schema.prev.json").unlink(missing_ok=True)
    with pytest.raises(StoreError) as caught:
        ArcadeStore.open(folder)
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)


def test_another_schema_version_is_refused(folder: Path) -> None:
    with ArcadeStore.open(folder, read_only=False) as store:
        store.write("set_build", schema_checksum="another")
    ArcadeStore.open(folder).close()  # the file changed, its version did not
    with ArcadeStore.open(folder, read_only=False) as store:
        store.write("set_build", schema_version="0.0.1")
    with pytest.raises(StoreError, match=r"schema version 0\.0\.1, this kgdx has .*kgdx build"):
        ArcadeStore.open(folder)


def test_a_graph_that_lacks_a_relation_of_the_ontology_is_given_it_when_it_is_first_written(tmp_path: Path) -> None:
    whole = load_schema()
    major, minor, _ = whole.version.split(".")
    relations = {name: each for name, each in whole.relations.items() if name != "PREDICTED"}
    before = replace(whole, version=f"{major}.{int(minor) - 1}.0", checksum="before", relations=relations)
    with ArcadeStore.create(tmp_path / "older", before) as store:
        store.load([NodeTable("Disease", pa.table({"id": ["OMIM:1", "OMIM:2"], "name": ["a", "b"]}))])
    with ArcadeStore.open(tmp_path / "older") as store:
        assert store.run("predictions", limit=5) == []
    told = {"source": "user", "relation": "HAS_COMORBIDITY", "model": "m", "embeddings": "e"}
    for _ in range(2):  # it is given it once
        with ArcadeStore.open(tmp_path / "older", read_only=False) as store:
            rows = [{"id": "OMIM:2", "score": 1.0, "probability": 0.5}]
            assert store.write("put_predictions", disease="OMIM:1", rows=rows, **told) == [{"id": "OMIM:2"}]
    with ArcadeStore.open(tmp_path / "older") as store:
        assert [row["other"] for row in store.run("predictions", limit=5)] == ["OMIM:2"]


def test_nothing_is_printed_and_nothing_is_left_behind(folder: Path, tmp_path: Path) -> None:
    empty, home = tmp_path / "cwd", tmp_path / "home"
    empty.mkdir()
    home.mkdir()
    code = (
        "import os\nos.environ['HOME'] = sys.argv[2]\n"
        "s = ArcadeStore.open(sys.argv[1], read_only=False)\ns.write('put_case', case_id='c', source='user')\n"
        "s._database.query('RETURN 1')\nos.kill(os.getpid(), 9)"
    )
    crashed = process(code, folder, home, cwd=empty)
    assert crashed.communicate(timeout=60) == ("", "")
    repaired = process("s = ArcadeStore.open(sys.argv[1])\nprint(len(s.run('build')))\ns.close()", folder, cwd=empty)
    assert repaired.communicate(timeout=60) == ("1\n", "")
    assert [*empty.iterdir(), *home.iterdir()] == []


FULL = """
import resource
import pyarrow as pa
from kgdx.errors import StoreError
from kgdx.graph.protocol import NodeTable
store = ArcadeStore.create(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
ids = [f"g{i}" for i in range(300_000)]
try:
    store.load([NodeTable("Gene", pa.table({"id": ids, "name": ids, "source": ["s"] * len(ids)}))])
    store.close()
except StoreError as error:
    print(error)
"""


@pytest.mark.heavy
def test_a_write_that_the_disk_refuses_is_said_and_never_opens_as_whole(tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="needs limits on file size (POSIX)")
    out, _ = process(FULL, tmp_path / "new").communicate(timeout=120)
    assert out.startswith(f"{tmp_path / 'new'} lost rows while loading: ")
    assert out.endswith("Gene are there: see that the disk has space and is sound, then build again\n")
    with pytest.raises(StoreError, match="half-loaded"):
        ArcadeStore.open(tmp_path / "new")


@pytest.mark.parametrize(
    ("chain", "says"),
    [
        (["Transaction error on commit", "No space left on device"], "the disk of .* is full: free some space"),
        (["Transaction error on commit", "File too large"], "the disk of .* is full: free some space"),
        (["Cannot open", "Invalid position 7 in page"], "the store .* is damaged .Cannot open.*: build it again"),
        (["Error on creating new database instance"], "the store .* is damaged .*`kgdx verify` lists"),
        (["Error on creating new database instance", "Permission denied"], "see that the disk has space"),
        (["Transaction error on commit"], "failed .Transaction error on commit.: see that the disk has space"),
    ],
)
def test_what_the_engine_fails_with_says_what_to_do(tmp_path: Path, chain: list[str], says: str) -> None:
    error = RuntimeError(chain[0])
    error.native = {"chain": [("Exception", text) for text in chain]}  # type: ignore[attr-defined]
    assert re.search(says, str(told := _translated(error, tmp_path))) and told.exit_code == 6
