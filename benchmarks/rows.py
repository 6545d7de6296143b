"""Reading PrimeKG's kg.csv alone, without a build; ``python -m benchmarks.rows FOLDER [--damaged SHARE]``.

FOLDER is what ``python -m benchmarks.generate.primekg FOLDER [--rows N] [--shuffled]`` wrote. With ``--damaged`` a copy
is read in which that share of the lines, drawn by chance, is cut in the middle. Prints seconds of the clock and of
processors, the peak of the process's memory, and what became of the rows.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kgdx.ingest.manifest import manifest
from kgdx.ingest.sources import read

SEED = 17
_AT_ONCE = 1 << 24


def damage(path: Path, copy: Path, share: float) -> None:
    """Copy a file, cutting a share of its lines but the first in the middle."""
    rng = np.random.default_rng(SEED)
    with path.open("rb") as lines, copy.open("wb") as out:
        out.write(lines.readline())
        while some := lines.readlines(_AT_ONCE):
            for number in np.flatnonzero(rng.random(len(some)) < share):
                some[number] = some[number][: len(some[number]) // 2] + b"\n"
            out.writelines(some)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where kg.csv is")
    parser.add_argument("--damaged", type=float, default=0.0, help="share of the lines that are cut")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="kgdx-rows-") as temporary:
        path = options.folder / "kg.csv"
        if options.damaged:
            damage(path, Path(temporary) / "kg.csv", options.damaged)
            path = Path(temporary) / "kg.csv"
        clock, processor = time.perf_counter(), time.process_time()
        records = read(path, manifest("primekg"))
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    edges = sum(frame.height for frame in records.frames.values() if "display_relation" in frame.columns)
    counts = f"{edges:,} edges, {records.merged:,} rows merged, {records.rejects.height:,} refused"
    print(f"{clock:.1f} s, {processor:.1f} s of processors, {peak:.2f} GiB: {counts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
