"""Time the writing part of ``kgdx push`` over Bolt, by the number of sessions that write at once.

``python -m benchmarks.push GRAPH [URI] [--sessions 1 2 4] [--rounds 3]`` replaces what the database holds, each time.
The numbers of sessions take turns, so that a machine which gets busier favours none. Besides the clock it prints the
processor time of this process, and of the server where it is the one that `kgdx neo4j up` started.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from kgdx.config import Neo4jAccess, Settings
from kgdx.errors import KgdxError
from kgdx.graph import copies
from kgdx.graph.arcade.embedded import ArcadeStore
from kgdx.graph.neo4j import local_server
from kgdx.ingest.pipeline.graph_folder import GraphFolder
from kgdx.ingest.pipeline.stages import Stages
from kgdx.ingest.pipeline.user_data import kept_tables


def main(arguments: list[str] | None = None) -> int:
    """Print one line of Markdown for each number of sessions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", type=Path)
    parser.add_argument("uri", nargs="?", help="the database, which is overwritten; by default the local server's")
    parser.add_argument("--sessions", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    try:
        settings = Settings.load(options.graph)
        access = settings.neo4j(options.uri)
        running = local_server.status(settings)
        found: dict[int, list[tuple[float, ...]]] = {each: [] for each in options.sessions}
        for _ in range(options.rounds):
            for sessions in options.sessions:
                found[sessions].append(pushed(settings, access, sessions, running.pid if running else None))
                print(sessions, *(f"{each:.1f}" for each in found[sessions][-1]), file=sys.stderr)
    except KgdxError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print("| sessions | seconds by the clock, median (least–most) | here, s of CPU | server, s of CPU |")
    print("|---|---|---|---|")
    for sessions, times in found.items():
        clock, here, there = ([one[at] for one in times] for at in range(3))
        median = f"{statistics.median(clock):.1f} ({min(clock):.1f}–{max(clock):.1f})"
        print(f"| {sessions} | {median} | {statistics.median(here):.1f} | {statistics.median(there):.1f} |")
    return 0


def pushed(settings: Settings, access: Neo4jAccess, sessions: int, server: int | None) -> tuple[float, ...]:
    """Push once; returns seconds by the clock, of this process and of the server, from the first row to the last."""
    marks: list[tuple[float, ...]] = []

    def note(step: str) -> None:
        if (step.startswith("Writing") and not marks) or step.startswith("Comparing both"):
            marks.append((time.perf_counter(), time.process_time(), processor_time(server)))

    folder = GraphFolder(settings.graph_folder)
    with tempfile.TemporaryDirectory() as elsewhere:  # of somebody whose server it is not: no offline import
        stranger = replace(settings, home=Path(elsewhere))
        with folder.reading() as build, ArcadeStore.open(build.store) as source:
            kept = kept_tables(build, Stages(folder.path / "stages"), source)
            copies.push(source, stranger, access, kept=kept, force=True, sessions=sessions, progress=note)
    return tuple(end - begin for begin, end in zip(*marks, strict=True))


def processor_time(pid: int | None) -> float:
    """Return a process's seconds of CPU so far; not a number where it cannot be told."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
