"""The default graph is built when a command first needs it: once, by whoever is first, and never where one is named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import kgdx
from conftest import ROOT
from kgdx.ingest.pipeline.graph_folder import GraphFolder

PATIENT = str(ROOT / "examples" / "patient.json")
ASKED = "Which diseases are caused by mutations of TRPS1?"
BUILDING = "There is no graph yet: building the default one, once."
BUILT = "The default graph is built; `kgdx status` shows what it holds."

Run = subprocess.CompletedProcess[str]
Home = tuple[Path, Run]


def start(home: Path, *arguments: str, **environ: str) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KGDX_")}
    return subprocess.Popen(
        [sys.executable, "-m", "kgdx", *arguments],
        env={**kept, "KGDX_HOME": str(home), "COLUMNS": "80", **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(process: subprocess.Popen[str]) -> Run:
    out, err = process.communicate(timeout=300)
    return Run(process.args, process.returncode, out, err)


def graph_in(home: Path) -> GraphFolder:
    return GraphFolder(home / "graphs" / "default")


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home whose first build somebody has interrupted, and what the command said."""
    home = tmp_path_factory.mktemp("first")
    process = start(home, "diagnose", PATIENT, "--json")
    assert process.stderr is not None
    said = ""
    while "check" not in said:
        line = process.stderr.readline()
        assert line, f"it ended early: {said}"
        said += line
    process.send_signal(signal.SIGINT)
    done = end(process)
    return home, Run(done.args, done.returncode, done.stdout, said + done.stderr)


@pytest.fixture(scope="module")
def together(interrupted: Home) -> list[Run]:
    """Three commands that were started at once in that home, where there is still no graph."""
    home, _ = interrupted
    commands = (("diagnose", PATIENT, "--json"), ("ask", ASKED, "--json"), ("explain", PATIENT, "OMIM:190350"))
    return [end(process) for process in [start(home, *command) for command in commands]]


@pytest.mark.heavy
def test_an_interrupt_of_the_first_build_ends_it_quietly_with_130(interrupted: Home) -> None:
    _, done = interrupted
    assert (done.returncode, done.stdout) == (130, "")
    first, *stages = done.stderr.splitlines()
    assert first == BUILDING
    assert [line.split()[2] for line in stages] == ["fetch", "parse", "check"]


@pytest.mark.heavy
def test_commands_that_start_together_build_one_graph_and_all_answer_from_it(
    interrupted: Home, together: list[Run]
) -> None:
    diagnosis, answer, explanation = together
    assert [done.returncode for done in together] == [0, 0, 0], [done.stderr for done in together]
    assert json.loads(diagnosis.stdout)["candidates"][0]["id"] == "OMIM:190350"
    assert json.loads(answer.stdout) and "Trichorhinophalangeal syndrome, type III" in answer.stdout
    assert "Trichorhinophalangeal syndrome, type I" in explanation.stdout
    assert sum(BUILT in done.stderr for done in together) == 1
    assert len(list((graph_in(interrupted[0]).path / "builds").iterdir())) == 1


@pytest.mark.heavy
def test_the_second_use_says_nothing_of_building(interrupted: Home, together: list[Run]) -> None:
    done = end(start(interrupted[0], "diagnose", PATIENT, "--json"))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["candidates"]


@pytest.mark.parametrize("command", [("diagnose", PATIENT), ("ask", ASKED), ("batch", PATIENT), ("serve",)])
def test_a_home_that_cannot_be_written_is_said_in_one_line(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "graphs").touch()
    done = end(start(tmp_path, *command))
    assert (done.returncode, done.stdout) == (6, "")
    assert len(done.stderr.splitlines()) == 1
    assert "cannot be written (Not a directory): check its permissions or choose another --store" in done.stderr


@pytest.mark.parametrize("how", ["option", "variable", "config"])
def test_a_graph_that_is_named_is_never_built(tmp_path: Path, how: str) -> None:
    home, named = tmp_path / "home", str(tmp_path / "mine")
    home.mkdir()
    words = ["--store", named] if how == "option" else []
    environ = {"KGDX_STORE": named} if how == "variable" else {}
    if how == "config":
        (home / "config.toml").write_text(f'store = "{named}"\n', encoding="utf-8")
    done = end(start(home, "diagnose", PATIENT, *words, **environ))
    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr == f"error: no graph at {named}: build one with `kgdx build`\n"
    assert not graph_in(home).path.exists() and not Path(named).exists()


@pytest.mark.parametrize(
    ("command", "code"),
    [(("diagnose",), 2), (("diagnose", "nobody.json"), 7), (("serve", "--host", "0.0.0.0"), 2), (("browse",), 2)],
)
def test_what_cannot_be_right_is_refused_before_anything_is_built(
    tmp_path: Path, command: tuple[str, ...], code: int
) -> None:
    done = end(start(tmp_path, *command))
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == 1
    assert not graph_in(tmp_path).path.exists()


@pytest.mark.parametrize("command", [("status",), ("replay", "run:0123456789abcdef"), ("update", "hp")])
def test_commands_about_a_graph_that_is_there_build_none(tmp_path: Path, command: tuple[str, ...]) -> None:
    done = end(start(tmp_path, *command))
    assert done.returncode == 6
    assert "build one with `kgdx build`" in done.stderr
    assert not graph_in(tmp_path).exists


def test_from_python_it_is_built_where_that_is_asked_for(
    kgdx_home: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kgdx.ingest.pipeline import build

    sources = {"hp": str(tiny / "hp.obo"), "hpoa": str(tiny / "phenotype.hpoa")}
    choose = build.choose
    monkeypatch.setattr(build, "choose", lambda wanted: choose(sources if wanted is None else wanted))
    with pytest.raises(kgdx.KgdxError, match="no graph at"):
        kgdx.open()
    with pytest.raises(kgdx.KgdxError, match="no graph at"):
        kgdx.open(kgdx_home / "mine", build=True)
    said: list[str] = []
    with kgdx.open(build=True, progress=said.append) as graph:
        assert graph.diagnose("seizures").candidates
    assert said == [
        "looking for the sources",
        "reading the sources",
        "checking against the ontology",
        "inferring",
        "compiling the snapshot",
        "indexing names",
        "filling the store",
        "finishing",
    ]
    first = graph_in(kgdx_home).current()
    with kgdx.open(build=True):
        assert graph_in(kgdx_home).current() == first
