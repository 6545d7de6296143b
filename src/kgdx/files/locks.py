"""Files that several processes hold or write: locks, which end with their process, and SQLite files that are shared."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

POLL_S = 0.05
"""Seconds between two tries at first; who has waited longer tries more often, so that nobody waits for ever."""
_REST_S = 0.01


def take(handle: int, *, shared: bool = False, wait_s: float | None = None) -> bool:
    """Lock an open file until it is closed; returns whether that could be done in time.

    Args:
        handle: Descriptor of the file; one that is open for reading will do.
        wait_s: How long to wait for others, in seconds; ``None`` for as long as it takes.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryFile() as file:
        ...     take(file.fileno(), wait_s=0)
        True
    """
    from portalocker.constants import LockFlags
    from portalocker.exceptions import AlreadyLocked, LockException
    from portalocker.portalocker import lock

    how = (LockFlags.SHARED if shared else LockFlags.EXCLUSIVE) | LockFlags.NON_BLOCKING
    began = time.monotonic()
    while True:
        try:
            lock(handle, how)
            return True
        except AlreadyLocked:
            waited = time.monotonic() - began
            if wait_s is not None and waited >= wait_s:
                return False
        except LockException as error:
            cause = error.__cause__
            raise cause if isinstance(cause, OSError) else OSError(str(error)) from error
        time.sleep(POLL_S / (1 + waited))


def open_shared(file: Path | str, wait_s: float) -> sqlite3.Connection:
    """Open a file, made if there is none, that others may open and write at the same moment.

    Readers and a writer share it (write-ahead log). SQLite itself does not wait while another process switches the
    file to that, which happens when two are the first to open it; this does.

    Args:
        file: Which file; ``:memory:`` for none.
        wait_s: How long, in seconds, opening and each statement wait for the others.

    Returns:
        A connection that any thread may use, one at a time, and that commits each statement.
    """
    import sqlite3

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
