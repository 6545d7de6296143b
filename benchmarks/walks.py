"""How far three journeys go through the code: the files that they touch, and the calls that cross from room to room.

`python -m benchmarks.walks` traces a patient's text to the ranked table, a source's rows to the store, and a question
to the cited answer, on a graph that it builds of the tests' tiny sources. A file counts when a function of it runs; a
crossing is a function of one room that calls a function of another, each pair once.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import kgdx

HOME = Path(kgdx.__file__).parent
TINY = Path(__file__).parents[1] / "tests" / "data" / "tiny"
FILES = {"hp": "hp.obo", "hpoa": "phenotype.hpoa", "genes": "genes_to_phenotype.txt"}


def room(file: str) -> str:
    """Return the room of a file: its first folder below the package, or the file itself."""
    return Path(file).relative_to(HOME).parts[0]


def trace(journey: Callable[[], Any]) -> tuple[int, int]:
    """Return how many files a journey touches, and how many calls of it cross between rooms."""
    files: set[str] = set()
    crossings: set[tuple[object, object]] = set()
    inside = str(HOME) + "/"

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(inside) or frame.f_code.co_name == "<module>":
            return
        files.add(frame.f_code.co_filename)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(inside):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_name != "<module>":
            one, other = caller.f_code, frame.f_code
            if room(one.co_filename) != room(other.co_filename):
                crossings.add((one, other))

    sys.setprofile(watch)
    try:
        journey()
    finally:
        sys.setprofile(None)
    return len(files), len(crossings)


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        sources = {name: str(TINY / file) for name, file in FILES.items()}
        store = Path(folder) / "graph"
        found = {"a source's row to the store": trace(lambda: kgdx.build(sources, store=store))}
        with kgdx.open(store) as graph:
            found["a patient's text to the ranked table"] = trace(lambda: graph.diagnose("seizures").table())
        with kgdx.open(store) as graph:
            found["a question to the cited answer"] = trace(lambda: graph.ask("What causes seizures?").text.text)
    print(f"{'journey':40}{'files':>8}{'crossings':>12}")
    for name, (files, crossings) in found.items():
        print(f"{name:40}{files:8}{crossings:12}")


if __name__ == "__main__":
    main()
