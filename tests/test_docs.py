"""The documentation builds without a warning, its links hold, and the commands it shows exist."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kgdx
from conftest import ROOT, require_module
from kgdx.answer.artifacts import Retrieved

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
VARIABLE = re.compile(r"\bKGDX_[A-Z]+(?:_[A-Z]+)*\b")
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(page: Path, *languages: str) -> Iterator[str]:
    for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language in languages:
            yield text


def commands(page: Path) -> Iterator[list[str]]:
    """Every call of ``kgdx`` in the page's shell blocks, without what it is piped from or into."""
    for block in blocks(page, "bash", "console", "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            for i, word in enumerate(words):
                if word == "kgdx" and (i == 0 or words[i - 1] in ("|", "&&", ";", "time")):
                    rest = words[i + 1 :]
                    ends = [n for n, w in enumerate(rest) if w in ("|", "&&", ";", ">", "<", "2>")]
                    yield rest[: ends[0]] if ends else rest


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_in_the_documentation_exist(page: Path) -> None:
    from typer.main import get_command

    from kgdx.cli.commands import app

    for words in commands(page):
        command: Any = get_command(app)
        rest = list(words)
        while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
            assert rest[0] in command.commands, f"kgdx {shlex.join(words)}"
            command = command.commands[rest.pop(0)]
        try:
            command.make_context("kgdx", rest)  # parses the arguments and runs nothing
        except Exception as error:
            pytest.fail(f"kgdx {shlex.join(words)}: {error}", pytrace=False)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_in_the_documentation_is_python(page: Path) -> None:
    for block in blocks(page, "python"):
        compile(block, str(page), "exec")


@pytest.mark.parametrize("page", PAGES[:2], ids=name_of)
def test_links_of_the_pages_outside_the_site_hold(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), target


def test_every_variable_that_the_program_reads_is_documented() -> None:
    read = {name for path in (ROOT / "src").rglob("*.py") for name in VARIABLE.findall(path.read_text("utf-8"))}
    said = (ROOT / "docs" / "reference" / "settings.md").read_text("utf-8")
    assert {"KGDX_HOME", "KGDX_SERVE_TOKEN"} <= read
    assert sorted(name for name in read if f"`{name}`" not in said) == []


@pytest.mark.heavy
def test_the_site_builds_without_a_warning_and_its_links_hold(tmp_path: Path) -> None:
    require_module("mkdocs", "docs")
    require_module("mkdocstrings", "docs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "reference" / "api" / "index.html").read_text(encoding="utf-8")
    names = {name: getattr(kgdx, name) for name in kgdx.__all__}
    anchors = {name: (f"kgdx.{name}", f"{o.__module__}.{o.__qualname__}") for name, o in names.items()}
    missing = [name for name, ids in anchors.items() if not any(f'id="{id_}"' in page for id_ in ids)]
    assert missing == [], "public, but not on the API page"


@pytest.mark.heavy
def test_the_python_of_the_guides_runs_as_it_stands(
    monkeypatch: pytest.MonkeyPatch, kgdx_home: Path, tmp_path: Path, default_graph: Path
) -> None:
    require_module("neo4j_viz", "viz")
    shutil.copytree(default_graph, kgdx_home / "graphs" / "default")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    require_module("gymnasium", "environment")
    left: dict[str, dict[str, Any]] = {}
    guides = [f"how-to/{name}" for name in ("python", "ask", "actions", "citations", "report", "extend")]
    for page in (ROOT / "docs" / f"{name}.md" for name in (*guides, "explanation/loop")):
        guide = page.stem
        names = left.setdefault(guide, {})
        exec(compile("\n".join(blocks(page, "python")), page.name, "exec"), names)
    assert left["python"]["diagnosis"].candidates
    assert left["python"]["run"]
    looked_up = left["actions"]["state"].all(Retrieved)
    assert [found.action for found in looked_up] == ["get_phenotype", "infer_by_phenotype"]
    assert left["citations"]["answer"].text.cited
    assert "<svg" in (tmp_path / "patient.html").read_text(encoding="utf-8")
