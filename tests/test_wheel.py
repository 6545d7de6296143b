"""What people install: the wheel, found before this checkout, builds a graph and diagnoses from there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT, TINY, require_module

pytestmark = pytest.mark.heavy

FOLDERS = ("cypher", "data", "examples", "loaders", "ontology", "ranking")


def run(*command: object, cwd: Path, env: dict[str, str]) -> str:
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Wheel and sdist of this checkout."""
    require_module("build", "dev")
    require_module("hatchling", "dev")
    folder = tmp_path_factory.mktemp("dist")
    command = (sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    run(*command, cwd=folder, env=dict(os.environ))
    return {"wheel": next(folder.glob("*.whl")), "sdist": next(folder.glob("*.tar.gz"))}


@pytest.fixture(scope="module")
def kgdx(built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables that let ``python -m kgdx`` find what the wheel holds and not this checkout.

    That the wheel asks for all it needs shows the set-up of continuous integration, in an empty environment.
    """
    folder = tmp_path_factory.mktemp("installed")
    run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        folder / "wheel",
        built["wheel"],
        cwd=folder,
        env=dict(os.environ),
    )
    env = {k: v for k, v in os.environ.items() if not k.startswith(("KGDX_", "PYTHON", "COV_", "PYTEST_"))}
    return env | {"KGDX_HOME": str(folder / "home"), "PYTHONPATH": str(folder / "wheel")}


def tracked(folder: str) -> set[str]:
    """Files of a folder as git knows them; all of them outside a repository."""
    listed = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.split() or [p.relative_to(ROOT).as_posix() for p in (ROOT / folder).rglob("*") if p.is_file()]
    return set(names)


def test_the_wheel_carries_all_data_folders_and_the_type_marker(built: dict[str, Path]) -> None:
    names = set(zipfile.ZipFile(built["wheel"]).namelist())
    for folder in FOLDERS:
        assert {f"kgdx/_data/{name}" for name in tracked(folder)} <= names
    assert "kgdx/py.typed" in names
    assert not [n for n in names if n.startswith(("tests/", "docs/"))]


def test_the_sdist_carries_what_it_takes_to_test(built: dict[str, Path]) -> None:
    with tarfile.open(built["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for folder in (*FOLDERS, "src", "tests", "docs"):
        assert tracked(folder) <= names
    assert {"LICENSE", "README.md", "CHANGELOG.md", "mkdocs.yml", "pyproject.toml"} <= names


def test_the_installed_wheel_builds_a_graph_and_diagnoses(kgdx: dict[str, str], tmp_path: Path) -> None:
    command = (sys.executable, "-m", "kgdx")
    where = run(sys.executable, "-c", "import kgdx; print(kgdx.__file__)", cwd=tmp_path, env=kgdx)
    assert where.startswith(kgdx["PYTHONPATH"])
    store = tmp_path / "graph"
    sources = [f"hp={TINY / 'hp.obo'}", f"hpoa={TINY / 'phenotype.hpoa'}", f"genes={TINY / 'genes_to_phenotype.txt'}"]
    run(*command, "build", *sources, "--store", store, cwd=tmp_path, env=kgdx)
    answer = run(*command, "diagnose", TINY / "phenopacket.json", "--store", store, "--json", cwd=tmp_path, env=kgdx)
    diagnosis = json.loads(answer)
    (disease,) = json.loads((TINY / "phenopacket.json").read_text())["diseases"]
    assert diagnosis["candidates"][0]["id"] == disease["term"]["id"]
    assert diagnosis["evidence"]
    assert "0.1.0" in run(*command, "--version", cwd=tmp_path, env=kgdx)
