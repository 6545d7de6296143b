"""The Java programs of a local Neo4j, of an installation or assembled with Maven, and their processes.

Either way only the program is used; data, configuration and password are kgdx's own.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kgdx.config import Settings
from kgdx.errors import ConfigError, StoreError, refusing

POM = Path(__file__).with_name("neo4j-server.pom.xml")
ADMIN_CLASS = "org.neo4j.cli.AdminTool"

NEWEST = "newest"
"""Stands for the newest version that Maven has."""

_NEWEST_RANGE = "[2025,)"  # calendar versions began then
_SERVER_CLASS = "org.neo4j.server.CommunityEntryPoint"  # where the jars name none
_ENTRY_POINTS = "META-INF/services/org.neo4j.server.startup.EntryPoint"
_GOAL = "dependency:copy-dependencies"
_MVN_SECONDS = 1800
_OPENS = (
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
)

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Runtime:
    """A Java and the folder with Neo4j's jars."""

    java: str
    lib: Path
    version: str

    @property
    def server_class(self) -> str:
        """The class that starts a server: it has moved between versions, so the jars are asked."""
        try:
            with zipfile.ZipFile(self.lib / f"neo4j-{self.version}.jar") as jar:
                return jar.read(_ENTRY_POINTS).decode().split()[0]
        except (OSError, KeyError, IndexError, zipfile.BadZipFile):
            return _SERVER_CLASS

    def arguments(self, heap: str, main_class: str, *rest: str) -> list[str]:
        return [f"-Xmx{heap}", *_OPENS, "-cp", str(self.lib / "*"), main_class, *rest]


def find_runtime(settings: Settings, progress: Progress) -> Runtime:
    """Return the runtime of ``NEO4J_HOME``, else the assembled one (assembled now if it is not in the cache).

    What is assembled is the pinned version, or the one that ``KGDX_NEO4J_VERSION`` names.
    """
    if settings.neo4j_home is not None:
        lib = settings.neo4j_home / "lib"
        version = _version_in(lib)
        if version is None:
            raise ConfigError(f"NEO4J_HOME is {settings.neo4j_home}, which holds no Neo4j", hint="correct or unset it")
    else:
        lib, version = _assembled(settings.cache, settings.neo4j_version or pinned_version(), progress)
    return Runtime(_java(17 if version.startswith("5.") else 21, version), lib, version)


def pinned_version() -> str:
    match = re.search(r"<neo4j\.version>([^<]+)<", POM.read_text("utf-8"))
    assert match is not None
    return match[1]


def _assembled(cache: Path, wanted: str, progress: Progress) -> tuple[Path, str]:
    if wanted != NEWEST and not re.fullmatch(r"\d+(\.\w+)+", wanted):
        raise ConfigError(
            f"{wanted!r} is no version of Neo4j", hint=f"set KGDX_NEO4J_VERSION to one such as 5.26.30, or to {NEWEST}"
        )
    folder = cache / "neo4j" / wanted
    if (version := _version_in(folder / "lib")) == wanted:
        return folder / "lib", version
    mvn = shutil.which("mvn")
    if mvn is None:
        raise ConfigError(
            "a local Neo4j needs NEO4J_HOME, a running Docker engine, or Maven, and none of them is there",
            hint="install one (on Debian `apt install maven`)",
        )
    progress(f"Assembling {'the newest Neo4j' if wanted == NEWEST else f'Neo4j {wanted}'} with Maven (130 MB, once)")
    with refusing(StoreError, f"cannot assemble Neo4j in {folder}"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{wanted}-") as temporary:
            made = Path(temporary) / "made"
            version = _copy_jars(mvn, made, _NEWEST_RANGE if wanted == NEWEST else wanted)
            folder = folder.with_name(version)
            if _version_in(folder / "lib") != version:
                shutil.rmtree(folder, ignore_errors=True)
                made.rename(folder)
    return folder / "lib", version


def _copy_jars(mvn: str, folder: Path, wanted: str) -> str:
    folder.mkdir()
    shutil.copyfile(POM, folder / "pom.xml")
    chosen = (_GOAL, "-DincludeScope=runtime", f"-Dneo4j.version={wanted}", f"-DoutputDirectory={folder / 'lib'}")
    try:
        done = run_program([mvn, "--quiet", "--batch-mode", "--file", str(folder / "pom.xml"), *chosen], _MVN_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise StoreError(f"Maven did not finish in {_MVN_SECONDS // 60} minutes", hint="run it again") from error
    version = _version_in(folder / "lib")
    if done.returncode or version is None:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        said = next((line for line in lines if "ERROR" in line), lines[-1] if lines else "it said nothing")
        raise StoreError(
            f"Maven could not assemble Neo4j: {said.strip()[:300]}", hint="check Maven's settings and network"
        )
    return version


def _version_in(lib: Path) -> str | None:
    for jar in sorted(lib.glob("neo4j-server-*.jar")):
        if match := re.fullmatch(r"neo4j-server-(\d[\w.]*)\.jar", jar.name):
            return match[1]
    return None


def _java(needed: int, neo4j: str) -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME is {home}, which holds no java" if home else "there is no java"
        raise ConfigError(f"a local Neo4j needs Java {needed} or newer, and {where}", hint="install a JRE")
    match = re.search(r'version "(\d+)(?:\.(\d+))?', run_program([java, "-version"]).stderr)
    major = int(match[2] if match and match[1] == "1" and match[2] else match[1]) if match else 0
    if major < needed:
        raise ConfigError(
            f"Neo4j {neo4j} needs Java {needed} or newer, {java} is Java {major or 'of an unknown version'}",
            hint="install a newer one, or point JAVA_HOME at it",
        )
    return java


def run_program(
    command: Sequence[str],
    seconds: float | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
    )


_LOOKS = 20


def start_process(program: str, argument_file: Path, environment: Mapping[str, str], log: Path) -> int:
    """Start a Java program whose arguments are in a file, in a session of its own; returns its process id.

    A file, so that neither the class path nor a password stands in the list of processes. The program gets none of our
    files: a lock on one, whoever took it, would be held for as long as the program runs.
    """
    with log.open("ab") as output:
        started = subprocess.Popen(
            [program, f"@{argument_file}"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    started.returncode = 0  # it outlives us, and is found by its id: nobody warns that it still runs
    return started.pid


def write_arguments(path: Path, arguments: list[str]) -> None:
    """Write Java's argument file, readable by the user alone."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        for argument in arguments:
            escaped = argument.replace("\\", "\\\\").replace('"', '\\"')
            stream.write(f'"{escaped}"\n')


def is_running_process(pid: int, argument_file: Path) -> bool:
    """Whether the process is there and is the one that was started with this file (ids are used again)."""
    with suppress(ChildProcessError, OSError):
        os.waitpid(pid, os.WNOHANG)  # our own child that ended stays in the table until somebody asks
    return f"@{argument_file}" in _command(pid)


def end(pid: int, argument_file: Path, seconds: float) -> None:
    """Ask the process to end and wait; kill it when it does not."""
    for sign, patience in ((signal.SIGTERM, seconds), (signal.SIGKILL, 10.0)):
        if not is_running_process(pid, argument_file):
            return
        with suppress(ProcessLookupError):
            os.kill(pid, sign)
        until = time.monotonic() + patience
        while is_running_process(pid, argument_file) and time.monotonic() < until:
            time.sleep(0.05)


def _command(pid: int) -> str:
    if not Path("/proc/self").exists():
        return run_program(["ps", "-o", "args=", "-p", str(pid)]).stdout
    folder = Path("/proc", str(pid))
    for _ in range(_LOOKS):
        try:
            if command := (folder / "cmdline").read_bytes():
                return command.replace(b"\0", b" ").decode("utf-8", "replace")
            if (folder / "stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z":
                return ""
        except OSError:
            return ""
        time.sleep(0.01)  # between its start and the exec of its program a process has no command line
    return ""
