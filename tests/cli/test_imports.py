"""What the commands that are run most may import: a package or a module more is time that everybody waits for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import atexit, sys
atexit.register(lambda: print("|".join(sorted(sys.modules)), file=sys.stderr))
from kgdx.cli import main
main(sys.argv[1:])
"""
ARGUMENTS = {"annotated_doc", "kgdx", "shellingham", "typer"}
MODELS = {"annotated_types", "platformdirs", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection"}
READING = ARGUMENTS | MODELS | {"numpy", "portalocker", "rapidfuzz", "rich"}
RANKING = (READING - {"rapidfuzz"}) | {"yaml"}
STORE = {"arcadedb", "cloudpickle", "owlready2", "owlready2_optimized", "polars", "pyarrow"}
NOT_OURS = {"_distutils_hack", "dateutil", "pandas", "pytz", "six", "sitecustomize"}
"""What polars and Arrow import where it is installed, and what an environment brings."""
MODULES = Path(__file__).with_name("imported.txt")
"""A module of ours on each line, and the commands that may import it."""
PATIENT = {"id": "p", "observed": ["HP:0001250", "HP:0001252"], "excluded": ["HP:0004322"]}


@pytest.mark.parametrize(
    ("name", "arguments", "allowed"),
    [
        ("help", ("--help",), ARGUMENTS | {"kgdx_foreign", "kgdx_train"}),
        ("diagnose", ("diagnose", "FILE"), RANKING),
        ("diagnose-json", ("diagnose", "FILE", "--json"), RANKING),
        ("extract", ("extract", "No seizures. She has ptosis."), READING),
        ("ask", ("ask", "Which phenotypes does Marfan syndrome have?"), RANKING | {"rapidfuzz"} | STORE),
    ],
)
def test_a_command_imports_only_what_it_needs(
    home: Path, tmp_path: Path, request: pytest.FixtureRequest, name: str, arguments: tuple[str, ...], allowed: set[str]
) -> None:
    file = tmp_path / "patient.json"
    file.write_text(json.dumps(PATIENT))
    kept = {key: value for key, value in os.environ.items() if not key.startswith("KGDX_")}
    told = [sys.executable, "-c", CODE, *(str(file) if each == "FILE" else each for each in arguments)]
    for _ in range(2):  # the first run of a graph may compile what the next ones read
        done = subprocess.run(told, env={**kept, "KGDX_HOME": str(home)}, capture_output=True, text=True, check=False)
    modules = done.stderr.splitlines()[-1].split("|")
    assert "kgdx" in modules and done.returncode == 0, done.stderr
    found = {module.partition(".")[0] for module in modules} - set(sys.stdlib_module_names) - {"__main__"}
    found = {name for name in found if not name.startswith(("_cy", "_sysconfig", "cython_", "_polars_runtime"))}
    assert found - NOT_OURS <= allowed, sorted(found - NOT_OURS - allowed)
    ours = {module for module in modules if module.partition(".")[0] == "kgdx"}
    known = {line.partition(" ")[0]: set(line.split()[1:]) for line in MODULES.read_text("utf-8").splitlines()}
    if request.config.getoption("--update-goldens"):
        for module in {*known, *ours}:
            known[module] = known.get(module, set()) - {name} | ({name} if module in ours else set())
        lines = [" ".join([module, *sorted(users)]) + "\n" for module, users in sorted(known.items()) if users]
        MODULES.write_text("".join(lines), "utf-8")
    more = sorted(module for module in ours if name not in known.get(module, ()))
    assert not more, f"{name} imports {', '.join(more)} besides (-n 0 --update-goldens keeps what it imports now)"
