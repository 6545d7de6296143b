"""A local Neo4j in Docker: used where an engine really runs, because nothing needs to be installed then."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from kgdx.errors import StoreError

IMAGE = "neo4j:5.26-community"

_SECONDS = 10
_PULL_SECONDS = 1800


def engine() -> str | None:
    """Return the ``docker`` program if an engine answers it, else ``None``."""
    docker = shutil.which("docker")
    if docker is None:
        return None
    try:
        done = subprocess.run(
            [docker, "version", "--format", "{{.Server.Version}}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return docker if done.returncode == 0 and done.stdout.strip() else None


def start(docker: str, name: str, home: Path, bolt: int, http: int, heap: str, password: str) -> None:
    """Start the container; the password goes through the environment, never through the arguments.

    Raises:
        StoreError: Docker refused.
    """
    arguments = ["run", "--detach", "--rm", "--name", name, "--user", f"{os.getuid()}:{os.getgid()}"]
    arguments += ["--publish", f"127.0.0.1:{bolt}:7687", "--publish", f"127.0.0.1:{http}:7474"]
    arguments += ["--volume", f"{home / 'data'}:/data", "--volume", f"{home / 'logs'}:/logs"]
    settings = {
        "NEO4J_AUTH": f"neo4j/{password}",
        "NEO4J_server_memory_heap_max__size": heap,
        "NEO4J_server_bolt_advertised__address": f"127.0.0.1:{bolt}",
        "NEO4J_dbms_usage__report_enabled": "false",
    }
    for key in settings:
        arguments += ["--env", key]
    _call(docker, [*arguments, IMAGE], settings, _PULL_SECONDS)


def stop(docker: str, name: str) -> None:
    """Stop the container and wait until it is gone.

    Raises:
        StoreError: Docker refused.
    """
    _call(docker, ["stop", "--time", "60", name], {}, 90)


def is_running(docker: str, name: str) -> bool:
    """Whether a container of that name runs."""
    try:
        return _call(docker, ["inspect", "--format", "{{.State.Running}}", name], {}, _SECONDS).strip() == "true"
    except StoreError:
        return False


def log_tail(docker: str, name: str) -> str:
    """The last lines that the container printed."""
    try:
        return _call(docker, ["logs", "--tail", "20", name], {}, _SECONDS)
    except StoreError as error:
        return error.message


def _call(docker: str, arguments: Sequence[str], environment: Mapping[str, str], seconds: float) -> str:
    try:
        done = subprocess.run(
            [docker, *arguments],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StoreError(f"Docker did not answer: {error}", hint="check the Docker engine") from error
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        raise StoreError(f"Docker failed: {said[:300]}", hint="check the Docker engine")
    return done.stdout
