"""What the commands that are run most may import: a package more is time that everybody waits for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import atexit, sys
atexit.register(lambda: print("|".join(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr))
from kgdx.cli import main
main(sys.argv[1:])
"""
ARGUMENTS = {"annotated_doc", "kgdx", "shellingham", "typer"}
MODELS = {"annotated_types", "platformdirs", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection"}
READING = ARGUMENTS | MODELS | {"numpy", "portalocker", "rapidfuzz", "rich"}
RANKING = READING | {"yaml"}
STORE = {"arcadedb", "cloudpickle", "owlready2", "owlready2_optimized", "polars", "pyarrow"}
NOT_OURS = {"_distutils_hack", "dateutil", "pandas", "pytz", "six", "sitecustomize"}
"""What polars and Arrow import where it is installed, and what an environment brings."""
PATIENT = {"id": "p", "observed": ["HP:0001250", "HP:0001252"], "excluded": ["HP:0004322"]}


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (("--help",), ARGUMENTS | {"kgdx_foreign", "kgdx_train"}),
        (("diagnose", "FILE"), RANKING),
        (("diagnose", "FILE", "--json"), RANKING),
        (("extract", "No seizures. She has ptosis."), READING),
        (("ask", "Which phenotypes does Marfan syndrome have?"), RANKING | STORE),
    ],
    ids=["help", "diagnose", "diagnose as JSON", "extract", "ask"],
)
def test_a_command_imports_only_what_it_needs(
    home: Path, tmp_path: Path, arguments: tuple[str, ...], allowed: set[str]
) -> None:
    file = tmp_path / "patient.json"
    file.write_text(json.dumps(PATIENT))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KGDX_")}
    told = [sys.executable, "-c", CODE, *(str(file) if each == "FILE" else each for each in arguments)]
    for _ in range(2):  # the first run of a graph may compile what the next ones read
        done = subprocess.run(told, env={**kept, "KGDX_HOME": str(home)}, capture_output=True, text=True, check=False)
    found = set(done.stderr.splitlines()[-1].split("|")) - set(sys.stdlib_module_names) - {"__main__"}
    found = {name for name in found if not name.startswith(("_cy", "_sysconfig", "cython_", "_polars_runtime"))}
    assert found - NOT_OURS <= allowed, sorted(found - NOT_OURS - allowed)
    assert "kgdx" in found and done.returncode == 0, done.stderr
