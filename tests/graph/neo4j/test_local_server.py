"""The local server's own logic, with programs that only pretend to be Java, Maven and Neo4j."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import stat
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kgdx.config import Settings
from kgdx.errors import ConfigError, StoreError, UsageError
from kgdx.graph.neo4j import browser_links, local_runtime, local_server

Program = Callable[[str, str], None]

JAVA = """\
case "$1" in
  -version) echo 'openjdk version "17.0.2"' >&2; exit 0;;
  *admin.args) cp "${1#@}" "$NEO4J_HOME/admin.seen"; exit 0;;
esac
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Makes shell scripts that are the only programs of their names."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "sleep", "cp", "mkdir", "touch", "cat", "rm"):
        (folder / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)

    def make(name: str, text: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{text}\n", "utf-8")
        (folder / name).chmod(0o755)

    return make


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A home of its own and an installed Neo4j that holds a single jar."""
    installed = tmp_path / "installed"
    (installed / "lib").mkdir(parents=True)
    (installed / "lib" / "neo4j-server-5.26.30.jar").touch()
    environ = {"KGDX_HOME": str(tmp_path / "home"), "KGDX_CACHE": str(tmp_path / "cache"), "NEO4J_HOME": str(installed)}
    return Settings.load(environ=environ)


@pytest.fixture
def bare(tmp_path: Path) -> Settings:
    return Settings.load(environ={"KGDX_HOME": str(tmp_path / "home"), "KGDX_CACHE": str(tmp_path / "cache")})


def test_missing_java_is_one_clear_line(programs: Program, settings: Settings) -> None:
    with pytest.raises(ConfigError, match="needs Java 17 or newer, and there is no java: install a JRE"):
        local_server.up(settings)


@pytest.mark.parametrize(("version", "major"), [('openjdk version "11.0.2"', 11), ('java version "1.8.0_292"', 8)])
def test_old_java_is_named(programs: Program, settings: Settings, version: str, major: int) -> None:
    programs("java", f"echo '{version}' >&2")
    with pytest.raises(ConfigError, match=rf"needs Java 17 or newer, .*/java is Java {major}"):
        local_server.up(settings)


def test_calendar_versions_need_java_21(programs: Program, settings: Settings) -> None:
    assert settings.neo4j_home is not None
    jar = settings.neo4j_home / "lib" / "neo4j-server-5.26.30.jar"
    jar.rename(jar.with_name("neo4j-server-2025.10.1.jar"))
    programs("java", JAVA)
    with pytest.raises(ConfigError, match=r"Neo4j 2025\.10\.1 needs Java 21"):
        local_server.up(settings)


def test_wrong_neo4j_home_is_named(programs: Program, settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "installed" / "lib" / "neo4j-server-5.26.30.jar").unlink()
    with pytest.raises(ConfigError, match="NEO4J_HOME is .*, which holds no Neo4j"):
        local_server.up(settings)


def test_without_any_program_the_error_names_the_three_ways(programs: Program, bare: Settings) -> None:
    with pytest.raises(ConfigError, match="NEO4J_HOME, a running Docker engine, or Maven"):
        local_server.up(bare)


def test_docker_without_an_engine_is_not_used(programs: Program, bare: Settings) -> None:
    programs("docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    with pytest.raises(ConfigError, match="or Maven"):
        local_server.up(bare)


def test_a_version_can_be_chosen_and_its_class_is_read_from_the_jar(
    programs: Program, bare: Settings, tmp_path: Path
) -> None:
    programs("java", "echo 'openjdk version \"21.0.2\"' >&2")
    with zipfile.ZipFile(tmp_path / "neo4j.jar", "w") as jar:
        jar.writestr("META-INF/services/org.neo4j.server.startup.EntryPoint", "org.neo4j.server.Neo4jCommunity\n")
    programs(
        "mvn",
        f"""for a in "$@"; do case "$a" in
  -DoutputDirectory=*) d="${{a#*=}}";; -Dneo4j.version=*) echo "$a" >> {tmp_path}/asked;;
esac; done
mkdir -p "$d"; touch "$d/neo4j-server-2026.08.1.jar"; cp {tmp_path}/neo4j.jar "$d/neo4j-2026.08.1.jar\"""",
    )
    found = local_runtime.find_runtime(replace(bare, neo4j_version=local_runtime.NEWEST), lambda _line: None)
    assert found.version == "2026.08.1" and found.lib == bare.cache / "neo4j" / "2026.08.1" / "lib"
    assert found.server_class == "org.neo4j.server.Neo4jCommunity"
    assert local_runtime.find_runtime(replace(bare, neo4j_version="2026.08.1"), lambda _line: None) == found
    assert (tmp_path / "asked").read_text() == "-Dneo4j.version=[2025,)\n", "what is kept is not fetched again"


def test_jars_that_name_no_class_are_of_an_older_server(settings: Settings) -> None:
    assert settings.neo4j_home is not None
    found = local_runtime.Runtime("java", settings.neo4j_home / "lib", "5.26.30")
    assert found.server_class == "org.neo4j.server.CommunityEntryPoint"


@pytest.mark.parametrize("version", ["latest", "5", "../5.26.0", "5.26.0 x", "-Dx"])
def test_what_is_no_version_is_refused(programs: Program, bare: Settings, version: str) -> None:
    with pytest.raises(ConfigError, match="is no version of Neo4j: set KGDX_NEO4J_VERSION"):
        local_runtime.find_runtime(replace(bare, neo4j_version=version), lambda _line: None)


def test_failure_of_maven_shows_its_error_and_leaves_nothing(programs: Program, bare: Settings) -> None:
    programs("mvn", "echo '[INFO] working'; echo '[ERROR] Could not resolve dependencies'; exit 1")
    with pytest.raises(StoreError, match=r"Maven could not assemble Neo4j: \[ERROR\] Could not resolve"):
        local_server.up(bare)
    assert list((bare.cache / "neo4j").iterdir()) == []


def test_maven_runs_once_and_its_result_is_kept(programs: Program, bare: Settings, tmp_path: Path) -> None:
    programs("java", JAVA)
    jar = f"neo4j-server-{local_runtime.pinned_version()}.jar"
    programs(
        "mvn",
        f'for a in "$@"; do case "$a" in -DoutputDirectory=*) d="${{a#*=}}";; esac; done\n'
        f'mkdir -p "$d"; touch "$d/{jar}"; echo once >> {tmp_path}/calls',
    )
    said: list[str] = []
    first = local_runtime.find_runtime(bare, said.append)
    second = local_runtime.find_runtime(bare, said.append)
    assert first == second and (first.lib / jar).exists()
    assert (tmp_path / "calls").read_text() == "once\n" and len(said) == 1


def test_server_that_ends_at_once_shows_the_end_of_its_log(programs: Program, settings: Settings) -> None:
    programs("java", JAVA + "echo 'Caused by: no room for the heap'; exit 1")
    with pytest.raises(StoreError, match="ended while it started: Caused by: no room for the heap: its log is"):
        local_server.up(settings)
    assert local_server.status(settings) is None
    assert not (settings.server_folder / "server.json").exists()


def test_server_that_never_answers_is_ended(
    programs: Program, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(local_server, "_START_SECONDS", 0.6)
    programs("java", JAVA + f"echo $$ > {tmp_path}/pid; while :; do sleep 0.05; done")
    with pytest.raises(StoreError, match="did not come up: it did not answer"):
        local_server.up(settings)
    pid = int((tmp_path / "pid").read_text())
    assert not local_runtime.is_running_process(pid, settings.server_folder / "run" / "server.args")


def test_password_is_private_and_in_no_argument(programs: Program, settings: Settings) -> None:
    programs("java", JAVA + "exit 1")
    with pytest.raises(StoreError):
        local_server.up(settings)
    home = settings.server_folder
    password = (home / "password").read_text().strip()
    assert stat.S_IMODE((home / "password").stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert len(password) >= 32
    seen = home / "admin.seen"  # what the file of arguments held while neo4j-admin ran
    assert f'"{password}"' in seen.read_text().splitlines()
    assert not (home / "run" / "admin.args").exists()
    with pytest.raises(StoreError):
        local_server.up(settings)
    assert (home / "password").read_text().strip() == password


def test_the_password_that_is_set_is_the_first_one(programs: Program, settings: Settings) -> None:
    programs("java", JAVA + "exit 1")
    password = settings.server_folder / "password"
    for chosen in ("too short", "chosen at last"):  # until there is data, the server takes another one
        with pytest.raises(StoreError):
            local_server.up(replace(settings, neo4j_password=chosen))
        assert password.read_text().strip() == chosen
        assert stat.S_IMODE(password.stat().st_mode) == 0o600
    (settings.server_folder / "data" / "dbms").mkdir()
    with pytest.raises(StoreError):
        local_server.up(replace(settings, neo4j_password="another"))
    assert password.read_text().strip() == "chosen at last"


def test_the_password_of_another_server_is_not_given_to_the_local_one(programs: Program, settings: Settings) -> None:
    programs("java", JAVA + "exit 1")
    with pytest.raises(StoreError):
        local_server.up(replace(settings, store="neo4j://db:7687", neo4j_password="of another"))
    assert "of another" not in (settings.server_folder / "password").read_text()


def test_configuration_listens_on_loopback_with_authentication(programs: Program, settings: Settings) -> None:
    programs("java", JAVA + "exit 1")
    with pytest.raises(StoreError):
        local_server.up(settings)
    lines = (settings.server_folder / "conf" / "neo4j.conf").read_text().splitlines()
    assert "dbms.security.auth_enabled=true" in lines
    addresses = [line.partition("=")[2] for line in lines if "listen_address" in line]
    assert addresses and all(address.startswith("127.0.0.1") for address in addresses)


def test_file_left_by_a_crash_counts_as_no_server(settings: Settings) -> None:
    home = settings.server_folder
    home.mkdir(parents=True)
    saved = {"bolt": "bolt://127.0.0.1:1", "http": "http://127.0.0.1:2", "user": "neo4j", "kind": "java"}
    (home / "server.json").write_text(json.dumps({**saved, "pid": os.getpid(), "version": "5", "heap": "1g"}))
    assert local_server.status(settings) is None  # this process has the id, but it is not the server
    assert local_server.down(settings) is False
    assert not (home / "server.json").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"bolt": 1}'])
def test_damaged_server_file_counts_as_no_server(settings: Settings, text: str) -> None:
    settings.server_folder.mkdir(parents=True)
    (settings.server_folder / "server.json").write_text(text)
    assert local_server.status(settings) is None


def test_down_without_a_server_says_so(settings: Settings) -> None:
    assert local_server.down(settings) is False


def test_port_that_was_asked_for_must_be_free(settings: Settings) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port} for Bolt is taken"):
            local_server.up(settings, bolt_port=port)


@pytest.mark.parametrize(("option", "value"), [("heap", "much"), ("heap", "g"), ("bolt_port", 0), ("http_port", 70000)])
def test_bad_option_is_refused(settings: Settings, option: str, value: object) -> None:
    with pytest.raises(UsageError):
        local_server.up(settings, **{option: value})  # type: ignore[arg-type]


def test_shell_url_needs_a_server(settings: Settings) -> None:
    with pytest.raises(StoreError, match="no local Neo4j runs: start it"):
        browser_links.shell_url(settings)


def test_shell_url_quotes_the_query(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    home = settings.server_folder
    info = local_server.ServerInfo(
        "bolt://127.0.0.1:7687", "http://127.0.0.1:7474", "neo4j", home / "password", home, "java", 1, "5.26.30", "1g"
    )
    monkeypatch.setattr(local_server, "status", lambda _settings: info)
    url = browser_links.shell_url(settings, "MATCH (n)&x=1 #马")
    assert url.startswith("http://127.0.0.1:7474/browser/?dbms=neo4j://neo4j@127.0.0.1:7687&db=neo4j&cmd=edit&arg=")
    assert url.endswith("MATCH%20%28n%29%26x%3D1%20%23%E9%A9%AC")


def test_interrupted_import_gives_the_old_database_back(settings: Settings) -> None:
    data = settings.server_folder / "data"
    for kind, text in (("databases", "old"), ("transactions", "old log")):
        (data / "before-import" / kind).mkdir(parents=True)
        (data / "before-import" / kind / "store").write_text(text)
    (data / "databases" / "neo4j").mkdir(parents=True)
    (data / "databases" / "neo4j" / "store").write_text("half")
    (data / "transactions").mkdir()
    local_server.restore_interrupted_import(settings.server_folder)
    assert (data / "databases" / "neo4j" / "store").read_text() == "old"
    assert (data / "transactions" / "neo4j" / "store").read_text() == "old log"
    assert not (data / "before-import").exists()
    local_server.restore_interrupted_import(settings.server_folder)
    assert (data / "databases" / "neo4j" / "store").read_text() == "old"


def test_docker_gets_the_password_by_environment_and_listens_on_loopback(
    programs: Program, bare: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    programs(
        "docker",
        f"""case "$1" in
  version) echo 27.1;;
  run) echo "$@" > {tmp_path}/arguments; echo "$NEO4J_AUTH" > {tmp_path}/auth; touch {tmp_path}/runs;;
  inspect) if [ -e {tmp_path}/runs ]; then echo true; else exit 1; fi;;
  stop) rm {tmp_path}/runs;;
esac""",
    )
    monkeypatch.setattr(local_server, "_wait", lambda info, login, is_alive, tail: None)
    info = local_server.up(bare)
    password = info.password_file.read_text().strip()
    arguments = (tmp_path / "arguments").read_text()
    assert (tmp_path / "auth").read_text() == f"neo4j/{password}\n"
    assert password not in arguments
    assert arguments.count("--publish 127.0.0.1:") == arguments.count("--publish") == 2
    assert info.kind == "docker" and local_server.status(bare) == info
    assert local_server.up(bare) == info
    assert local_server.down(bare) is True and local_server.status(bare) is None


def test_docker_that_fails_says_why(programs: Program, bare: Settings) -> None:
    programs("docker", 'case "$1" in version) echo 27.1;; *) echo "no such image" >&2; exit 1;; esac')
    with pytest.raises(StoreError, match="Docker failed: no such image"):
        local_server.up(bare)


def test_a_started_program_holds_none_of_our_locks(tmp_path: Path) -> None:
    """As with ``flock FILE kgdx neo4j up``, whose lock is on a file that every program would inherit."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexec sleep 60\n", "utf-8")
    program.chmod(0o755)
    held = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    try:
        os.set_inheritable(held, True)
        fcntl.flock(held, fcntl.LOCK_EX)
        pid = local_runtime.start_process(str(program), tmp_path / "arguments", os.environ, tmp_path / "log")
    finally:
        os.close(held)
    try:
        with (tmp_path / "lock").open("r+") as again:
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
