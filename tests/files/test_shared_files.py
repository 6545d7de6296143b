"""Files that several processes open at once."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from kgdx.files.locks import open_shared


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
