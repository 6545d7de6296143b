"""Several processes save different patients at once: every save is kept once, on both kinds of store."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kgdx
from kgdx import api
from kgdx.config import Settings
from kgdx.graph.neo4j.neo4j_store import Neo4jStore

PROCESSES = 8
#: Saves of each; 60 of each is the trial in the documentation.
EACH = int(os.environ.get("KGDX_SAVES", "4"))

PROGRAM = """
import sys
import kgdx
store, number, each = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with kgdx.open(store) as graph:
    pairs = graph.snapshot.column("has_phenotype", "phenotype").tolist()
    ids = graph.snapshot.column("phenotype", "id")
    terms = sorted({str(ids[row]) for row in pairs})
    for at in range(each):
        observed = [terms[at % len(terms)], terms[(at * 7 + 3) % len(terms)]]
        age = {"age": {"iso8601duration": f"P{number * 100 + at}D"}}
        case = kgdx.Case.from_phenopacket({
            "id": f"p{number}-{at}",
            "subject": {"timeAtLastEncounter": age},
            "phenotypicFeatures": [{"type": {"id": id}} for id in observed],
        })
        print(graph.save(graph.diagnose(case, top=10)), flush=True)
"""


def saved_by_all(store: str) -> list[str]:
    """Ids of the runs that the processes say they have saved."""
    command = [sys.executable, "-c", PROGRAM, store]
    running = [
        subprocess.Popen([*command, str(n), str(EACH)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for n in range(PROCESSES)
    ]
    saved = []
    for process in running:
        out, err = process.communicate(timeout=1200)
        assert process.returncode == 0, err
        saved += out.split()
    return saved


def check(store: str) -> None:
    saved = saved_by_all(store)
    with kgdx.open(store) as graph:
        cases = graph.run("user_cases", source="user", limit=100_000)
        kept = [run for run in saved if graph.run("run_by_id", run_id=run)]
    print(f"{len(kept)} of {PROCESSES * EACH} saves kept, {len(cases)} cases on {store.split(':')[0]}")
    assert len(saved) == len(set(saved)) == len(kept) == PROCESSES * EACH
    assert len(cases) == len({case["id"] for case in cases}) == PROCESSES * EACH


@pytest.mark.slow
def test_eight_processes_save_into_an_embedded_graph(tiny_graph: Path, tmp_path: Path, kgdx_home: Path) -> None:
    shutil.copytree(tiny_graph, tmp_path / "graph")
    check(str(tmp_path / "graph"))
    assert not api.verify(store=tmp_path / "graph").faults


@pytest.mark.slow
@pytest.mark.neo4j
def test_eight_processes_save_on_a_server(
    neo4j_uri: str, tiny_graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = Settings.load().neo4j(neo4j_uri)
    monkeypatch.setenv("KGDX_NEO4J_PASSWORD", access.password or "")
    monkeypatch.setenv("KGDX_HOME", str(tmp_path / "home"))
    api.push(store=tiny_graph, neo4j=neo4j_uri, force=True)
    check(neo4j_uri)
    with Neo4jStore.unchecked(access) as store:
        store.clear()
