"""Background programs: what they inherit from the process that starts them."""

from __future__ import annotations

import fcntl
import os
import signal
from pathlib import Path

from kgdx.graph.neo4j import local_runtime


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
