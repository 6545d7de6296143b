"""One process against two, and against two actors of Ray: `python -m benchmarks.shares STORE CASES [--count N]`.

Diagnoses the first N cases, ranks them against their labels and asks some of them, each three ways, and prints the
table of docs/benchmarks.md in Markdown. The results have to be equal: it fails where they are not.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import kgdx
from kgdx.case import Case, Failure, read_cases
from kgdx.cli.batch import Diagnosing
from kgdx.errors import KgdxError
from kgdx.evaluate.inquiries import Setting, arm_of, inquiries_on
from kgdx.evaluate.rank_accuracy import RANKS, ranked_cases
from kgdx.evaluate.runner import Piece, Shared
from kgdx.learn.shares import shared

HOWS: Sequence[tuple[str, dict[str, Any]]] = (
    ("one process", {}),
    ("--jobs 2", {"jobs": 2}),
    ("--ray local --jobs 2", {"jobs": 2, "ray": "local"}),
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--count", type=int, default=300, help="cases")
    options = parser.parse_args(arguments)
    cases = list(islice(read_cases(options.cases), options.count))
    print("| | | seconds | of these to the first result | equal |\n|---|---|---|---|---|")
    try:
        for name, work, items in works(cases):
            first = None
            for how, given in HOWS:
                with kgdx.open(options.store) as graph:
                    found, whole, start = timed(shared(work, items, graph, **given))
                first = found if first is None else first
                if found != first:
                    print(f"{name}: {how} gives other results", file=sys.stderr)
                    return 1
                print(f"| {name} | {how} | {whole:.1f} | {start:.1f} | yes |", flush=True)
    except KgdxError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def works(cases: Sequence[Case | Failure]) -> Iterator[tuple[str, Any, Sequence[Any]]]:
    """What is done, and with what."""
    options = {"top": 10, "explain": 0, "policy": None, "case_bank": False}
    yield f"batch, {len(cases)} cases", Diagnosing(options), cases
    ranked: list[Piece] = [(str(number), case, (RANKS,)) for number, case in enumerate(cases)]
    yield f"evaluate rank, {len(cases)} cases", Shared(ranked_cases), ranked
    asked = [(key, case, (arm_of("infogain", "named"),)) for key, case, _ in ranked[: len(cases) // 3]]
    yield f"evaluate inquiry, {len(asked)} patients", Shared(partial(inquiries_on, setting=Setting())), asked


def timed(results: Iterator[Any]) -> tuple[list[str], float, float]:
    """Results without their times, the seconds in all, and those until the first."""
    begin, start, found = time.perf_counter(), 0.0, []
    for each in results:
        start = start or time.perf_counter() - begin
        found.append(timeless(each))
    return found, time.perf_counter() - begin, start


def timeless(result: Any) -> str:
    """A result as text, without the milliseconds that it took."""
    if isinstance(result, list):  # records
        return repr([{key: each[key] for key in each if key not in ("ms", "milliseconds")} for each in result])
    return repr(result)


if __name__ == "__main__":
    sys.exit(main())
