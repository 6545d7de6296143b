"""Locks and files that several processes open at once."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from kgdx.files.locks import open_shared, take


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


def held(file: Path) -> sqlite3.Connection:
    """A file that another holds for itself, before it is shared."""
    holder = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    holder.execute("CREATE TABLE kept (value)")
    holder.execute("BEGIN EXCLUSIVE")
    return holder


def test_opening_waits_for_another_that_holds_the_file(tmp_path: Path) -> None:
    with closing(held(tmp_path / "file")) as holder:
        release = threading.Timer(0.3, holder.execute, ["COMMIT"])
        release.start()
        with closing(open_shared(tmp_path / "file", 30)) as database:
            assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            database.execute("INSERT INTO kept VALUES (1)")
        release.join()
        assert holder.execute("SELECT value FROM kept").fetchall() == [(1,)]


def test_a_file_that_stays_held_is_an_error(tmp_path: Path) -> None:
    with closing(held(tmp_path / "file")), pytest.raises(sqlite3.OperationalError, match="locked"):
        open_shared(tmp_path / "file", 0.1)


def test_a_file_that_is_none_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"no database" * 100)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        open_shared(tmp_path / "file", 30)
