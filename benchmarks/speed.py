"""Measure what a user waits for; `python -m benchmarks.speed`, from the top of a checkout.

Builds the default graph in a folder of its own, diagnoses from the shell, ranks seeded made-up cases on one core, and
times every read template, on Neo4j too where KGDX_NEO4J_URI names one that holds the same graph (`kgdx push`). Prints
tables in Markdown.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.templates import TARGETS, timed

import kgdx
from kgdx.api import Graph
from kgdx.case import Case, Finding
from kgdx.graph.templates import templates

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
FINDINGS = 10
CASES = 300
BATCHES = 10
SEED = 20250116
SECTIONS = ("diagnose", "ranking", "batch", "templates")

Row = tuple[str, str, str]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="how often each command is run")
    parser.add_argument("--graph", type=Path, help="use this graph folder instead of building one")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="sections; all by default")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="kgdx-speed-") as scratch:
        graph = options.graph or Path(scratch) / "graph"
        rows = [] if options.graph else build(graph)
        rows += diagnose(graph, options.runs) if "diagnose" in options.only else []
        rows += ranking(graph) if "ranking" in options.only else []
        rows += batch(graph, Path(scratch)) if "batch" in options.only else []
        print(heading())
        print(table(("what", "target", "measured"), rows))
        if "templates" in options.only:
            print(table(("template", "target", "ArcadeDB", "Neo4j", "ratio"), template_rows(graph)))
    return 0


def heading() -> str:
    cores, today = len(os.sched_getaffinity(0)), datetime.date.today().isoformat()
    return f"{cores} cores, {platform.system()}, Python {platform.python_version()}, kgdx {kgdx.__version__}, {today}\n"


def build(graph: Path) -> list[Row]:
    """Build the default graph as the command line does."""
    done = command("build", "--json", "--store", str(graph))
    stages = json.loads(done.output)["seconds"]
    parts = ", ".join(f"{name.split(':')[-1]} {spent:.1f}" for name, spent in stages.items() if name != "total")
    return [
        ("build of the default graph, wall time", "≤ 15 s", f"{done.wall:.1f} s"),
        ("… its stages, in seconds", "", parts),
        ("… its largest process", "", f"{done.peak:.0f} MB"),
    ]


def diagnose(graph: Path, runs: int) -> list[Row]:
    """Diagnose from the shell: median wall time and largest resident size."""
    rows = []
    for name in ("patient.json", "note.txt"):
        measured = [command("diagnose", str(EXAMPLES / name), "--store", str(graph)) for _ in range(runs)]
        wall, processor = (statistics.median(getattr(each, key) for each in measured) for key in ("wall", "processor"))
        said = f"{wall:.2f} s (processor {processor:.2f} s)"
        rows.append((f"`kgdx diagnose {name}`, wall time, median of {runs}", "≤ 1.5 s", said))
        peak = max(each.peak for each in measured)
        rows.append((f"`kgdx diagnose {name}`, peak memory", "≤ 400 MB", f"{peak:.0f} MB"))
    wall = statistics.median(command("--help").wall for _ in range(runs))
    return [*rows, ("`kgdx --help`, wall time", "", f"{wall:.2f} s")]


def ranking(graph: Path) -> list[Row]:
    """Rank made-up cases: processor time of one thread, so that other work on the machine counts little."""
    with one_core(), kgdx.open(graph) as opened:
        ranker, cases = opened.ranker, made_up(opened)
        ranker.rank(cases[0], explain=True)
        ranker.forget()
        first = milliseconds(cases, ranker.score)
        ranker.forget()
        begin = time.perf_counter()
        ranker.score_many(cases)
        rate = len(cases) / (time.perf_counter() - begin)
        size = len(ranker.ids)

        def again(call: Callable[[Any], object]) -> list[float]:
            """Milliseconds, the best of five, of a call whose findings' rows are kept, and nothing else of the case."""
            found = []
            for case in cases:
                ranker.score(case)
                times = []
                for _ in range(5):
                    ranker.forget()
                    times += milliseconds([case], call)
                found.append(min(times))
            return found

        earlier = {case: ranker.score((case[0][:-1], case[1])) for case in cases}

        def kept(case: Any) -> object:
            return ranker.beliefs(case), ranker.proposer.propose(Case("", tuple(map(Finding, case[0]))))

        warm = [milliseconds([case] * 2, kept)[1] for case in cases]
        rows = [
            ("all scorers and their fusion, rows of the findings computed or kept as it comes", "", first),
            ("all scorers and their fusion, rows kept", "≤ 0.43 ms", again(ranker.score)),
            ("one more finding of a scored case, row kept", "", again(lambda case: ranker.score(case, earlier[case]))),
            ("`rank(10)`, rows kept", "≤ 1 ms", again(ranker.rank)),
            ("`rank(10, explain=True)`, rows kept", "", again(lambda case: ranker.rank(case, explain=True))),
            ("`beliefs`, rows kept", "≤ 0.85 ms", again(ranker.beliefs)),
            ("`beliefs` and questions of a case that is kept", "", warm),
        ]
    what = f"{size:,} diseases, {FINDINGS} findings"
    said = [
        (f"{what}: {name}", target, f"{statistics.median(times):.2f} ms, p95 {np.percentile(times, 95):.2f}")
        for name, target, times in rows
    ]
    return [*said, ("scoring in batch, one core", "≥ 200 cases/s", f"{rate:.0f} cases/s")]


def batch(graph: Path, scratch: Path) -> list[Row]:
    """Diagnose made-up cases from the shell, the start of the processes included."""
    file = scratch / "cases.jsonl"
    with kgdx.open(graph) as opened:
        cases = made_up(opened) * BATCHES
    lines = (json.dumps({"id": str(n), "observed": observed}) for n, (observed, _) in enumerate(cases))
    file.write_text("\n".join(lines), encoding="utf-8")
    done = command("batch", str(file), "--store", str(graph))
    return [
        (f"`kgdx batch` of {len(cases):,} cases, all cores", "≥ 200 cases/s", f"{len(cases) / done.wall:.0f} cases/s")
    ]


def made_up(graph: Graph) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Observed findings of made-up patients: annotations of a random disease."""
    snapshot = graph.snapshot
    phenotypes = snapshot.table("phenotype").column("id").to_pylist()
    aspects = np.array(snapshot.table("has_phenotype").column("aspect").to_pylist())
    phenotypic = np.flatnonzero(aspects == "P")
    disease = snapshot.column("has_phenotype", "disease")[phenotypic]
    phenotype = snapshot.column("has_phenotype", "phenotype")[phenotypic]
    counts = np.bincount(disease)
    draw = np.random.default_rng(SEED)
    cases = []
    for chosen in draw.choice(np.flatnonzero(counts >= 2 * FINDINGS), CASES):
        terms = np.unique(phenotype[disease == chosen])
        picked = draw.choice(terms, min(FINDINGS, len(terms)), replace=False)
        cases.append((tuple(phenotypes[term] for term in picked), ()))
    return cases


def template_rows(graph: Path) -> list[tuple[str, ...]]:
    """The slowest template of each kind, on the embedded store and on Neo4j."""
    embedded = measure(str(graph))
    server = os.environ.get("KGDX_NEO4J_URI")
    other = measure(server) if server else {}
    rows = []
    for kind, target in KINDS.items():
        slowest = max((name for name in embedded if kind_of(name) == kind), key=lambda name: embedded[name])
        here, there = embedded[slowest], other.get(slowest)
        rows.append(
            (
                f"{kind}: `{slowest}`, the slowest",
                f"≤ {target:.0f} ms",
                f"{here:.1f} ms",
                "" if there is None else f"{there:.1f} ms",
                "" if there is None else f"{there / here:.1f}",
            )
        )
    return rows


KINDS = {"retrieval": 10.0, "inference": TARGETS["infer_"], "evidence": TARGETS["evidence_"]}


def kind_of(template: str) -> str:
    """Which target a template has; counting and searching the whole graph have none."""
    if template.startswith("evidence_"):
        return "evidence"
    if template.startswith(("infer_", "similar_", "cooccurring_")):
        return "inference"
    return "" if template.startswith(("count_", "search_")) else "retrieval"


def measure(store: str) -> dict[str, float]:
    """Median milliseconds of each read template."""
    with kgdx.open(store) as graph:
        return {
            row["template"]: row["median_ms"]
            for template in templates().values()
            if template.kind == "read"
            for row in timed(graph.store, template, 20)
        }


def milliseconds(cases: Sequence[Any], call: Callable[[Any], object]) -> list[float]:
    times = []
    for case in cases:
        begin = time.thread_time()
        call(case)
        times.append(1000 * (time.thread_time() - begin))
    return times


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Keep this process on one core for the length of a block."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass(frozen=True)
class Measured:
    """One command: wall and processor seconds, peak megabytes, standard output."""

    wall: float
    processor: float
    peak: float
    output: str


def command(*arguments: str) -> Measured:
    """Run ``kgdx`` in a process of its own."""
    with tempfile.TemporaryFile("w+") as output:
        begin = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "kgdx", *arguments], stdout=output, stderr=subprocess.DEVNULL, text=True
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"kgdx {' '.join(arguments)} failed with exit code {process.returncode}")
        output.seek(0)
        return Measured(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, output.read())


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
