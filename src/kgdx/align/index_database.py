"""SQLite files of indexes: written in one step, and opened for reading where they are of the layout that is wanted."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from kgdx.align import cascade, slips
from kgdx.errors import StoreError
from kgdx.text import stems


def layout_of(version: int) -> str:
    """Return what a file's content depends on: its own version, and those of the forms and stages of alignment.

    Args:
        version: Changes with the file's tables, or with what is read into them.
    """
    return ".".join(map(str, (version, cascade.VERSION, stems.VERSION, slips.VERSION)))


@contextmanager
def written(file: Path, what: str) -> Iterator[sqlite3.Connection]:
    """Give a database to fill, which gets its name when the block is done; nothing is left of one that fails.

    Args:
        file: Where it goes.
        what: What messages call it, such as ``name index``.

    Raises:
        StoreError: The file cannot be written.
    """
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        temporary.unlink(missing_ok=True)
        with closing(sqlite3.connect(temporary)) as database:
            database.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;")
            yield database
            database.commit()
        with temporary.open("rb") as made:
            os.fsync(made.fileno())
        temporary.replace(file)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"the {what} {file} cannot be written ({error})", hint="free some disk space") from error
    finally:
        temporary.unlink(missing_ok=True)


def opened(file: Path, what: str, layout: str) -> tuple[sqlite3.Connection, dict[str, str]]:
    """Open a database for reading, for any thread, with its table ``meta``.

    Args:
        file: Where it lies.
        what: What messages call it.
        layout: The one that it has to be of.

    Raises:
        StoreError: There is no such file, it is damaged, or it is of another layout.
    """
    try:
        database = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    except sqlite3.Error as error:
        raise unreadable(file, what, error) from error
    try:
        meta = dict(database.execute("SELECT name, value FROM meta"))
        (pages,), (size,) = (database.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
        if file.stat().st_size != pages * size:
            raise sqlite3.DatabaseError("it is cut off")
    except (sqlite3.Error, OSError) as error:
        database.close()
        raise unreadable(file, what, error) from error
    if meta.get("layout") != layout:
        database.close()
        raise StoreError(f"the {what} {file} is of another version", hint="remove it; it is made again")
    return database, meta


def unreadable(file: Path, what: str, error: Exception) -> StoreError:
    """Return the error that says that a file is damaged."""
    hint = "remove it; it is made again when it is next needed"
    return StoreError(f"the {what} {file} cannot be read ({error})", hint=hint)
