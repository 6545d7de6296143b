"""A graph as files for ``neo4j-admin database import``: what a real one makes of them, and what is never replaced."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kgdx
from conftest import require_program
from graph.graphs import AWKWARD, Graph
from kgdx import api
from kgdx.config import Settings
from kgdx.errors import StoreError, UsageError
from kgdx.files import known
from kgdx.graph import copies
from kgdx.graph.neo4j import import_files, local_server
from kgdx.graph.neo4j.import_files import ABOUT, DIGESTS, SCRIPT, STATEMENTS, delimiter
from kgdx.graph.neo4j.local_runtime import ADMIN_CLASS, find_runtime
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.graph.protocol import NodeTable, RelationTable
from kgdx.graph.tables import fingerprint

BUILD = {"id": "build:current", "source": "kgdx", "fingerprint": "f"}
TEXT = "A girl with seizures and low muscle tone, no fever."


def quiet(_: str) -> None:
    """Nobody is told."""


def write(target: Path, *synonyms: str, force: bool = False) -> int:
    rows = pa.table({"id": ["OMIM:1"], "synonyms": [list(synonyms)], "source": ["test"]})
    return import_files.export([NodeTable("Disease", rows)], BUILD, target, force=force, progress=quiet)


def test_a_folder_has_all_that_an_import_needs_and_is_private(tmp_path: Path) -> None:
    assert write(tmp_path / "out", "a") > 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == sorted(["nodes-Build.csv", "nodes-Disease.csv", SCRIPT, STATEMENTS, ABOUT, DIGESTS])
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()} == {0o600}
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
    assert "--nodes=Disease=nodes-Disease.csv" in (tmp_path / "out" / ABOUT).read_text("utf-8")
    assert "$" not in (tmp_path / "out" / STATEMENTS).read_text("utf-8"), "no statement needs a parameter"
    for line in (tmp_path / "out" / DIGESTS).read_text("utf-8").splitlines():
        digest, name = line.split()
        assert known.known(tmp_path / "out", [name])[name].sha256 == digest


def test_what_kgdx_has_not_written_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "thesis.txt").write_text("precious")
    with pytest.raises(UsageError, match="is no export of kgdx"):
        write(tmp_path / "theirs", "a", force=True)
    write(tmp_path / "out", "a")
    with pytest.raises(UsageError, match="holds an export already: replace it with --force"):
        write(tmp_path / "out", "b")
    assert "a" in (tmp_path / "out" / "nodes-Disease.csv").read_text("utf-8")
    write(tmp_path / "out", "bbb", force=True)
    assert "bbb" in (tmp_path / "out" / "nodes-Disease.csv").read_text("utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "theirs"]


def test_an_interrupted_export_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(import_files, "_completed", full)
    with pytest.raises(StoreError, match=r"cannot be written .*No space left on device"):
        write(tmp_path / "out", "a")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_export_left_is_removed_a_day_later(tmp_path: Path) -> None:
    for name in (".out.old1", ".out.new1"):
        (tmp_path / name).mkdir()
    os.utime(tmp_path / ".out.old1", (0, 0))
    write(tmp_path / "out", "a")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.new1", "out"]


def test_a_list_that_files_cannot_hold_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"Disease.synonyms has an empty text as the only element of a list"):
        write(tmp_path / "out", "")
    assert not (tmp_path / "out").exists()


def test_the_delimiter_stands_in_no_element() -> None:
    rows = pa.table({"id": ["OMIM:1"], "synonyms": [["a\x1fb", "\x1e", "", ";"]]})
    assert delimiter([NodeTable("Disease", rows)]) == "\x1d"


def test_a_server_is_not_exported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a server: export the graph of a folder"):
        api.export(tmp_path / "out", store="bolt://127.0.0.1:7687")


def admin(settings: Settings, folder: Path) -> Path:
    """A program that is called like ``neo4j-admin`` is."""
    runtime, home = find_runtime(settings, quiet), settings.server_folder
    arguments = " ".join(f"'{each}'" for each in runtime.arguments("600m", ADMIN_CLASS))
    made = folder / "neo4j-admin"
    made.write_text(f"#!/bin/sh\nNEO4J_HOME='{home}' NEO4J_CONF='{home}/conf' exec {runtime.java} {arguments} \"$@\"\n")
    made.chmod(0o700)
    return made


def imported(settings: Settings, folder: Path, scratch: Path) -> Neo4jStore:
    """Do what the export's page says, with the local server as if it were somebody else's."""
    running = local_server.status(settings)
    assert running is not None
    local_server.down(settings)
    environ = {**os.environ, "NEO4J_ADMIN": str(admin(settings, scratch))}
    command = ["sh", str(folder / SCRIPT), "neo4j", "--overwrite-destination"]
    done = subprocess.run(command, env=environ, cwd=scratch, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    ports = [int(address.rpartition(":")[2]) for address in (running.bolt, running.http)]
    local_server.up(settings, bolt_port=ports[0], http_port=ports[1], heap="600m")
    store = Neo4jStore.unchecked(settings.neo4j())
    for statement in (folder / STATEMENTS).read_text("utf-8").split(";\n"):
        if statement.strip():
            store._driver.execute_query(statement)
    return store


REAL = [pytest.mark.neo4j, pytest.mark.java, pytest.mark.maven, pytest.mark.heavy]


@pytest.mark.parametrize("_", [pytest.param(0, marks=REAL)])
def test_a_real_import_holds_every_value(settings: Settings, small_graph: Graph, tmp_path: Path, _: int) -> None:
    require_program("sh", "a shell")
    odd = ["", "a;b|c", "\x1fseparated", *AWKWARD, "\r\n", " blanks ", '"', "\\", "ends\\", "𝒳\u2028\u0085"]
    rows = pa.table(
        {
            "id": [f"OMIM:9{at:05}" for at in range(len(odd))],
            "name": odd,
            "synonyms": [[each, "x", *odd] for each in odd],
            "definition": pa.array([None, *odd[1:]], pa.string()),
            "source": ["test"] * len(odd),
        }
    )
    tables = [NodeTable("Disease", rows), *(t for t in small_graph.tables() if getattr(t, "label", "") != "Disease")]
    tables = [table for table in tables if isinstance(table, NodeTable) and table.label != "Build"]
    ends = {"start": [f"OMIM:9{at:05}" for at in range(1, 4)], "end": ["OMIM:900000"] * 3}
    same = pa.table({**ends, "source": ["test"] * 3, "evidence": [odd, [], ["only"]], "score": [0.1, None, 1e-300]})
    tables.append(RelationTable("SAME_AS", "Disease", "Disease", same))
    import_files.export(tables, BUILD, tmp_path / "out", force=False, progress=quiet)
    with imported(settings, tmp_path / "out", tmp_path) as store:
        there = {name: n for name, n in store.counts().items() if name != "Build"}
        assert there == copies.counts(tables)
        assert copies.difference(tables, store) is None
        assert store.fingerprint() == fingerprint(tables)


@pytest.mark.parametrize("_", [pytest.param(0, marks=REAL)])
def test_an_imported_graph_is_opened_as_our_own(
    settings: Settings, tiny_graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _: int
) -> None:
    report = api.export(tmp_path / "out", store=tiny_graph)
    imported(settings, tmp_path / "out", tmp_path).close()
    access = settings.neo4j()
    monkeypatch.setenv("KGDX_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KGDX_NEO4J_PASSWORD", access.password or "")
    said: list[str] = []
    with kgdx.open(tiny_graph) as embedded, kgdx.open(access.uri, progress=said.append) as remote:
        here, there = embedded.diagnose(TEXT), remote.diagnose(TEXT)
        assert there.to_dict(trace=False) == here.to_dict(trace=False)
        assert remote.fingerprint == report.fingerprint == embedded.fingerprint
        assert remote.store.counts() == embedded.store.counts()
    assert not [line for line in said if "was changed" in line]
    assert api.push(store=tiny_graph, neo4j=access.uri).method == "unchanged"
    monkeypatch.setenv("KGDX_HOME", str(tmp_path / "other"))
    with kgdx.open(access.uri, progress=said.append) as remote:
        assert remote.fingerprint == report.fingerprint
    assert "fetching" in said[-1]
