"""Data folders that people read and edit, found in one way; SQLite files that processes share.

An installed wheel carries them inside the package (``kgdx/_data/<folder>``); an editable install reads them from
the top of the checkout. Nobody else may guess where they are.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from kgdx.errors import KgdxError

if TYPE_CHECKING:
    import sqlite3

FOLDERS = ("ontology", "cypher", "loaders", "ranking", "browser", "examples", "data")


def resource(folder: str, *parts: str) -> Path:
    """Return the path of a shipped data file or folder.

    Args:
        folder: One of :data:`FOLDERS`.
        parts: Path components below it; none for the folder itself.

    Example:
        >>> resource("ontology", "kgdx.owl").name
        'kgdx.owl'
    """
    if folder not in FOLDERS:
        raise KgdxError(f"no data folder {folder!r}", hint=f"one of {', '.join(FOLDERS)}")
    here = Path(__file__).resolve().parent
    for base in (here / "_data", here.parents[1]):
        path = base.joinpath(folder, *parts)
        if path.exists():
            return path
    raise KgdxError(
        f"the data file {'/'.join((folder, *parts))} is missing from this installation",
        hint="reinstall kgdx",
    )


# SQLite files that several processes read and write at once.


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
