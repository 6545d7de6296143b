"""Packages of their own: each name that kgdx leaves to one is there, and is told where it is not installed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import kgdx
from conftest import ROOT
from kgdx.actions.graph_source import MAPPED
from kgdx.cli.options import COMMANDS
from kgdx.errors import MissingPackageError, UsageError
from kgdx.evaluate.option_sets import FORMATS

APART = (MAPPED, COMMANDS, FORMATS)


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    for registry in APART:
        monkeypatch.setattr(registry, "_points", None)
        monkeypatch.setattr(registry, "_classes", {})


def test_every_name_that_a_package_brings_is_one_of_its_entry_points() -> None:
    left = {(registry.group, name, package) for registry in APART for name, package in registry.apart.items()}
    brought = set()
    for file in (ROOT / "packages").glob("*/pyproject.toml"):
        project = tomllib.loads(file.read_text("utf-8"))["project"]
        assert project["name"] == file.parent.name
        for group, points in project["entry-points"].items():
            for name, value in points.items():
                module = value.partition(":")[0].replace(".", "/")
                assert (file.parent / "src" / f"{module}.py").is_file(), value
                brought.add((group, name, project["name"]))
    assert left == brought


def test_what_is_not_installed_says_so_in_one_line() -> None:
    for registry in APART:
        for name, package in registry.apart.items():
            said = f"^the {registry.kind} {name} needs the package {package}: pip install {package}$"
            with pytest.raises(MissingPackageError, match=said):
                registry.get(name)


def test_a_mapping_needs_its_package_and_a_server(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a mapping is for a Neo4j database"):
        kgdx.open(tmp_path, mapping=tmp_path / "mapping.yaml")
    with pytest.raises(MissingPackageError, match="pip install kgdx-foreign$"):
        kgdx.open("bolt://127.0.0.1:9", mapping=tmp_path / "mapping.yaml")


@pytest.mark.parametrize("words", ["neo4j mapping", "neo4j mapping new mine.yaml --source us", "neo4j mapping check x"])
def test_commands_of_a_package_say_what_to_install(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    from kgdx.cli import main

    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == MissingPackageError.exit_code
    assert capsys.readouterr().err.splitlines() == [
        "error: the group of commands mapping needs the package kgdx-foreign: pip install kgdx-foreign"
    ]
