"""Where the programs of a local Neo4j come from: an installation the user names, or jars assembled with Maven.

Either way only the program is used; data, configuration and password are kgdx's own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kgdx.config import Settings
from kgdx.errors import ConfigError, StoreError

POM = Path(__file__).with_name("neo4j-server.pom.xml")
SERVER_CLASS = "org.neo4j.server.CommunityEntryPoint"
ADMIN_CLASS = "org.neo4j.cli.AdminTool"

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
    """A Java and the folder with Neo4j's jars.

    Attributes:
        java: The ``java`` program.
        lib: Folder with the jars.
        version: Neo4j's version, read from a jar's name.
    """

    java: str
    lib: Path
    version: str

    def arguments(self, heap: str, main_class: str, *rest: str) -> list[str]:
        """Arguments of ``java`` that run one of Neo4j's programs."""
        return [f"-Xmx{heap}", *_OPENS, "-cp", str(self.lib / "*"), main_class, *rest]


def find_runtime(settings: Settings, progress: Progress) -> Runtime:
    """Return the runtime of ``NEO4J_HOME``, else the assembled one (assembled now if it is not in the cache).

    Raises:
        ConfigError: NEO4J_HOME is no Neo4j, or Java or Maven are missing or too old.
        StoreError: Maven failed.
    """
    if settings.neo4j_home is not None:
        lib = settings.neo4j_home / "lib"
        version = _version_in(lib)
        if version is None:
            raise ConfigError(f"NEO4J_HOME is {settings.neo4j_home}, which holds no Neo4j", hint="correct or unset it")
    else:
        lib, version = _assembled(settings.cache, progress)
    return Runtime(_java(17 if version.startswith("5.") else 21, version), lib, version)


def pinned_version() -> str:
    """The Neo4j version that is assembled.

    Example:
        >>> pinned_version().startswith("5.26.")
        True
    """
    match = re.search(r"<neo4j\.version>([^<]+)<", POM.read_text("utf-8"))
    assert match is not None
    return match[1]


def _assembled(cache: Path, progress: Progress) -> tuple[Path, str]:
    version = pinned_version()
    folder = cache / "neo4j" / version
    if _version_in(folder / "lib") == version:
        return folder / "lib", version
    mvn = shutil.which("mvn")
    if mvn is None:
        raise ConfigError(
            "a local Neo4j needs NEO4J_HOME, a running Docker engine, or Maven, and none of them is there",
            hint="install one (on Debian `apt install maven`)",
        )
    progress(f"Assembling Neo4j {version} with Maven (about 130 MB, once)")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{version}-") as temporary:
            made = Path(temporary) / "made"
            _copy_jars(mvn, made)
            if folder.exists():
                shutil.rmtree(folder)
            made.rename(folder)
    except OSError as error:
        raise StoreError(f"cannot assemble Neo4j in {folder}: {error.strerror or error}") from error
    return folder / "lib", version


def _copy_jars(mvn: str, folder: Path) -> None:
    folder.mkdir()
    shutil.copyfile(POM, folder / "pom.xml")
    goal = ("dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder / 'lib'}")
    try:
        done = subprocess.run(
            [mvn, "--quiet", "--batch-mode", "--file", str(folder / "pom.xml"), *goal],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_MVN_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise StoreError(f"Maven did not finish in {_MVN_SECONDS // 60} minutes", hint="run it again") from error
    if done.returncode or _version_in(folder / "lib") is None:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        said = next((line for line in lines if "ERROR" in line), lines[-1] if lines else "it said nothing")
        raise StoreError(
            f"Maven could not assemble Neo4j: {said.strip()[:300]}", hint="check Maven's settings and network"
        )


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
    said = subprocess.run(
        [java, "-version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    ).stderr
    match = re.search(r'version "(\d+)(?:\.(\d+))?', said)
    major = int(match[2] if match and match[1] == "1" and match[2] else match[1]) if match else 0
    if major < needed:
        raise ConfigError(
            f"Neo4j {neo4j} needs Java {needed} or newer, {java} is Java {major or 'of an unknown version'}",
            hint="install a newer one, or point JAVA_HOME at it",
        )
    return java
