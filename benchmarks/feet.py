"""Measure what a user waits for; `python -m benchmarks.feet`, from the top of a checkout.

Prints the table of the issue "Light on its feet" in Markdown: commands, batches, the server, the build, rows, the
environment, consultations; and beside it ranking on one core and every read template, on Neo4j too where KGDX_NEO4J_URI
names one that holds the same graph (`kgdx push`). `--only` runs some of them; processor time is what to compare, since
the clock depends on other work.

`--gate` compares twelve operations with the state that this one branched off from, or on the branch itself with that of
a day before: each is run by both in turns, and the median of the ratios of their processor times decides. 5 % worse
fails, unless a commit in between has a line that begins with `Slower:` and says why.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime
import gzip
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import kgdx
from benchmarks import serve
from benchmarks.templates import TARGETS, timed
from kgdx.api import Graph
from kgdx.case import Case, Finding
from kgdx.graph.templates import templates

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
DATA = Path(os.environ.get("KGDX_SHARED_DATA", ROOT.parent / "shared" / "data"))
PHRASES = "ptosis and muscle weakness"
PACKETS = 1_500
SERVED_S = 12
CONSULTED, QUESTIONS = 10, 20
FINDINGS = 10
CASES = 300
SEED = 20250116
WORSE = 1.05
"""Ratio of processor times from which an operation counts as slower."""

Row = tuple[str, str, str]


@dataclass(frozen=True)
class Place:
    """Where it is measured."""

    graph: Path
    everything: Path | None
    scratch: Path
    runs: int


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7, help="how often each command is run")
    parser.add_argument("--graph", type=Path, help="folder of the default graph; built where it is not given")
    parser.add_argument("--all", type=Path, help="folder of a graph of all sources")
    parser.add_argument("--only", nargs="+", choices=(*PARTS, "templates"), default=[*PARTS, "templates"])
    parser.add_argument("--gate", action="store_true", help="compare with a state before this one")
    parser.add_argument("--base", default="main", help="branch that it branched off from")
    parser.add_argument("--operations", type=int, default=12, help="the first so many of the gate's operations")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="kgdx-feet-") as scratch:
        rows = list[Row]()
        graph = options.graph or Path(scratch) / "graph"
        if not options.graph:
            rows += build(Place(graph, None, Path(scratch), 1))
        place = Place(graph, options.all, Path(scratch), options.runs)
        if options.gate:
            return gate(place, options.base, options.operations)
        for name in options.only:
            if name in PARTS and (name != "build" or options.graph):
                rows += PARTS[name](place)
        print(heading())
        print(table(("what", "asked", "measured"), rows))
        if "templates" in options.only:
            print(table(("template", "target", "ArcadeDB", "Neo4j", "ratio"), template_rows(graph)))
    return 0


def heading() -> str:
    cores, today = len(os.sched_getaffinity(0)), datetime.date.today().isoformat()
    return f"{cores} cores, {platform.system()}, Python {platform.python_version()}, kgdx {kgdx.__version__}, {today}\n"


def build(place: Place) -> list[Row]:
    """Build the default graph as the command line does."""
    folder = place.scratch / "built" if place.graph.exists() else place.graph
    done = command("build", "--json", "--store", str(folder))
    stages = json.loads(done.output)["seconds"]
    parts = ", ".join(f"{name.split(':')[-1]} {spent:.1f}" for name, spent in stages.items() if name != "total")
    return [
        ("build of the default graph", "≤ 12 s", f"{done.wall:.1f} s (processor {done.processor:.1f} s)"),
        ("… its stages, in seconds", "", parts),
        ("… its largest process", "≤ 700 MB", f"{done.peak:.0f} MB"),
    ]


def commands(place: Place) -> list[Row]:
    """Commands that people wait for: medians of time, and the largest resident size."""
    asked = [
        ("diagnose patient.json", "≤ .55 s, ≤ 200 MB", ["diagnose", str(EXAMPLES / "patient.json")], place.graph),
        ("diagnose note.txt", "", ["diagnose", str(EXAMPLES / "note.txt")], place.graph),
        (f'diagnose "{PHRASES}"', "≤ .8 s", ["diagnose", PHRASES], place.everything or place.graph),
        ("--help", "≤ .15 s", ["--help"], None),
    ]
    return [timed_row(place, *each) for each in asked]


def timed_row(place: Place, name: str, target: str, words: Sequence[str], graph: Path | None) -> Row:
    store = [] if graph is None else ["--store", str(graph)]
    command(*words, *store)
    found = [command(*words, *store) for _ in range(place.runs)]
    wall, processor = (statistics.median(getattr(each, key) for each in found) for key in ("wall", "processor"))
    where = " of all sources" if graph is not None and graph == place.everything else ""
    said = f"processor {processor:.2f} s, wall {wall:.2f} s, {max(each.peak for each in found):.0f} MB"
    return (f"`kgdx {name}`{where}", target, said)


def batch(place: Place) -> list[Row]:
    """Diagnose phenopackets from the shell, the start of the processes included."""
    file = place.scratch / "packets.jsonl"
    with gzip.open(DATA / "phenopackets-dev.jsonl.gz", "rt", encoding="utf-8") as packets:
        file.write_text("".join(line for line, _ in zip(packets, range(PACKETS), strict=False)), encoding="utf-8")
    rows = []
    for jobs, target in ((1, "≤ 7 s"), (2, "≤ 4.5 s")):
        done = command("batch", str(file), "--store", str(place.graph), "--jobs", str(jobs))
        said = f"{done.wall:.1f} s (processor {done.processor:.1f} s)"
        rows.append((f"`kgdx batch` of {PACKETS:,} phenopackets, --jobs {jobs}", target, said))
    return rows


def served(place: Place) -> list[Row]:
    """Serve with two workers: bytes of an answer, answers a second, waiting, and what a worker has for itself."""
    words = ["serve", "--port", "0", "--rate", "0", "--quiet", "--workers", "2", "--store", str(place.graph)]
    server = subprocess.Popen([sys.executable, "-m", "kgdx", *words], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        port = int(server.stderr.readline().rstrip("/\n").rpartition(":")[2])
        there = ("127.0.0.1", port)
        each = 100 * SERVED_S
        asked = serve.requests_of(DATA / "phenopackets-dev.jsonl.gz", 200 + 3 * each, 1, 0)
        asyncio.run(serve.load(*there, asked[:200], 20.0, 1))
        rows = []
        for number, (clients, target) in enumerate(((2, "≥ 350"), (8, "≥ 400"))):
            begin, part = time.monotonic(), asked[200 + number * each : 200 + (number + 1) * each]
            asyncio.run(serve.flood(*there, part, clients))
            rate = len(part) / (time.monotonic() - begin)
            rows.append((f"served a second, as fast as {clients} clients", target, f"{rate:.0f}"))
        found = asyncio.run(serve.load(*there, asked[200 + 2 * each :], 100.0, 1))
        late = np.percentile([latency for latency, _, _ in found], 95)
        rows.append(("… 95th percentile at 100 a second", "≤ 30 ms", f"{late:.1f} ms"))
        size = np.mean([size for _, _, size in found]) / 1000
        rows.append(("one answer over HTTP, ten diseases", "≤ 40 kB", f"{size:.1f} kB"))
        return [*rows, ("a worker's own memory", "≤ 150 MB", serve.memory(server.pid))]
    finally:
        server.terminate()
        server.wait(20)


def rows_read(place: Place) -> list[Row]:
    """Read generated rows of PrimeKG, shuffled, a thousandth of the lines cut."""
    folder = place.scratch / "rows"
    make = [sys.executable, "-m", "benchmarks.generate.primekg", str(folder), "--rows", "1000000", "--shuffled"]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    read = [sys.executable, "-m", "benchmarks.rows", str(folder), "--damaged", "0.001"]
    said = subprocess.run(read, check=True, capture_output=True, text=True).stdout.strip()
    return [("1,000,000 rows shuffled, malformed lines through", "8.1 M: ≤ 60 s, ≤ 1.6 GB", said)]


def environment(place: Place) -> list[Row]:
    """The environment on one core, by `benchmarks.environment`."""
    run = [sys.executable, "-m", "benchmarks.environment", str(place.graph), "--json"]
    done = subprocess.run(
        run, check=True, capture_output=True, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    )
    targets = {"one episode at a time: states that were not seen before": "≥ 2,000"}
    return [(row["what"], targets.get(row["what"], ""), f"{row['rate']:,} a second") for row in json.loads(done.stdout)]


def consultations(place: Place) -> list[Row]:
    """Consultations of twenty questions, of which the patient confirms none, on one core."""
    with one_core(), kgdx.open(place.graph) as graph:
        cases = made_up(graph)[: CONSULTED + 1]
        spent = list[float]()
        for observed, _ in cases:
            begin = time.thread_time()
            consultation = graph.consult(list(observed[:2]), questions=QUESTIONS, certain=1.0)
            while consultation.question is not None:
                consultation.answer("no")
            spent.append(time.thread_time() - begin)
    rate = 1 / statistics.median(spent[1:])
    return [(f"consultations of {QUESTIONS} questions, one core", "≥ 40 a second", f"{rate:.1f} a second")]


def texts(place: Place) -> list[Row]:
    """The first look at the graph's texts, which indexes them where the build did not."""
    graph = place.everything or place.graph
    return [timed_row(place, "search", "built with the graph", ["search", "muscle weakness"], graph)]


def gate(place: Place, base: str, operations: int) -> int:
    """Compare the processor time of operations with the state branched off from; on it, with that of a day before."""

    def git(*words: str) -> str:
        run = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
        return run.stdout.strip()

    head, begin = git("rev-parse", "HEAD"), git("merge-base", "HEAD", base)
    if begin == head:
        day_before = int(git("show", "--no-patch", "--format=%ct", "HEAD")) - 86_400
        begin = git("rev-list", "--max-count=1", f"--before={day_before}", "HEAD")
    if not begin:
        print(f"{base} has no state before this one to compare with")
        return 0
    other = place.scratch / "base"
    git("worktree", "add", "--quiet", "--detach", str(other), begin)
    try:
        slower = [name for name, words in list(OPERATIONS.items())[:operations] if compared(place, other, name, words)]
    finally:
        git("worktree", "remove", "--force", str(other))
    reasons = [line for line in git("log", "--format=%B", f"{begin}..HEAD").splitlines() if line.startswith("Slower:")]
    print(*reasons, sep="\n", end="\n" if reasons else "")
    return 1 if slower and not reasons else 0


def compared(place: Place, other: Path, name: str, words: Sequence[str]) -> bool:
    """Run an operation by both states in turns, and say whether this one is slower."""
    words = [*(str(EXAMPLES / each) if each.endswith((".json", ".txt")) else each for each in words)]
    store = [] if "--help" in words else ["--store", str(place.graph)]
    command(*words, *store, source=ROOT)
    try:
        command(*words, *store, source=other)
    except SystemExit:
        print(f"{name:12} the state before cannot do this with a graph of this one")
        return False
    pairs = [[command(*words, *store, source=source).processor for source in (ROOT, other)] for _ in range(place.runs)]
    ratios = sorted(mine / before for mine, before in pairs)
    ratio, now = statistics.median(ratios), statistics.median(mine for mine, _ in pairs)
    worse = ratio > WORSE and ratios[len(ratios) // 4] > 1  # three of four pairs agree, whatever else the machine does
    print(f"{name:12} {now:.2f} s, {ratio:.3f} of before{'  SLOWER' if worse else ''}", flush=True)
    return worse


OPERATIONS: Mapping[str, Sequence[str]] = {
    "diagnose": ["diagnose", "patient.json"],
    "help": ["--help"],
    "note": ["diagnose", "note.txt"],
    "extract": ["extract", "No seizures. Her mother has migraine; she has ptosis and an ataxic gait."],
    "JSON": ["diagnose", "patient.json", "--json"],
    "phrases": ["diagnose", PHRASES],
    "explain": ["explain", "patient.json", "OMIM:190350"],
    "ask": ["ask", "Which genes are associated with Marfan syndrome?"],
    "search": ["search", "marfan"],
    "run": ["run", "disease_by_name", "name=Marfan syndrome"],
    "status": ["status"],
    "batch": ["batch", "patient.json"],
}
"""What the gate compares; the first ones are enough for every change."""


def ranking(place: Place) -> list[Row]:
    """Rank made-up cases: processor time of one thread, so that other work on the machine counts little."""
    with one_core(), kgdx.open(place.graph) as opened:
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


def command(*arguments: str, source: Path = ROOT) -> Measured:
    """Run ``kgdx``, the checkout's own or another one's, in a process of its own."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{source / 'src'}{os.pathsep}{source / 'packages/kgdx-foreign/src'}",
        "PYTHONDONTWRITEBYTECODE": "",  # as in an installation, whose modules are compiled once
        "PYTHONPYCACHEPREFIX": str(ROOT / "build" / "compiled"),
    }
    with tempfile.TemporaryFile("w+") as output:
        begin = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "kgdx", *arguments],
            stdout=output,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
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


PARTS: Mapping[str, Callable[[Place], list[Row]]] = {
    "commands": commands,
    "batch": batch,
    "served": served,
    "build": build,
    "rows": rows_read,
    "environment": environment,
    "consultations": consultations,
    "texts": texts,
    "ranking": ranking,
}


if __name__ == "__main__":
    sys.exit(main())
