"""A package outside of the project adds an action, a policy, a scorer and a source, without a line of kgdx."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, TINY, require_module

PACKAGE = Path(__file__).with_name("package")

PROGRAM = """
import sys
import kgdx
from kgdx.actions import parse_action
from kgdx.case import Case, Finding
from kgdx.episode import ACTIONS, POLICIES, World, begin, dump, load, make_policy, policy_of, resume, run
from kgdx.load.manifest import manifests
from kgdx.rank.scorers import SCORERS

tiny, ward, store = sys.argv[1:]
assert "count_findings" in ACTIONS and "count_first" in POLICIES and "genes" in SCORERS and "ward" in manifests()
assert parse_action({"action": "count_findings"}, ACTIONS).name == "count_findings"
assert SCORERS.get("genes").name == "genes"
kgdx.build({"hp": f"{tiny}/hp.obo", "hpoa": f"{tiny}/phenotype.hpoa", "ward": ward}, store=store)
with kgdx.open(store) as graph:
    assert graph.names.resolve("Disease of the ward").ids == ("OMIM:999999",)
    assert graph.diagnose(Case("p", (Finding("HP:0001250"),)), policy="count_first").candidates
    policy = make_policy("count_first", {"top": 2})
    episode = run(World(graph), begin(Case("p", (Finding("HP:0001250"),)), policy), policy)
    assert episode.reason == "diagnosed", episode
    log = load(dump(episode.log[:4]))
    assert run(World(graph), resume(World(graph), log), policy_of(log)).log == episode.log
print("all of them")
"""


@pytest.mark.slow
def test_an_installed_package_adds_one_of_each(tmp_path: Path) -> None:
    require_module("hatchling", "dev")
    site = tmp_path / "site"
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
    install = (sys.executable, "-m", "pip", "install", *offline, "--target", str(site), str(PACKAGE))
    done = subprocess.run(install, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    ward = tmp_path / "ward.txt"
    ward.write_text("OMIM:999999 | Disease of the ward | HP:0001250\n", encoding="utf-8")
    path = os.pathsep.join((str(site), str(ROOT / "src")))
    env = {**os.environ, "PYTHONPATH": path, "KGDX_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-c", PROGRAM, str(TINY), str(ward), str(tmp_path / "graph")]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=300)
    assert (done.returncode, done.stdout.strip().splitlines()[-1:]) == (0, ["all of them"]), done.stderr
