"""Random damages to the files of a graph: each is noticed or without effect, and none gives another answer.

Run ``python -m benchmarks.damages [--store FOLDER] [--number 200] [--seed 0]``, from the top of a checkout. The graph
(that of the hand-drawn sources without ``--store``) is copied, and asked for rankings with their evidence, findings
in a text, names, counts and template rows, each in a process's own cold state. Then, again and again, one file of the
copy is cut, flipped, zeroed, removed, swapped with another, or put in the place of another; the same questions are
asked; and the file is put back. In every fourth damage the file keeps its time of change, as when a disk loses bits
by itself: opening cannot notice that, and ``kgdx verify`` has to.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import kgdx
from benchmarks.small_graph import build as build_small
from kgdx import api
from kgdx.errors import KgdxError

TEMPLATES = ("phenotypes_of_diseases", "genes_of_diseases", "same_as_of_diseases", "groups_of_diseases")
SOME = 400
PATIENTS = 3
WORDS = "She has seizures, ataxia and muscle weakness, but no fever. 患儿肌张力减低，反复抽搐。"
QUESTIONS = ("Which genes are associated with Marfan syndrome?", "Which diseases show ectopia lentis?")


def answers(folder: Path, said: list[str]) -> str:
    """Return what users read of a graph, as text."""
    with kgdx.open(folder, progress=said.append) as graph:
        known = graph.snapshot.column("disease", "id").tolist()
        diseases = known[:: max(1, len(known) // SOME)]
        rows: dict[str, Any] = {name: graph.store.run(name, diseases=diseases) for name in TEMPLATES}
        phenotypes = graph.snapshot.column("phenotype", "id")
        terms = sorted({str(phenotypes[row]) for row in graph.snapshot.column("has_phenotype", "phenotype")})
        for number in range(PATIENTS):
            found = graph.diagnose(terms[number::PATIENTS][:4], top=20, explain=3)
            rows[f"ranking {number}"] = [(each.id, each.score) for each in found.candidates]
            rows[f"evidence {number}"] = [path.to_dict() for paths in found.evidence.values() for path in paths]
        rows["text"] = [finding.id for finding in graph.extract(WORDS).findings]
        rows["answers"] = [graph.ask(question).text.text for question in QUESTIONS]
        rows["names"] = [graph.search(name).rows() for name in ("marfan", "ataxia telan", "癫痫")]
        rows["counts"] = sorted(graph.store.counts().items())
        rows["sources"] = graph.run("sources")
        return json.dumps(rows, sort_keys=True, default=str)


def cut(file: Path, _: Path, chance: random.Random) -> None:
    """Keep the beginning of a file."""
    os.truncate(file, chance.randrange(file.stat().st_size or 1))


def flip(file: Path, _: Path, chance: random.Random) -> None:
    """Turn one bit of a file over."""
    with file.open("r+b") as stream:
        size = stream.seek(0, os.SEEK_END)
        if size:
            at = stream.seek(chance.randrange(size))
            byte = stream.read(1)[0]
            stream.seek(at)
            stream.write(bytes([byte ^ 1 << chance.randrange(8)]))


def zero(file: Path, _: Path, chance: random.Random) -> None:
    """Write zeros over a part of a file, as a file system does that was cut short."""
    with file.open("r+b") as stream:
        size = stream.seek(0, os.SEEK_END)
        at = stream.seek(chance.randrange(size or 1))
        stream.write(bytes(min(size - at, chance.choice((64, 4096, size)))))


def lose(file: Path, _: Path, __: random.Random) -> None:
    """Remove a file."""
    file.unlink()


def swap(file: Path, other: Path, _: random.Random) -> None:
    """Give two files each other's names."""
    aside = file.with_name("aside")
    file.rename(aside)
    other.rename(file)
    aside.rename(other)


def replaced(file: Path, other: Path, _: random.Random) -> None:
    """Put a copy of another file in a file's place."""
    shutil.copyfile(other, file)


KINDS: tuple[Callable[[Path, Path, random.Random], None], ...] = (cut, flip, zero, lose, swap, replaced)


def files_of(folder: Path) -> dict[str, int]:
    """Return all files of a graph folder with their sizes."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in found}


def put_back(whole: Path, folder: Path, state: dict[str, tuple[int, int]], damaged: Collection[str]) -> None:
    """Make a folder equal to the whole one again; only what differs, or was damaged, is copied."""
    for path in list(folder.rglob("*")):
        if not (whole / path.relative_to(folder)).exists():
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    for name, was in state.items():
        file = folder / name
        now = file.stat() if file.exists() else None
        if now is None or (now.st_size, now.st_mtime_ns) != was or name in damaged:
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(whole / name, file)


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of change of all files of a folder."""
    return {name: (size, (folder / name).stat().st_mtime_ns) for name, size in files_of(folder).items()}


def seen(folder: Path, expected: str) -> str:
    """Say whether a damage that opening cannot see is found; whatever the graph answers until then, nothing raw."""
    found, same = api.verify(store=folder), False
    with suppress(KgdxError):
        same = answers(folder, []) == expected
    if found.faults or found.again:
        return "time of change kept: found by `kgdx verify`"
    return "without effect" if same else "not found by `kgdx verify`"


def trial(number: int, whole: Path, folder: Path, expected: str, chance: random.Random) -> tuple[str, str, set[str]]:
    """Damage one file, and return what became of it, what was done, and to which files."""
    names = [name for name, size in files_of(folder).items() if size or name.endswith("lock")]
    weighed = names if number % 2 else [name for name in names if "/store/" in name or "/snapshot/" in name]
    name = chance.choice(weighed)
    of_its_kind = [each for each in names if each != name and Path(each).suffix == Path(name).suffix] or names
    other, damage = chance.choice(of_its_kind), chance.choice(KINDS)
    kept = number % 4 == 3
    damage = chance.choice((flip, zero)) if kept else damage
    file, before = folder / name, (folder / name).stat()
    damage(file, folder / other, chance)
    if kept:
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    touched = {name, other}
    about = f"{damage.__name__} {name}" + (f" and {other}" if damage in (swap, replaced) else "") + " kept" * kept
    if file.exists() and file.read_bytes() == (whole / name).read_bytes() and damage is not swap:
        return "without effect: the file is as it was", about, touched
    said: list[str] = []
    try:
        if kept:
            return seen(folder, expected), about, touched
        same = answers(folder, said) == expected
    except KgdxError as error:
        lines = "refused in one line" if "\n" not in str(error) else "a message of several lines"
        return lines, f"{about}: {error}", touched
    except Exception as error:
        return "a raw exception", f"{about}: {type(error).__name__}: {error}", touched
    if not same:
        return "another answer", about, touched
    return ("made again, and said" if any("made again" in line for line in said) else "without effect"), about, touched


def main() -> None:
    """Damage a graph as often as wanted, and print what became of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="print each damage")
    given = parser.parse_args()
    chance, tally = random.Random(given.seed), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="kgdx-damages-") as temporary:
        whole, folder = Path(temporary) / "whole", Path(temporary) / "graph"
        os.environ["KGDX_HOME"] = temporary
        source = given.store or build_small(Path(temporary) / "made")
        shutil.copytree(source, whole, ignore=shutil.ignore_patterns("stages"))
        answers(whole, [])  # makes what is derived, and records the times of the copy
        expected = answers(whole, [])
        shutil.copytree(whole, folder)
        state = state_of(whole)
        damaged: set[str] = set()
        for number in range(given.number):
            put_back(whole, folder, state, damaged)
            kind, about, damaged = trial(number, whole, folder, expected, chance)
            tally[kind] += 1
            if given.verbose or kind in BAD:
                print(f"{number}: {kind}: {about[:300]}", flush=True)
    print(f"{tally.total()} damages: " + ", ".join(f"{count} {kind}" for kind, count in tally.most_common()))
    raise SystemExit(1 if any(tally[kind] for kind in BAD) else 0)


BAD = ("another answer", "a raw exception", "a message of several lines", "not found by `kgdx verify`")


if __name__ == "__main__":
    main()
