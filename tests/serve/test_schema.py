from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, require_module

require_module("fastapi", "serve")
require_module("schemathesis", "serve-test")

from kgdx.serve.app import description  # noqa: E402

from .conftest import Running  # noqa: E402

DESCRIPTION = ROOT / "docs" / "reference" / "openapi.json"


def test_the_description_in_the_documentation_is_that_of_the_server() -> None:
    written = json.loads(DESCRIPTION.read_text(encoding="utf-8"))
    assert written == description(), "write it anew: python -m kgdx.serve.app > docs/reference/openapi.json"


def test_every_request_has_an_example_that_fits() -> None:
    import jsonschema_rs

    document = description()
    bodies = [
        operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        for path in document["paths"].values()
        for operation in path.values()
        if "requestBody" in operation
    ]
    assert len(bodies) >= 7
    for name in bodies:
        schema = document["components"]["schemas"][name]
        assert schema["examples"]
        validator = jsonschema_rs.validator_for({**schema, "components": document["components"]})
        for example in schema["examples"]:
            validator.validate(example)


@pytest.mark.heavy
def test_the_server_is_as_it_is_described(server: Running, tmp_path: Path) -> None:
    """Requests made up from the description, good and bad, one after the other; every check of every answer."""
    program = Path(sys.executable).with_name("schemathesis")
    command = [
        str(program),
        "--no-color",
        "--config-file",
        str(Path(__file__).with_name("schemathesis.toml")),
        "run",
        f"{server.address}/api/v1/openapi.json",
        "--checks",
        "all",
    ]
    command += ["--mode", "all", "--max-examples", "8", "--seed", "1", "--generation-deterministic"]
    command += ["--request-timeout", "60", "--suppress-health-check", "all"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=900)
    assert done.returncode == 0, done.stdout[-8000:]
    assert "Traceback" not in server.log and "failed:" not in server.log
