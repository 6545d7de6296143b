"""Processes that save different patients at once: is every save kept, once? ``python -m benchmarks.writers STORE``.

STORE is a graph folder (of which a copy is written to) or the address of a Neo4j with a graph, where the cases and runs
stay. Each process opens the graph and saves its patients one by one. Printed are the saves that were kept, the cases
that are there twice, the time by the clock, and the processor time of all processes; a save that was lost or doubled
makes the exit code 1.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import kgdx
from kgdx.config import is_neo4j

PROGRAM = """
import sys
import kgdx
store, number, each = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with kgdx.open(store) as graph:
    pairs = graph.snapshot.column("has_phenotype", "phenotype").tolist()
    aspects = graph.snapshot.column("has_phenotype", "aspect").tolist()
    ids = graph.snapshot.column("phenotype", "id")
    terms = sorted({str(ids[row]) for row, aspect in zip(pairs, aspects) if aspect == "P"})
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


@dataclass(frozen=True)
class Trial:
    """What became of the saves.

    Attributes:
        wanted: How many were made.
        kept: Runs that are there afterwards.
        cases: Cases that are there more than before.
        twice: Cases whose id is there more than once.
        clock_s: From the start of the first process to the end of the last.
        cpu_s: Processor time of all processes.
        faults: The last line of what each process that failed said.
    """

    wanted: int
    kept: int
    cases: int
    twice: int
    clock_s: float
    cpu_s: float
    faults: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether each was kept, and once."""
        return self.kept == self.cases == self.wanted and not self.twice and not self.faults


def main(arguments: list[str] | None = None) -> int:
    """Print what became of the saves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--each", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        store = options.store
        if not is_neo4j(store):
            store = str(shutil.copytree(store, Path(folder) / "graph"))
        found = trial(store, options.processes, options.each)
    if options.json:
        print(json.dumps(asdict(found)))
    else:
        print(f"{found.kept} of {found.wanted} kept, {found.twice} twice", *found.faults, sep="\n")
        print(f"{found.clock_s:.1f} s by the clock, {found.cpu_s:.1f} s of processor time of all processes")
    return 0 if found.whole else 1


def trial(store: str, processes: int = 8, each: int = 60) -> Trial:
    """Let processes save different patients at once, and look at what is there afterwards.

    Args:
        store: Graph folder or Bolt address; it is written to.
        processes: How many.
        each: Saves of each.
    """
    before = len(_cases(store))
    begin, used = time.perf_counter(), _processor_time()
    command = [sys.executable, "-c", PROGRAM, store]
    running = [
        subprocess.Popen([*command, str(n), str(each)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for n in range(processes)
    ]
    told = [process.communicate() for process in running]
    clock, cpu = time.perf_counter() - begin, _processor_time() - used
    saved = {run for out, _ in told for run in out.split()}
    faults = [err.strip().splitlines()[-1:] for (_, err), one in zip(told, running, strict=True) if one.returncode]
    with kgdx.open(store) as graph:
        kept = sum(bool(graph.run("run_by_id", run_id=run)) for run in saved)
    cases = _cases(store)
    said = tuple(line for lines in faults for line in lines or ["a process failed"])
    twice = len(cases) - len(set(cases))
    return Trial(processes * each, kept, len(cases) - before, twice, round(clock, 1), round(cpu, 1), said)


def _cases(store: str) -> list[str]:
    with kgdx.open(store) as graph:
        return [row["id"] for row in graph.run("user_cases", source="user", limit=100_000)]


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
