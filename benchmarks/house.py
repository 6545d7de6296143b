"""How heavy the house is: files and lines by room, how far three journeys go, names that mean two things, glued files.

`python -m benchmarks.house` prints the table. `--lower` writes `.ci/ceilings.json` anew where a room has become
smaller: a test holds every room below its ceiling, and the ceilings near what there is. The journeys run on the graph
of the tests' tiny sources, in a process each; a file counts when one of its functions runs, what only an import runs
left out. A return is a step from one room into another that was left before, in the order in which files are first
entered.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "kgdx"
TINY = ROOT / "tests" / "data" / "tiny"
CEILINGS = ROOT / ".ci" / "ceilings.json"
SLACK = 0.02
"""Share of a room's lines by which its ceiling may lie above them, beside twenty lines."""
BANNER = re.compile(r"\n\n\n# [^\n]+\n\n\n")

JOURNEYS: Mapping[str, Sequence[str]] = {
    "diagnose": ("diagnose", "seizures and hypotonia, but no short stature"),
    "ask": ("ask", "Which diseases have seizures?"),
    "build": ("build", f"hp={TINY / 'hp.obo'}", f"hpoa={TINY / 'phenotype.hpoa'}", "--store", "built"),
}
BEFORE = {"diagnose": (116, 33), "ask": (87, 0), "build": (90, 0)}
AIMED = {"diagnose": (65, 12), "ask": (55, 0), "build": (60, 0)}


class Size(NamedTuple):
    """Files and lines of a room."""

    files: int
    lines: int


def sizes() -> dict[str, Size]:
    """Return the size of every room, of all of them, of the packages beside them, and of the tests of all."""
    rooms = {f"src/{each.name}": size(each) for each in sorted(SOURCE.iterdir()) if each.is_dir() and any(python(each))}
    beside = sorted((ROOT / "packages").glob("*/src"))
    tests = [ROOT / "tests", *sorted((ROOT / "packages").glob("*/tests"))]
    return rooms | {"src": size(SOURCE), "packages": size(*beside), "tests": size(*tests)}


def size(*folders: Path) -> Size:
    lines = [path.read_text("utf-8").count("\n") for folder in folders for path in python(folder)]
    return Size(len(lines), sum(lines))


def python(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*.py")) if "__pycache__" not in path.parts)


def ceilings() -> dict[str, Size]:
    """Return what no room may exceed; a third entry says why a room may have more than before."""
    return {name: Size(*kept[:2]) for name, kept in json.loads(CEILINGS.read_text("utf-8")).items()}


def allowed(lines: int) -> float:
    """Return where the ceiling of so many lines may lie at most."""
    return lines * (1 + SLACK) + 20


def lower() -> None:
    """Bring every ceiling down to what there is; a room that is new gets its own."""
    kept = json.loads(CEILINGS.read_text("utf-8")) if CEILINGS.exists() else {}
    found = {name: [*map(min, now, kept.get(name, now)), *kept.get(name, [])[2:]] for name, now in sizes().items()}
    rows = ",\n".join(f'  "{name}": {json.dumps(each, ensure_ascii=False)}' for name, each in found.items())
    CEILINGS.write_text(f"{{\n{rows}\n}}\n", "utf-8")


def two_meanings() -> list[str]:
    """Return the public names of classes that several modules have."""
    owners: dict[str, set[Path]] = defaultdict(set)
    for path in python(SOURCE):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners[node.name].add(path)
    return sorted(name for name, found in owners.items() if len(found) > 1)


def glued() -> list[str]:
    """Return the files that are several: a sentence stands between their parts."""
    return [str(path.relative_to(SOURCE)) for path in python(SOURCE) if BANNER.search(path.read_text("utf-8"))]


class Walk(NamedTuple):
    """How far a journey goes."""

    files: int
    functions: int
    rooms: int
    changes: int
    returns: int


def walk(arguments: Sequence[str]) -> Walk:
    """Run a command, and return what it entered."""
    from kgdx.cli import main

    entered: dict[CodeType, None] = {}
    importing = 0

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal importing
        code = frame.f_code
        if code.co_name == "<module>" and event in ("call", "return"):
            importing += 1 if event == "call" else -1
        elif event == "call" and not importing and code.co_filename.startswith(f"{SOURCE}/"):
            entered.setdefault(code)

    sys.setprofile(watch)
    try:
        main(arguments)
    except SystemExit as ended:
        if ended.code:
            raise
    finally:
        sys.setprofile(None)
    files = list(dict.fromkeys(code.co_filename for code in entered))
    rooms = [Path(file).relative_to(SOURCE).parts[0] for file in files]
    path = [room for number, room in enumerate(rooms) if not number or rooms[number - 1] != room]
    return Walk(len(files), len(entered), len(set(path)), len(path) - 1, len(path) - len(set(path)))


def journeys() -> Iterator[tuple[str, Walk]]:
    """Run the journeys, each in a process of its own."""
    import kgdx

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        sources = {"hp": "hp.obo", "hpoa": "phenotype.hpoa", "genes": "genes_to_phenotype.txt"}
        kgdx.build({name: str(TINY / file) for name, file in sources.items()}, store=home / "graphs" / "default")
        environment = os.environ | {
            "KGDX_HOME": str(home),
            "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))),
        }
        for name, arguments in JOURNEYS.items():
            command = [sys.executable, "-m", "benchmarks.house", "--walk", *arguments]
            done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True)
            yield name, Walk(*json.loads(done.stderr.splitlines()[-1]))


def main() -> None:
    """Print the table, or do what an option says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lower", action="store_true", help="write the ceilings anew where a room is smaller")
    parser.add_argument("--rooms", action="store_true", help="print every room")
    parser.add_argument("--names", action="store_true", help="print the names and the files that count")
    parser.add_argument("--walk", nargs=argparse.REMAINDER, help="run one command, and print what it entered")
    given = parser.parse_args()
    if given.walk:
        print(json.dumps(walk(given.walk)), file=sys.stderr)
        return
    if given.lower:
        lower()
        return
    now, twice, banners = sizes(), two_meanings(), glued()
    print("| | before | now | aimed at |\n|---|---|---|---|")
    for name, before, aimed in (
        ("src", (500, 106_168), (300, 72_000)),
        ("packages", (0, 0), (None, 6_000)),
        ("tests", (373, 54_402), (260, 40_000)),
    ):
        files = f"{aimed[0]} files, " if aimed[0] else ""
        print(f"| {name} | {told(*before)} | {told(*now[name])} | ≤ {files}{aimed[1]:,} lines |")
    for name, gone in journeys():
        files, returns = BEFORE[name]
        most, back = AIMED[name]
        print(f"| files entered by {name} | {files} | {gone.files} | ≤ {most} |")
        if back:
            print(f"| returns to a room already left, by {name} | {returns} | {gone.returns} | ≤ {back} |")
    print(f"| class names that mean two things | 108 | {len(twice)} | 0 |")
    print(f"| files that are several | 55 | {len(banners)} | 0 |")
    if given.rooms:
        print("\n| room | files | lines |\n|---|---|---|")
        for name, each in now.items():
            print(f"| {name} | {each.files} | {each.lines:,} |")
    if given.names:
        print("\n" + "\n".join([*twice, "", *banners]))


def told(files: int, lines: int) -> str:
    return f"{files} files, {lines:,} lines"


if __name__ == "__main__":
    main()
