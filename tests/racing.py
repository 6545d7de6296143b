"""Processes of tests that do the same at the same moment: each says that it is ready, and waits to be told to go on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence


def raced(script: str, runs: Iterable[Sequence[object]]) -> list[str]:
    """Run a script in a process for each list of arguments, all let go at once, and return what each printed."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        for arguments in runs
    ]
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    printed = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return printed
