"""Background programs by their process id: start one that outlives us, tell whether it still is that one, end it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_LOOKS = 20


def start(program: str, argument_file: Path, environment: Mapping[str, str], log: Path) -> int:
    """Start a Java program whose arguments are in a file, in a session of its own; returns its process id.

    A file, so that neither the class path nor a password stands in the list of processes. The program gets none of our
    files: a lock on one, whoever took it, would be held for as long as the program runs.
    """
    with log.open("ab") as output, open(os.devnull, "rb") as nothing:
        actions: list[tuple[int, ...]] = [
            (os.POSIX_SPAWN_DUP2, nothing.fileno(), 0),
            (os.POSIX_SPAWN_DUP2, output.fileno(), 1),
            (os.POSIX_SPAWN_DUP2, output.fileno(), 2),
            *((os.POSIX_SPAWN_CLOSE, handle) for handle in _inherited()),
        ]
        return os.posix_spawn(
            program, [program, f"@{argument_file}"], dict(environment), file_actions=actions, setsid=True
        )


def write_arguments(path: Path, arguments: list[str]) -> None:
    """Write Java's argument file, readable by the user alone."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        for argument in arguments:
            escaped = argument.replace("\\", "\\\\").replace('"', '\\"')
            stream.write(f'"{escaped}"\n')


def is_running(pid: int, argument_file: Path) -> bool:
    """Whether the process is there and is the one that was started with this file (ids are used again)."""
    with suppress(ChildProcessError, OSError):
        os.waitpid(pid, os.WNOHANG)  # our own child that ended stays in the table until somebody asks
    return f"@{argument_file}" in _command(pid)


def end(pid: int, argument_file: Path, seconds: float) -> None:
    """Ask the process to end and wait; kill it when it does not."""
    for sign, patience in ((signal.SIGTERM, seconds), (signal.SIGKILL, 10.0)):
        if not is_running(pid, argument_file):
            return
        with suppress(ProcessLookupError):
            os.kill(pid, sign)
        until = time.monotonic() + patience
        while is_running(pid, argument_file) and time.monotonic() < until:
            time.sleep(0.05)


def _inherited() -> list[int]:
    """Our open files, other than the standard ones, that a program would inherit."""
    found = []
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # the listing's own, closed by now
            if int(name) > 2 and os.get_inheritable(int(name)):
                found.append(int(name))
    return found


def _command(pid: int) -> str:
    """The process's command line; empty when it is gone or has ended without being asked for."""
    if not Path("/proc/self").exists():
        asked = ["ps", "-o", "args=", "-p", str(pid)]
        return subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout
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
