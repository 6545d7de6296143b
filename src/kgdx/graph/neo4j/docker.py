"""A local Neo4j in Docker: used where an engine really runs, because nothing needs to be installed then."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kgdx.errors import StoreError
from kgdx.graph.neo4j.local_runtime import NEWEST, pinned_version, run_program

_SECONDS = 10
_PULL_SECONDS = 1800


def image_of(version: str | None) -> str:
    """Return the name of the image of a version, the long-term line's where none is asked for."""
    line = version or pinned_version().rpartition(".")[0]
    return "neo4j:community" if line == NEWEST else f"neo4j:{line}-community"


def engine() -> str | None:
    """Return the ``docker`` program if an engine answers it, else ``None``."""
    docker = shutil.which("docker")
    if docker is None:
        return None
    try:
        return docker if _call(docker, ["version", "--format", "{{.Server.Version}}"]).strip() else None
    except StoreError:
        return None


@dataclass(frozen=True, slots=True)
class Container:
    """A server's container by its name, and the program that starts and stops it."""

    docker: str
    name: str

    def start(self, image: str, home: Path, ports: tuple[int, int], heap: str, password: str) -> None:
        """Start it; the password goes through the environment, never through the arguments."""
        arguments = ["run", "--detach", "--rm", "--name", self.name, "--user", f"{os.getuid()}:{os.getgid()}"]
        arguments += ["--publish", f"127.0.0.1:{ports[0]}:7687", "--publish", f"127.0.0.1:{ports[1]}:7474"]
        arguments += ["--volume", f"{home / 'data'}:/data", "--volume", f"{home / 'logs'}:/logs"]
        settings = {
            "NEO4J_AUTH": f"neo4j/{password}",
            "NEO4J_server_memory_heap_max__size": heap,
            "NEO4J_server_bolt_advertised__address": f"127.0.0.1:{ports[0]}",
            "NEO4J_server_bolt_connection__keep__alive": "5s",
            "NEO4J_server_bolt_connection__keep__alive__probes": "3",
            "NEO4J_dbms_usage__report_enabled": "false",
        }
        for key in settings:
            arguments += ["--env", key]
        _call(self.docker, [*arguments, image], _PULL_SECONDS, **settings)

    def stop(self) -> None:
        _call(self.docker, ["stop", "--time", "60", self.name], seconds=90)

    def is_running(self) -> bool:
        try:
            return _call(self.docker, ["inspect", "--format", "{{.State.Running}}", self.name]).strip() == "true"
        except StoreError:
            return False

    def log_tail(self) -> str:
        """Return the last lines that it printed."""
        try:
            return _call(self.docker, ["logs", "--tail", "20", self.name])
        except StoreError as error:
            return error.message


def _call(docker: str, arguments: Sequence[str], seconds: float = _SECONDS, **given: str) -> str:
    try:
        done = run_program([docker, *arguments], seconds, os.environ | given)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StoreError(f"Docker did not answer: {error}", hint="check the Docker engine") from error
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        raise StoreError(f"Docker failed: {said[:300]}", hint="check the Docker engine")
    return done.stdout
