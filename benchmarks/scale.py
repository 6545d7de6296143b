"""Time and memory against the size of the input; ``python -m benchmarks.scale [--only NAME] [--rows MILLIONS]``.

Every step is a `kgdx` command in a process of its own; its peak memory is that of the largest of its processes, its
processor seconds those of all their threads. The sizes are rows of PrimeKG's kg.csv (``--rows``, in millions, 1 2 4 8
when not given; ``--shuffled``: in an order of chance, not the publisher's), made with PrimeKG's numbers of nodes and
edges. The steps (``--only``; all of them when not given):

- ``embedded``: build the embedded graph
- ``update``: read a changed table of 2,000 associations of one's own again, on that graph
- ``neo4j``: copy that graph into a local Neo4j by offline import
- ``mesh``: build the descriptors of a full-size MeSH file
- ``unified``: build all files of a folder of real data (``--data``, or ``KGDX_SHARED_DATA``)

A few gigabytes of files are written into a temporary folder and removed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.generate import mesh, primekg

STEPS = ("embedded", "update", "neo4j", "mesh", "unified")
MILLIONS = (1.0, 2.0, 4.0, 8.1)
OWN_ROWS = 2_000

OWN_MANIFEST = """\
name: own_genes
title: A small table of one's own
homepage: https://example.org/
licence: CC0-1.0
citation: none
format: csv
default: null
files: [own_genes.csv]
expected: {records: [1, 10000]}
nodes:
  - {class: Disease, frame: rows, role: implied, id: disease}
  - {class: Gene, frame: rows, role: implied, id: gene}
relations:
  - type: ASSOCIATED_GENE
    frame: rows
    start: {class: Disease, id: disease}
    end: {class: Gene, id: gene}
    properties: {association: association}
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a command took: seconds, of the clock and of processors, the peak memory of its largest process."""

    step: str
    millions: float
    seconds: float
    processor: float
    peak_gib: float
    note: str


class Failed(Exception):
    """A command that did not do what it should; the message holds the end of what it said."""


class Took(NamedTuple):
    """What one command took: seconds, processor seconds, peak GiB."""

    seconds: float
    processor: float
    peak_gib: float


def run(*arguments: str, home: Path) -> tuple[Took, str]:
    """Run a `kgdx` command and return what it took, and its output.

    Raises:
        Failed: It failed.
    """
    command = [sys.executable, "-m", "kgdx", *arguments]
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen(command, stdout=out, stderr=err, env=os.environ | {"KGDX_HOME": str(home)})
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begin
        out.seek(0)
        err.seek(0)
        if child.returncode:
            raise Failed(f"kgdx {' '.join(arguments)}: {err.read()[-500:].strip()}")
        return Took(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20), out.read()


def on_primekg(folder: Path, millions: float, steps: Sequence[str], more: Sequence[str]) -> Iterator[Measured]:
    """Build, update and copy the graph of a file of so many million rows."""
    files, home, store = folder / "files", folder / "home", folder / "graph"
    with redirect_stdout(sys.stderr):
        primekg.main([str(files), "--rows", str(round(millions * 1e6)), *more])
    table = own_table(folder, files, association="MENDELIAN")
    own = f"{table.with_suffix('.yaml')}={table}"
    took, said = run("build", f"primekg={files / 'kg.csv'}", own, "--store", str(store), "--json", home=home)
    report = json.loads(said)
    if "embedded" in steps:
        relations = sum(report["relations"].values())
        yield Measured("embedded", millions, *took, f"{relations:,} relations, {size(store):.1f} GiB on disk")
    if "update" in steps:
        own_table(folder, files, association="POLYGENIC")
        took, said = run("update", "own_genes", "--store", str(store), "--json", home=home)
        changed = json.loads(said)["relations"] == report["relations"]
        yield Measured("update", millions, *took, f"{OWN_ROWS:,} rows" if changed else "other counts")
    if "neo4j" in steps:
        run("neo4j", "up", "--heap", "2g", home=home)
        try:
            took, said = run("push", "--force", "--store", str(store), "--json", home=home)
        finally:
            run("neo4j", "down", home=home)
        copied = json.loads(said)
        yield Measured("neo4j", millions, *took, f"{copied['method']}, compared {copied['compared']}")


def own_table(folder: Path, files: Path, association: str) -> Path:
    """Write a table of one's own about diseases and genes of the file, and its manifest beside it."""
    import polars as pl

    kg = pl.scan_csv(files / "kg.csv", infer_schema_length=0).filter(pl.col("relation") == "disease_protein")
    pairs = kg.filter(pl.col("x_type") == "disease").select("x_source", "x_id", "y_id").head(OWN_ROWS * 4).collect()
    single = pairs.filter(pl.col("x_source") == "MONDO").head(OWN_ROWS)
    rows = single.select(
        disease=pl.lit("MONDO:") + pl.col("x_id").str.zfill(7),
        gene=pl.lit("NCBIGene:") + pl.col("y_id"),
        association=pl.lit(association),
    ).unique(["disease", "gene"], maintain_order=True)
    path = folder / "own_genes.csv"
    rows.write_csv(path)
    path.with_suffix(".yaml").write_text(OWN_MANIFEST, "utf-8")
    return path


def on_mesh(folder: Path) -> Iterator[Measured]:
    """Build the descriptors of a MeSH file of full size."""
    files = folder / "files"
    with redirect_stdout(sys.stderr):
        mesh.main([str(files)])
    source = files / "desc2025.xml"
    took, said = run("build", f"mesh={source}", "--store", str(folder / "graph"), "--json", home=folder)
    nodes = json.loads(said)["nodes"]["MeshDescriptor"]
    yield Measured("mesh", 0.0, *took, f"{nodes:,} descriptors, {source.stat().st_size / 1e6:,.0f} MB")


def on_all(folder: Path, data: Path) -> Iterator[Measured]:
    """Build every source that a folder of real data has a file of."""
    took, said = run("build", "--from", str(data), "--store", str(folder / "graph"), "--json", home=folder)
    report = json.loads(said)
    content = f"{sum(report['nodes'].values()):,} nodes, {sum(report['relations'].values()):,} relations"
    yield Measured("unified", 0.0, *took, f"{content} of {len(report['sources'])} sources")


def size(folder: Path) -> float:
    """GiB that the files of a folder take, each counted once however many links it has."""
    files = {(found.st_dev, found.st_ino): found.st_blocks for found in (p.stat() for p in folder.rglob("*"))}
    return sum(files.values()) * 512 / 2**30


def measured(
    steps: Sequence[str], millions: Sequence[float], data: Path | None, more: Sequence[str]
) -> Iterator[Measured]:
    """Take the steps, each size and kind in a folder that is removed afterwards."""
    if {"embedded", "update", "neo4j"} & set(steps):
        for rows in millions:
            with tempfile.TemporaryDirectory(prefix="kgdx-scale-") as folder:
                yield from on_primekg(Path(folder), rows, steps, more)
    if "mesh" in steps:
        with tempfile.TemporaryDirectory(prefix="kgdx-scale-") as folder:
            yield from on_mesh(Path(folder))
    if "unified" in steps and data is not None:
        with tempfile.TemporaryDirectory(prefix="kgdx-scale-") as folder:
            yield from on_all(Path(folder), data)


def main(arguments: list[str] | None = None) -> int:
    """Print one line for each step and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=STEPS, help="a step; may be given again")
    parser.add_argument("--rows", type=float, nargs="+", default=MILLIONS, help="millions of rows of kg.csv")
    parser.add_argument("--shuffled", action="store_true", help="the rows of kg.csv in an order of chance")
    parser.add_argument("--data", type=Path, default=os.environ.get("KGDX_SHARED_DATA"), help="folder of real data")
    parser.add_argument("--json", action="store_true", help="print the figures for a program")
    options = parser.parse_args(arguments)
    if not options.json:
        print(f"{'step':10} {'million rows':>12} {'seconds':>9} {'processor':>9} {'peak GiB':>9}  what")
    more = ["--shuffled"] if options.shuffled else []
    try:
        for row in measured(options.only or STEPS, options.rows, options.data, more):
            shown = f"{row.millions:12.1f}" if row.millions else f"{'':12}"
            line = f"{row.step:10} {shown} {row.seconds:9.1f} {row.processor:9.1f} {row.peak_gib:9.2f}  {row.note}"
            print(json.dumps(asdict(row)) if options.json else line, flush=True)
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
