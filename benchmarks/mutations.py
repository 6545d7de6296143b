"""How much the quick tests notice: one token changed at sixty places, each tried against the tests of its room.

`python -m benchmarks.mutations` tries all of `benchmarks/mutations.json` and prints which were caught; `--every 3`
tries every third, `--room rank` those of one room. The list is kept, so that tests before and after a change are asked
the same; a place whose line is gone is left out. `--draw` draws a new one. A copy of
the checkout is changed.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "kgdx"
PLACES = Path(__file__).with_suffix(".json")
ROOMS = ("rank", "answer", "results", "terms", "graph", "ingest")
BESIDE = {"results": ("render",)}
"""Rooms whose tests are those of a room too: what people look at is a view of the results."""
FAILED = (1, 2)
"""Exit codes of pytest where a test fails, and where a module cannot be read with the change."""
EACH, SEED = 10, 20261127
FLIPPED = {
    ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip


class Place(NamedTuple):
    """A line of a file, and what stands there instead."""

    file: str
    kind: str
    line: str
    instead: str


def places(path: Path) -> Iterator[Place]:
    """Every change of one token that a file allows, on one line each."""
    lines = path.read_text("utf-8").splitlines()
    tree = ast.parse("\n".join(lines))
    bodies = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    for node in {id(each): each for body in bodies for part in body.body for each in ast.walk(part)}.values():
        for kind, at, instead in changes(node):
            if at.lineno == at.end_lineno and lines.count(line := lines[at.lineno - 1]) == 1:
                row = line.encode()
                changed = row[: at.col_offset] + instead.encode() + row[at.end_col_offset :]
                yield Place(str(path.relative_to(SOURCE)), kind, line, changed.decode())


def changes(node: ast.AST) -> Iterator[tuple[str, ast.expr, str]]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield "comparison", node, f"{ast.unparse(left)} {FLIPPED[type(op)]} {ast.unparse(right)}"
        case ast.Constant(value=bool(value)):
            yield "constant", node, str(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield "constant", node, repr(value + 1)
        case ast.If(test=test) if "TYPE_CHECKING" not in ast.unparse(test):
            yield "branch", test, f"not ({ast.unparse(test)})"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return", value, "None"


def draw() -> list[Place]:
    """As many places of each room, and of each kind about as many."""
    chance, drawn = random.Random(SEED), []
    for room in ROOMS:
        found = sorted(place for path in (SOURCE / room).rglob("*.py") for place in places(path))
        kinds = sorted({place.kind for place in found})
        picked = [chance.choice([p for p in found if p.kind == kinds[n % len(kinds)]]) for n in range(EACH)]
        drawn += picked
    return drawn


def caught(place: Place, copy: Path) -> bool | None:
    """Whether a test of the room fails with the change; None where no file of the room, or several, have its line."""
    room = place.file.partition("/")[0]
    files = [
        path
        for path in (copy / "src" / "kgdx" / room).rglob("*.py")
        if place.line in path.read_text("utf-8").splitlines()
    ]
    if len(files) != 1:
        return None
    (path,) = files
    before = path.read_text("utf-8")
    path.write_text(before.replace(f"{place.line}\n", f"{place.instead}\n"), "utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        tests = [copy / "tests" / each for each in (room, *BESIDE.get(room, ()))]
        done = subprocess.run([*command, *tests], cwd=copy, env=environment, capture_output=True, check=False)
        return done.returncode in FAILED
    finally:
        path.write_text(before, "utf-8")


def main() -> None:
    """Draw the places, or try them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draw", action="store_true", help="draw the places anew, and keep them")
    parser.add_argument("--every", type=int, default=1, help="try every so manieth place")
    parser.add_argument("--room", choices=ROOMS, help="try the places of one room")
    given = parser.parse_args()
    if given.draw:
        PLACES.write_text(
            json.dumps([place._asdict() for place in draw()], ensure_ascii=False, indent=1) + "\n", "utf-8"
        )
        return
    kept = [Place(**each) for each in json.loads(PLACES.read_text("utf-8"))]
    asked = [place for place in kept if given.room in (None, place.file.partition("/")[0])][:: given.every]
    said: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "build"))
        for place in asked:
            found = {True: "caught", False: "survived", None: "gone"}[caught(place, copy)]
            said[found] += 1
            print(f"{found:9}{place.file}: {place.kind}: {place.instead.strip()[:90]}", flush=True)
    print(", ".join(f"{n} {what}" for what, n in said.most_common()))


if __name__ == "__main__":
    main()
