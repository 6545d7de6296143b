"""Each command on the tiny graph: what it prints where, and its exit code."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import TINY
from kgdx.graph.snapshot import write_manifest
from kgdx.ingest.pipeline.build_files import record

Run = subprocess.CompletedProcess[str]
Invoke = Callable[..., Run]


@pytest.mark.parametrize(
    "command",
    [
        ("diagnose", "seizures and hypotonia, no fever"),
        ("explain", "seizures and hypotonia", "OMIM:100001"),
        ("ask", "What are the symptoms of Tiny epilepsy syndrome 1?"),
        ("consult", "seizures", "--max-questions", "0"),
    ],
)
def test_plain_prints_one_fact_a_line_for_pipes(invoke: Invoke, command: tuple[str, ...]) -> None:
    narrow, wide = (invoke(*command, "--plain", COLUMNS=columns).stdout for columns in ("40", "200"))
    assert narrow == wide and "\x1b" not in wide
    lines = wide.splitlines()
    assert lines and all(line.rstrip() == line and "  " not in line for line in lines)
    if command[0] == "diagnose":
        assert [line.split("\t")[:2] for line in lines if "\tHP:" in line] == [
            ["present", "Seizure"],
            ["present", "Hypotonia"],
            ["absent", "Fever"],
        ]


def test_nothing_is_coloured_when_piped_even_where_the_terminal_could(invoke: Invoke) -> None:
    assert "\x1b" not in invoke("diagnose", "seizures", TERM="xterm-256color").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["diagnose"], 2, "no patient is given"),
        (["diagnose", "missing.json"], 7, "no such file: missing.json"),
        (["diagnose", ""], 7, "the text is empty"),
        (["diagnose", "seizures", "--case-bank"], 6, "load some with `kgdx build hp hpoa genes phenopackets=FILE`"),
        (["extract", "missing.txt"], 7, "no such file"),
        (["run", "disease_by_id"], 6, "needs disease"),
        (["run", "disease_by_id", "disease"], 2, "is not NAME=VALUE"),
        (["run", "disease_by_id", "disease=x", "other=y"], 6, "no parameter 'other'"),
        (["run", "set_build", "fingerprint=x"], 6, "write template"),
        (["templates", "nonsense"], 6, "no template"),
        (["schema", "Nonsense"], 2, "the ontology has no 'Nonsense'"),
        (["replay", "run:0"], 2, "run:0"),
        (["build", "nonsense"], 5, "nonsense"),
        (["build", "hp=missing.obo", "--force"], 5, "missing.obo"),
        (["build", "hp="], 2, "hp=PATH"),
        (["remove", "nonsense"], 5, "no source 'nonsense'"),
        (["status", "--store", "/nowhere"], 6, "no graph at /nowhere: build one with `kgdx build`"),
        (["batch", "missing.jsonl"], 7, "missing.jsonl"),
        (["evaluate", "text", "missing.jsonl"], 7, "missing.jsonl"),
        (["evaluate", "rank", "missing.jsonl"], 7, "missing.jsonl"),
    ],
)
def test_bad_input_is_one_line_on_standard_error(invoke: Invoke, arguments: list[str], code: int, says: str) -> None:
    done = invoke(*arguments)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    line = done.stderr.splitlines()[-1]
    assert line.startswith("error: ")
    assert says in line
    assert "Traceback" not in done.stderr


def test_batch_gives_a_line_for_each_case_also_for_those_that_fail(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    cases = [{"id": "a", "observed": ["HP:0001250"]}, {"id": "b"}, {"id": "c", "text": "fine weather"}]
    path.write_text("".join(json.dumps(case) + "\n" for case in cases) + "{broken\n", "utf-8")
    done = invoke("batch", str(path), "--top", "1")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 7
    assert [line["id"] for line in lines[:3]] == ["a", "b", "c"]
    assert ["error" in line for line in lines] == [False, True, True, True]
    assert len(lines[0]["candidates"]) == 1
    assert "trace" not in lines[0]
    assert done.stderr.splitlines()[-1] == "4 cases, 3 failed"


def test_batch_writes_a_file_and_reads_a_folder(invoke: Invoke, tmp_path: Path) -> None:
    folder, out = tmp_path / "cases", tmp_path / "out.jsonl"
    folder.mkdir()
    shutil.copy(TINY / "phenopacket.json", folder / "one.json")
    (folder / "two.txt").write_text("hypotonia", "utf-8")
    done = invoke("batch", str(folder), "--output", str(out), "--explain", "1")
    assert done.returncode == 0
    assert done.stdout == ""
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [line["file"] for line in lines] == ["one.json", "two.txt"]
    assert all(len(line["evidence"]) == 1 for line in lines)


def test_batch_streams_standard_input(invoke: Invoke) -> None:
    done = invoke("batch", "-", stdin='{"id": "a", "observed": ["HP:0001250"]}\n')
    assert done.returncode == 0
    assert json.loads(done.stdout)["id"] == "a"
    assert done.stderr == "1 case\n"


@pytest.fixture
def copy(home: Path, tmp_path: Path) -> Path:
    """A graph of this test's own."""
    shutil.copytree(home / "graphs" / "default", tmp_path / "graph")
    return tmp_path / "graph"


def test_a_server_that_a_graph_is_built_on_needs_its_password(invoke: Invoke) -> None:
    done = invoke("build", "--store", "bolt://127.0.0.1:1")
    assert done.returncode == 2
    assert "KGDX_NEO4J_PASSWORD" in done.stderr


def test_a_server_that_is_down_is_said_in_one_line(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGDX_NEO4J_PASSWORD", "secret")
    done = invoke("status", "--store", "bolt://127.0.0.1:1")
    assert done.returncode == 6
    assert len(done.stderr.splitlines()) == 1
    assert "secret" not in done.stderr


def test_the_local_server_is_said_not_to_run(invoke: Invoke) -> None:
    done = invoke("neo4j", "status")
    assert done.returncode == 6
    assert "kgdx neo4j up" in done.stderr


@pytest.mark.parametrize("line", ["{broken", "[1]"])
def test_a_bad_line_of_an_evaluation_is_named(invoke: Invoke, tmp_path: Path, line: str) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text(f"\n{line}\n", "utf-8")
    done = invoke("evaluate", "text", str(path))
    assert done.returncode == 7
    assert "line 2" in done.stderr


def test_a_graph_whose_store_is_gone_is_refused_and_says_what_to_do(invoke: Invoke, copy: Path) -> None:
    shutil.rmtree(next((copy / "builds").iterdir()) / "store")
    for asked in (("diagnose", "seizures"), ("explain", "seizures", "OMIM:100001")):
        done = invoke(*asked, "--store", str(copy))
        assert done.returncode == 6 and done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
        assert "the store of the graph" in done.stderr and " is gone" in done.stderr
        assert "`kgdx build`" in done.stderr and "`kgdx verify`" in done.stderr


def test_a_stale_snapshot_is_refused(invoke: Invoke, copy: Path, tmp_path: Path) -> None:
    made = next((copy / "builds").iterdir())
    manifest = made / "snapshot" / "snapshot.json"
    asked = ("run", "phenotypes_of_diseases", "diseases=OMIM:100001", "--store", str(copy))
    write_manifest(manifest.parent, "another", json.loads(manifest.read_text())["tables"])
    changed = invoke(*asked)
    assert changed.returncode == 6 and "snapshot.json" in changed.stderr and "`kgdx build`" in changed.stderr
    record(made)
    (cases := tmp_path / "cases.jsonl").write_text('{"id": "a", "observed": ["HP:0001250"]}', encoding="utf-8")
    explained = ("batch", str(cases), "--explain", "1", "--store", str(copy))
    for each in (asked, explained, ("diagnose", "seizures", "--store", str(copy))):
        done = invoke(*each)
        assert done.returncode == 6 and done.stdout == ""
        assert "compiled from another state of the graph" in done.stderr


def test_several_processes_give_what_one_gives_in_the_same_order(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    lines = [json.dumps({"id": f"p{number}", "observed": ["HP:0001250"]}) for number in range(40)]
    path.write_text("\n".join([*lines, '{"id": "bad", "observed": []}']), encoding="utf-8")
    one, two = (invoke("batch", str(path), "--jobs", jobs) for jobs in ("1", "2"))
    assert one.returncode == two.returncode == 7
    assert one.stdout == two.stdout
    assert [json.loads(line)["id"] for line in two.stdout.splitlines()][:40] == [f"p{number}" for number in range(40)]


def test_a_build_that_takes_away_what_ranking_needs_has_to_be_forced(invoke: Invoke, copy: Path) -> None:
    before = (copy / "CURRENT").read_text()
    refused = invoke("build", "hp", "--store", str(copy))
    assert refused.returncode == 2 and (copy / "CURRENT").read_text() == before
    assert "hpoa: which findings rare diseases have" in refused.stderr
    assert "ranking needs hpoa" in refused.stderr and "`kgdx update`" in refused.stderr and "--force" in refused.stderr


@pytest.mark.parametrize("answer", [False, True])
def test_at_a_terminal_it_asks_first(
    answer: bool, invoke: Invoke, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (table := tmp_path / "kg.csv").write_text("x_id\n", encoding="utf-8")
    asked, before = [], (copy / "CURRENT").read_text()
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr("kgdx.cli.graphs.sys", SimpleNamespace(stdin=terminal, stderr=terminal))
    monkeypatch.setattr("typer.confirm", lambda question, **_: asked.append(question) or answer)
    done = invoke("build", f"primekg={table}", "--store", str(copy))
    assert asked == ["Build without them?"] and "hpoa: which findings rare diseases have" in done.stderr
    assert ("ranking needs hpoa" in done.stderr) is not answer and done.returncode == (5 if answer else 2)
    assert (copy / "CURRENT").read_text() == before


@pytest.mark.parametrize("path", ["a" * 20000, "x/" * 3000, "b" * 300])
def test_impossible_paths_are_told_in_a_short_line(invoke: Invoke, path: str) -> None:
    for arguments in (("status", "--store", path), ("build", f"hp={path}"), ("neo4j", "export", path), ("batch", path)):
        done = invoke(*arguments)
        assert done.returncode == 2 and "cannot be the path" in done.stderr and len(done.stderr) < 200
