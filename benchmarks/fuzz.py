"""Hostile input: damaged files for every reader, and arguments for the commands.

Run ``python -m benchmarks.fuzz [--number 10000] [--seed 0] [--only files|commands]``, from the top of a checkout. A
graph of the hand-drawn sources is built into a temporary folder first. Each input is answered, or refused by one of
kgdx's own errors on one line; anything else is raw, and printed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.small_graph import BESIDE, FILES, TINY
from benchmarks.small_graph import build as build_small
from kgdx import errors
from kgdx.api.building import readers
from kgdx.case import read_cases
from kgdx.cli import main as run_command
from kgdx.config import Settings
from kgdx.errors import KgdxError
from kgdx.ingest.manifest import manifest
from kgdx.ingest.sources import read

SPLICES = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n\n", b"\t\t\t", b'"', b"'", b"\\", b"{}", b"[[[[", b"null",
    b"NaN",
    b"1e999", b"-1", b"9" * 400, b"\x1b[2J", b"\xe2\x80\xae", b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]>",
    b"&b;", b"<", b"]]>", b"true", b'{"a":' * 2000, b"\xf0\x9f\xa7\xac", b"HP:", b"OMIM:", b",", b";;", b"\xc3\x28",
)  # fmt: skip
TEXTS = (
    "", " ", "\0", "\x1b[2J", "-", "--", "HP:0001250", "HP:1", "OMIM:100001", "癫痫", "x" * 5000, "'; DROP", "{}",
    "[]", "NaN",
    "1e999", "-1", "../..", "/dev/null", "/etc/passwd", "\udc80", "😀", "\u202e", "bolt://127.0.0.1:1", "seizures",
    "file:///x", "http://[", "a=b", "=", "%s%n", "$HOME", "0", "99999999999999999999", "P3Y", "female", "AD", "TTN",
)  # fmt: skip


class Slow(BaseException):
    """An input took longer than anybody waits."""


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Return a file's content with a few damages of different kinds."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        size = len(data)
        at, end = sorted(chance.randrange(size) for _ in range(2)) if size else (0, 0)
        kind = chance.randrange(9)
        if kind == 0:
            del data[at:]
        elif kind == 1 and size:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 2:
            data[at:at] = chance.choice(SPLICES)
        elif kind == 3:
            data[at:end] = chance.choice(SPLICES)
        elif kind == 4:
            del data[at:end]
        elif kind == 5:
            data[at:at] = data[at:end] * 2
        elif kind == 6:
            data[at : at + 64] = bytes(chance.randrange(256) for _ in range(64))
        elif kind == 7:
            data = bytearray(bytes(data).replace(b"\n", chance.choice((b"\r\n", b"\r", b"")), chance.choice((1, -1))))
        else:
            lines = bytes(data).split(b"\n")
            chance.shuffle(lines)
            data = bytearray(b"\n".join(lines))
    return bytes(data)


def kind_of(error: BaseException) -> str:
    """Say what an error is: kgdx's own on one line, Python's about the call, or raw."""
    if isinstance(error, KgdxError):
        return "refused" if "\n" not in str(error) and str(error).strip() else "raw"
    frames = traceback.extract_tb(error.__traceback__)
    of_call = isinstance(error, TypeError) and frames[-1].filename in (__file__, errors.__file__)
    return "refused as a call" if of_call else "raw"


def tried(work: Callable[[], object]) -> tuple[str, str]:
    """Do something, and return what became of it and, where that is raw, what."""
    signal.setitimer(signal.ITIMER_PROF, 60)
    try:
        work()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        kind = "raw" if isinstance(error, Slow) else kind_of(error)
        place = traceback.extract_tb(error.__traceback__)[-1]
        return kind, f"{type(error).__name__}: {str(error)[:120]} at {place.filename.rpartition('/')[2]}:{place.lineno}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "answered", ""


def files(chance: random.Random, folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield readings of damaged files, for each reader of sources and of patients."""
    for name in BESIDE:
        shutil.copy(TINY / name, folder / name)
    sources = list(FILES.items())
    own = readers()
    cases = ("phenopacket.json", "cases.csv", "agentclinic.jsonl", "ddxplus-patients.csv", "dx-dialogue.jsonl")
    while True:
        source, file = chance.choice(sources)
        beside = file in ("kg.csv", "ddxplus-conditions.json") and chance.random() < 0.3
        chosen = folder / (chance.choice(BESIDE) if beside else file)
        shutil.copy(TINY / file, folder / file)
        content = damaged((TINY / chosen.name).read_bytes(), chance)
        chosen.write_bytes(content)
        path = folder / file
        yield f"source {source}", lambda: read(path, manifest(source), own)  # noqa: B023  done before the next
        if beside:
            shutil.copy(TINY / chosen.name, chosen)
        patient = chance.choice(cases)
        given = folder / f"patient{chance.choice((Path(patient).suffix, '.json', '.txt', '.jsonl', '.tsv'))}"
        given.write_bytes(damaged((TINY / patient).read_bytes(), chance))
        yield f"patients {given.name} of {patient}", lambda: list(read_cases(given))  # noqa: B023
        given.unlink()


ARGUMENTS = tuple(each for each in TEXTS if "\0" not in each)
"""What a shell can give to a command."""


def arguments(chance: random.Random, folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield command lines with arguments that nobody meant."""
    patient = folder / "patient.json"
    shutil.copy(TINY / "phenopacket.json", patient)
    flags = {
        "diagnose": ("--hpo", "--exclude-hpo", "--not", "--age", "--sex", "--onset", "--inheritance", "--gene",
            "--genes",
                     "--top", "--explain", "--policy", "--json", "--case-bank", "--store", "--html"),
        "explain": ("--hpo", "--age", "--json", "--policy", "--store"),
        "extract": ("--json", "--store", "--not"),
        "replay": ("--json", "--store"),
        "batch": ("--top", "--json", "--to", "--jobs", "--store", "--explain"),
        "ask": ("--case", "--policy", "--json", "--option", "--language", "--strict", "--store", "--rounds"),
        "report": ("--force", "--html"),
        "search": ("--kind", "--limit", "--json", "--store"),
        "run": ("--json", "--store", "--explain"),
        "templates": ("--json",),
        "schema": ("--json",),
        "split": ("--seed", "--share", "--json"),
        "predict": ("--top", "--json"),
        "nearest": ("--top", "--json"),
        "status": ("--json", "--store"),
        "verify": ("--json", "--store"),
        "diff": ("--json", "--store"),
        "cases": ("--number", "--seed", "--json"),
        "sources": ("--json", "--name"),
        "quarantine": ("--json", "--source", "--store"),
        "mappings": ("--json", "--store"),
        "evaluate": ("--json", "--seed", "--store"),
        "remove": ("--json",),
        "update": ("--json",),
    }  # fmt: skip
    groups = {
        "cases": ("list", "make", "generate", "new"),
        "evaluate": ("rank", "retrieve", "questions", "recall", "inquiry", "text"),
        "mappings": ("show", "list", "review", "import", "export", "accept", "reject"),
        "quarantine": ("show", "mend", "retry", "drop"),
        "sources": ("list", "new", "show", "check"),
    }
    values = (*ARGUMENTS, str(patient), str(folder), str(folder / "absent.json"))
    while True:
        command = chance.choice(list(flags))
        words = [command, *([chance.choice(groups[command])] if command in groups else [])]
        for _ in range(chance.randrange(5)):
            if chance.random() < 0.55:
                words.append(chance.choice(flags[command]))
            words.append(chance.choice(values).replace("\udc80", "?") if chance.random() < 0.97 else "\udc80")
        if words[1:2] == ["new"] or "--html" in words or "--to" in words:  # what they name would be written
            words = [command, "--help"]
        yield " ".join(ascii(word) for word in words), lambda: called(words)  # noqa: B023


def called(words: list[str]) -> None:
    """Run a command in this process; an unexpected error is raised again."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run_command(words)
        except SystemExit as ended:
            code = ended.code
    said = err.getvalue()
    if "unexpected error" in said or "Traceback" in said:
        raise RuntimeError(said.strip()[:300])
    if code not in (0, None):
        raise KgdxError(said.strip().splitlines()[-1] if said.strip() else f"ended with {code}")


def main() -> None:
    """Try as many inputs as wanted, and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("files", "commands"))
    parser.add_argument("--trace", action="store_true", help="print where each raw exception came from")
    given = parser.parse_args()
    signal.signal(signal.SIGPROF, _slow)
    shares = {"files": 0.7, "commands": 0.3}
    total: Counter[str] = Counter()
    raw: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="kgdx-fuzz-") as temporary:
        folder = Path(temporary)
        home = folder / "home"
        os.environ.update(KGDX_HOME=str(home), COLUMNS="100")
        os.environ.pop("KGDX_STORE", None)
        build_small(Settings.load().graph_folder)
        place = folder / "outer" / "in"  # so that "../.." is ours too
        place.mkdir(parents=True)
        os.chdir(place)
        with open(os.devnull) as sys.stdin:
            faces = {
                "files": lambda chance: files(chance, place),
                "commands": lambda chance: arguments(chance, place),
            }
            for name, make in faces.items():
                if given.only not in (None, name):
                    continue
                number = given.number if given.only else round(given.number * shares[name])
                tally: Counter[str] = Counter()
                for _, (what, work) in zip(range(number), make(random.Random(f"{given.seed} {name}")), strict=False):
                    kind, why = tried(work)
                    tally[kind] += 1
                    if kind == "raw":
                        raw[why] += 1
                        if raw[why] == 1 or given.trace:
                            print(f"raw: {what[:300]}\n     {why}", flush=True)
                print(f"{name}: {number:,} inputs; " + ", ".join(f"{n:,} {kind}" for kind, n in tally.most_common()))
                total += tally
    print(f"all: {total.total():,} inputs; " + ", ".join(f"{n:,} {kind}" for kind, n in total.most_common()))
    raise SystemExit(1 if total["raw"] else 0)


def _slow(*_: object) -> None:
    raise Slow("no end after 60 s of processor time")


if __name__ == "__main__":
    main()
