"""SQLite files that several processes read and write at once."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

_REST_S = 0.01


def open_shared(file: Path | str, wait_s: float) -> sqlite3.Connection:
    """Open a file, made if there is none, that others may open and write at the same moment.

    Readers and a writer share it (write-ahead log). SQLite itself does not wait while another process switches the
    file to that, which happens when two are the first to open it; this does.

    Args:
        file: Which file; ``:memory:`` for none.
        wait_s: How long, in seconds, opening and each statement wait for the others.

    Returns:
        A connection that any thread may use, one at a time, and that commits each statement.

    Raises:
        sqlite3.Error: The file cannot be used, or others held it for all of that time.
    """
    database = sqlite3.connect(file, timeout=wait_s, check_same_thread=False, isolation_level=None)
    until = time.monotonic() + wait_s
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return database
        except sqlite3.Error as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                database.close()
                raise
        time.sleep(_REST_S)
