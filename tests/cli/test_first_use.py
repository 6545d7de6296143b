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
from conftest import ROOT, TINY_FILES
from kgdx.ingest.pipeline.graph_folder import GraphFolder

PATIENT = str(ROOT / "examples" / "patient.json")
ASKED = "Which diseases are caused by mutations of TRPS1?"
FIRST = "Tiny epilepsy syndrome 1"
BUILDING = "There is no graph yet: building the default one, once."
BUILT = "The default graph is built; `kgdx status` shows what it holds."

SMALL = """
import json, sys
from kgdx.cli import main
from kgdx.ingest.pipeline import build
choose, sources = build.choose, json.loads(sys.argv.pop(1))
build.choose = lambda wanted: choose(sources if wanted is None else wanted)
main(sys.argv[1:])
"""
"""The command, where the default graph is a small one."""

Run = subprocess.CompletedProcess[str]


def start(home: Path, *arguments: str, small: str = "", **environ: str) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KGDX_")}
    return subprocess.Popen(
        [sys.executable, *(("-c", SMALL, small) if small else ("-m", "kgdx")), *arguments],
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


@pytest.mark.heavy
def test_an_interrupt_of_the_first_build_ends_it_quietly_with_130(tmp_path: Path) -> None:
    process = start(tmp_path, "diagnose", PATIENT, "--json")
    assert process.stderr is not None
    said = ""
    while "check" not in said:
        line = process.stderr.readline()
        assert line, f"it ended early: {said}"
        said += line
    process.send_signal(signal.SIGINT)
    done = end(process)
    assert (done.returncode, done.stdout) == (130, "")
    first, *stages = (said + done.stderr).splitlines()
    assert first == BUILDING
    assert [line.split()[2] for line in stages] == ["fetch", "parse", "check"]


@pytest.mark.heavy
def test_commands_that_start_together_build_one_graph_and_all_answer_from_it(tmp_path: Path, tiny: Path) -> None:
    small = json.dumps({name: str(tiny / file) for name, file in TINY_FILES.items()})
    commands = (
        ("diagnose", "Seizure", "--json"),
        ("ask", "Which diseases have seizures?", "--json"),
        ("explain", "Seizure", "OMIM:100001"),
    )
    together = [end(process) for process in [start(tmp_path, *each, small=small) for each in commands]]
    assert [done.returncode for done in together] == [0, 0, 0], [done.stderr for done in together]
    diagnosis, answer, explanation = (done.stdout for done in together)
    assert json.loads(diagnosis)["candidates"] and json.loads(answer)
    assert all(FIRST in told for told in (diagnosis, answer, explanation))
    assert sum(BUILT in done.stderr for done in together) == 1
    assert len(list((graph_in(tmp_path).path / "builds").iterdir())) == 1
    again = end(start(tmp_path, *commands[0]))
    assert (again.returncode, again.stderr) == (0, "") and json.loads(again.stdout)["candidates"]


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
