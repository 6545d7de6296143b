"""Locks: one holds alone, many share, and a process that dies gives back what it held."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgdx.files.locks import take


@contextmanager
def opened(path: Path) -> Iterator[int]:
    handle = os.open(path, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)


def test_readers_share_and_a_writer_is_alone(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.touch()
    with opened(lock) as first, opened(lock) as second, opened(lock) as third:
        assert take(first, shared=True, wait_s=0) and take(second, shared=True, wait_s=0)
        started = time.monotonic()
        assert not take(third, wait_s=0.2)
        assert time.monotonic() - started >= 0.2
    with opened(lock) as alone, opened(lock) as other:
        assert take(alone) and not take(other, shared=True, wait_s=0)


def test_a_process_that_is_killed_gives_its_lock_back(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.touch()
    code = (
        "import os, sys, time; from kgdx.files.locks import take; take(os.open(sys.argv[1], os.O_RDONLY));"
        "print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(lock)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with opened(lock) as handle:
            assert not take(handle, wait_s=0)
            holder.kill()
            assert take(handle, wait_s=10)
