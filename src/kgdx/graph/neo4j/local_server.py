"""A real local Neo4j for people without a server: started, found again and stopped; loopback only, with a password.

Its home is ``<kgdx home>/neo4j``: data, logs, a generated password in a file that only the user can read, and
``server.json``, which says where it listens. The program comes from NEO4J_HOME, Docker or Maven, in this order.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from kgdx.config import DEFAULT_BOLT_PORT, Neo4jAccess, Settings
from kgdx.errors import ConfigError, StoreError, UsageError, refusing
from kgdx.files.known import write_whole
from kgdx.files.locks import take
from kgdx.graph.neo4j import local_runtime
from kgdx.graph.neo4j.docker import Container, engine, image_of
from kgdx.graph.neo4j.local_runtime import ADMIN_CLASS, Progress, Runtime, find_runtime
from kgdx.graph.templates import statement
from kgdx.resources import resource

DEFAULT_HTTP_PORT = 7474
USER = "neo4j"

_START_SECONDS = 180.0
_STOP_SECONDS = 60.0
_FREE_SECONDS = 2.0  # a process that was killed keeps its ports for a moment
_FOLDERS = ("conf", "data", "logs", "plugins", "import", "run", "licenses")
_LOG = Path("logs", "console.log")


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """A local server that runs, of the kind ``java``, or ``docker`` (whose ``version`` is the image's name)."""

    bolt: str
    http: str
    user: str
    password_file: Path
    home: Path
    kind: str
    pid: int
    version: str
    heap: str

    @property
    def log(self) -> Path:
        return self.home / _LOG


def up(
    settings: Settings,
    *,
    bolt_port: int | None = None,
    http_port: int | None = None,
    heap: str = "1g",
    progress: Progress = lambda _message: None,
) -> ServerInfo:
    """Start the local server and wait until it answers; one that runs already is left as it is.

    Its ports are by default 7687 and 7474, or free ones where these are taken.
    """
    if not heap[:-1].isdigit() or heap[-1:] not in "mg":
        raise UsageError(f"{heap!r} is not a heap size", hint="give one such as 1g or 768m")
    home = settings.server_folder
    with locked(home):
        if (running := status(settings)) is not None:
            return running
        (home / "server.json").unlink(missing_ok=True)
        restore_interrupted_import(home)
        ports = _port(bolt_port, DEFAULT_BOLT_PORT, "Bolt"), _port(http_port, DEFAULT_HTTP_PORT, "HTTP")
        docker = None if settings.neo4j_home else engine()
        if docker is not None:
            return _up_docker(docker, settings, ports, heap, progress)
        return start(settings, find_runtime(settings, progress), ports, heap, progress)


def down(settings: Settings) -> bool:
    """Stop the local server; returns whether there was one. Its data and password stay."""
    if not settings.server_folder.is_dir():
        return False
    with locked(settings.server_folder):
        running = status(settings)
        if running is not None:
            stop(running)
        (settings.server_folder / "server.json").unlink(missing_ok=True)
        return running is not None


def status(settings: Settings) -> ServerInfo | None:
    """Return the local server if its process is there; a file left by a crash counts as none."""
    home = settings.server_folder
    try:
        saved = json.loads((home / "server.json").read_text("utf-8"))
        info = ServerInfo(**{**saved, "home": home, "password_file": home / "password"})
    except (OSError, ValueError, TypeError):
        return None
    if info.kind == "docker":
        docker = shutil.which("docker")
        return info if docker and _container(docker, home).is_running() else None
    return info if local_runtime.is_running_process(info.pid, _arguments_file(home)) else None


def start(settings: Settings, runtime: Runtime, ports: tuple[int, int], heap: str, progress: Progress) -> ServerInfo:
    """Start the server with Java in its home; raises like :func:`up`."""
    home = settings.server_folder
    new = _prepare(settings, ports)
    if new:
        password = (home / "password").read_text("utf-8").strip()
        administer(home, runtime, "256m", "dbms", "set-initial-password", "--", password)
    progress(f"Starting Neo4j {runtime.version}")
    arguments, log = _arguments_file(home), home / _LOG
    where = (f"--home-dir={home}", f"--config-dir={home / 'conf'}")
    local_runtime.write_arguments(arguments, runtime.arguments(heap, runtime.server_class, *where))
    for old in (log, home / "logs" / "neo4j.log"):
        old.unlink(missing_ok=True)
    pid = local_runtime.start_process(runtime.java, arguments, environment(home), log)
    alive = partial(local_runtime.is_running_process, pid, arguments)
    end = partial(local_runtime.end, pid, arguments, _STOP_SECONDS)
    info = _info(settings, ports, "java", pid, runtime.version, heap)
    return _answering(info, settings, new, alive, lambda: _tail(log, home / "logs" / "neo4j.log"), end)


def _answering(
    info: ServerInfo,
    settings: Settings,
    new: bool,
    is_alive: Callable[[], bool],
    tail: Callable[[], str],
    end: Callable[[], None],
) -> ServerInfo:
    try:
        saved = {name: each for name, each in asdict(info).items() if name not in ("home", "password_file")}
        write_whole(info.home / "server.json", json.dumps(saved, indent=1) + "\n")
        _wait(info, _first_user(info) if new else settings.neo4j(info.bolt), is_alive, tail)
        if new and info.user != USER:
            _make_user(info)
    except BaseException:
        with suppress(StoreError):  # what went wrong is the error to see
            end()
        (info.home / "server.json").unlink(missing_ok=True)
        raise
    return info


def stop(info: ServerInfo) -> None:
    """End the server's process or container and wait until it is gone."""
    if info.kind == "docker":
        docker = shutil.which("docker")
        assert docker is not None, "status() found the container with it"
        _container(docker, info.home).stop()
        return
    local_runtime.end(info.pid, _arguments_file(info.home), _STOP_SECONDS)
    if local_runtime.is_running_process(info.pid, _arguments_file(info.home)):
        raise StoreError(f"the local Neo4j (process {info.pid}) does not end", hint="end it by hand")


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "NEO4J_HOME": str(home), "NEO4J_CONF": str(home / "conf")}


def administer(home: Path, runtime: Runtime, heap: str, *command: str, folder: Path | None = None) -> None:
    """Run one command of ``neo4j-admin`` in a folder, or the home; its arguments stay out of the list of processes."""
    arguments = home / "run" / "admin.args"
    local_runtime.write_arguments(arguments, runtime.arguments(heap, ADMIN_CLASS, *command))
    try:
        done = local_runtime.run_program([runtime.java, f"@{arguments}"], None, environment(home), folder or home)
    finally:
        arguments.unlink(missing_ok=True)
    if done.returncode:
        raise StoreError(f"neo4j-admin {' '.join(command[:2])} failed: {_last_lines(done.stdout + done.stderr)}")


def restore_interrupted_import(home: Path) -> None:
    """Put the database of before back in its place where an offline import failed or was interrupted."""
    data = home / "data"
    shutil.rmtree(data / "discarded", ignore_errors=True)
    aside = data / "before-import"
    if not aside.exists():
        return
    for kind in ("databases", "transactions"):
        if (aside / kind).exists():
            shutil.rmtree(data / kind / "neo4j", ignore_errors=True)
            (aside / kind).rename(data / kind / "neo4j")
    aside.rmdir()


def discard_old(home: Path) -> None:
    data = home / "data"
    (data / "before-import").rename(data / "discarded")
    shutil.rmtree(data / "discarded", ignore_errors=True)


def _up_docker(docker: str, settings: Settings, ports: tuple[int, int], heap: str, progress: Progress) -> ServerInfo:
    home = settings.server_folder
    new = _prepare(settings, ports)
    container, image = _container(docker, home), image_of(settings.neo4j_version)
    progress(f"Starting {image} in Docker")
    container.start(image, home, ports, heap, (home / "password").read_text("utf-8").strip())
    info = _info(settings, ports, "docker", 0, image, heap)
    return _answering(info, settings, new, container.is_running, container.log_tail, container.stop)


def _prepare(settings: Settings, ports: tuple[int, int]) -> bool:
    """Make the server's folders, configuration and password; returns whether it has no data yet.

    The first password is the one that is set, and a made-up one where none is; later the server has its own.
    """
    home = settings.server_folder
    new = not (home / "data" / "dbms").exists()
    with refusing(StoreError, f"cannot prepare the server's folder {home}"):
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        home.chmod(0o700)
        for folder in _FOLDERS:
            (home / folder).mkdir(exist_ok=True)
        config = Path(__file__).with_name("neo4j-server.conf").read_text(encoding="utf-8")
        written = config.format(bolt=ports[0], http=ports[1], style=_style())
        (home / "conf" / "neo4j.conf").write_text(written, "utf-8")
        password = settings.local_login(_bolt(ports))[1]
        if new and password:
            (home / "password").unlink(missing_ok=True)
        with suppress(FileExistsError):
            handle = os.open(home / "password", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write((password or secrets.token_urlsafe(24)) + "\n")
    return new


def _style() -> str:
    """Browser's style as JSON: it separates the commands that it runs by semicolons, as its own form does rules."""
    rules = re.findall(
        r"^(\S+) \{\n(.*?)^\}", resource("browser", "kgdx.grass").read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    return json.dumps({which: dict(re.findall(r'([\w-]+): "?(.*?)"?;', rule)) for which, rule in rules})


def _bolt(ports: tuple[int, int]) -> str:
    return f"bolt://127.0.0.1:{ports[0]}"


def _first_user(info: ServerInfo, database: str = "neo4j") -> Neo4jAccess:
    return Neo4jAccess(info.bolt, USER, info.password_file.read_text("utf-8").strip(), database)


def _make_user(info: ServerInfo) -> None:
    from kgdx.graph.neo4j.bolt import connect, translated

    first = _first_user(info, "system")
    with connect(first) as driver, driver.session(database=first.database) as session, translated(first, writing=True):
        session.run(statement("create_user"), user=info.user, password=first.password).consume()


def _wait(info: ServerInfo, login: Neo4jAccess, is_alive: Callable[[], bool], tail: Callable[[], str]) -> None:
    from kgdx.graph.neo4j.bolt import connect

    until = time.monotonic() + _START_SECONDS
    ports = [int(address.rpartition(":")[2]) for address in (info.bolt, info.http)]
    problem = "it did not answer"
    while time.monotonic() < until:
        if not is_alive():
            raise StoreError(f"Neo4j ended while it started: {tail()}", hint=f"its log is {info.log}")
        if not any(map(_is_free, ports)):
            try:
                connect(login).close()
                return
            except StoreError as error:
                problem = error.message
                if "password" in problem:
                    break
        time.sleep(0.2)
    raise StoreError(f"Neo4j did not come up: {problem}: {tail()}", hint=f"its log is {info.log}")


def _info(settings: Settings, ports: tuple[int, int], kind: str, pid: int, version: str, heap: str) -> ServerInfo:
    home, bolt = settings.server_folder, _bolt(ports)
    user = settings.local_login(bolt)[0]
    return ServerInfo(bolt, f"http://127.0.0.1:{ports[1]}", user, home / "password", home, kind, pid, version, heap)


def _arguments_file(home: Path) -> Path:
    return home / "run" / "server.args"


def _container(docker: str, home: Path) -> Container:
    return Container(docker, f"kgdx-neo4j-{hashlib.sha256(str(home).encode()).hexdigest()[:8]}")


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Keep a second `up`, `down` or import on the same home waiting."""
    with refusing(StoreError, f"cannot use the server's folder {home}"):
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        stream = (home / "lock").open("w")
    with stream:
        take(stream.fileno())
        yield


def _port(wanted: int | None, default: int, name: str) -> int:
    if wanted is None:
        return default if _is_free(default) else _free_port()
    if not 0 < wanted < 65536:
        raise UsageError(f"{wanted} is not a port", hint="give a number from 1 to 65535")
    until = time.monotonic() + _FREE_SECONDS
    while not _is_free(wanted) and time.monotonic() < until:
        time.sleep(0.05)
    if not _is_free(wanted):
        raise ConfigError(f"port {wanted} for {name} is taken", hint="give another one, or none for a free one")
    return wanted


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) != 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _tail(*logs: Path) -> str:
    return _last_lines("\n".join(log.read_text("utf-8", errors="replace") for log in logs if log.exists()))


def _last_lines(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    told = [line for line in lines if "ERROR" in line or "Caused by" in line or "Exception" in line] or lines
    return " | ".join(told[-3:])[:600] or "it said nothing"
