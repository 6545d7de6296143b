"""A package outside of the project adds an action, an encoder, a policy, a scorer and a source; kgdx stays as it is."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from conftest import ROOT, TINY, require_module
from kgdx.episode import POLICIES

PACKAGE = Path(__file__).with_name("package")

PROGRAM = """
import sys
import kgdx
from kgdx.actions import parse_action
from kgdx.case import Case, Finding
from kgdx.episode import ACTIONS, POLICIES, World, begin, dump, load, make_policy, policy_of, resume, run
from kgdx.ingest.manifest import manifests
from kgdx.rank.ranker import Ranker
from kgdx.rank.scorers import SCORERS
from kgdx.terms.encoder import encoder

tiny, ward, store = sys.argv[1:]
assert "count_findings" in ACTIONS and "count_first" in POLICIES and "gene_count" in SCORERS and "ward" in manifests()
assert parse_action({"action": "count_findings"}, ACTIONS).name == "count_findings"
assert encoder("letters:2").encode(["gout"]).shape == (1, 27)
kgdx.build({"hp": f"{tiny}/hp.obo", "hpoa": f"{tiny}/phenotype.hpoa", "ward": ward}, store=store)
with kgdx.open(store) as graph:
    assert graph.names.resolve("Disease of the ward").ids == ("OMIM:999999",)
    assert graph.diagnose(Case("p", (Finding("HP:0001250"),)), policy="count_first").candidates
    policy = make_policy("count_first", {"top": 2})
    ranker = Ranker.open(graph.snapshot, {"likelihood": 1, "gene_count": 0.1})
    assert "gene_count" in ranker.rank((["HP:0001250"], [])).candidates[0].parts
    episode = run(World(graph), begin(Case("p", (Finding("HP:0001250"),)), policy), policy)
    assert episode.reason == "diagnosed", episode
    log = load(dump(episode.log[:4]))
    assert run(World(graph), resume(World(graph), log), policy_of(log)).log == episode.log
print("all of them")
"""


def kinds() -> dict[str, list[str]]:
    """The table of CONTRIBUTING.md: kind → file, registry, test, page."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Add one of a kind")[2]
    rows = re.findall(r"^\| (\w+) \| (.+) \|$", section.partition("\n## ")[0], re.MULTILINE)
    return {kind: [cell.strip(" `") for cell in rest.split("|")] for kind, rest in rows if kind != "kind"}


def test_contributing_names_for_each_kind_its_file_registry_test_and_page() -> None:
    entry_points = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    added = set()
    assert set(kinds()) == {"action", "scorer", "policy", "source", "encoder"}
    for kind, (file, place, test, page) in kinds().items():
        for path in (file, test, page):
            assert (ROOT / path).is_file(), path
        assert re.search(rf"\b{kind}", (ROOT / page).read_text(encoding="utf-8"), re.IGNORECASE), page
        module, _, name = place.partition(":")
        registry = getattr(importlib.import_module(module), name)
        assert registry.kind == kind
        added.add(registry.group)
    assert added == set(entry_points), "the package outside adds one of each"


def test_no_policy_is_known_by_its_name_outside_its_file() -> None:
    names = set(POLICIES.builtin)
    found = []
    for path in sorted((ROOT / "src" / "kgdx").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare | ast.Subscript):
                said = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
                text = ast.unparse(node)
                compared = isinstance(node, ast.Compare) and "policy" in text
                listed = text.startswith("Literal[") and len(names & said) > 1
                if names & said and (compared or listed):
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {text}")
    assert found == []


@pytest.mark.heavy
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
