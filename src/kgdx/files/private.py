"""Files and folders that only their owner reads, whatever the umask says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kgdx.errors import UsageError

FILE = 0o600
FOLDER = 0o700
_OTHERS = 0o077


def possible(path: str | os.PathLike[str]) -> Path:
    """Return a path that somebody gave; no file system has names of more than 255 bytes, or with a NUL in them."""
    given = os.fspath(path)
    if "\0" in given or len(given) >= 4096 or any(len(os.fsencode(part)) > 255 for part in Path(given).parts):
        shown = given[:40].replace("\0", "\\0") + ("…" if len(given) > 40 else "")
        raise UsageError(f"{shown} cannot be the path of a file or folder", hint="check the path")
    return Path(given).expanduser()


def private_folder(path: Path) -> Path:
    """Make a folder that only its owner enters, with those above it that are not there yet.

    A folder that is there already and that is one's own is closed to others; one of somebody else's stays as it is.

    Example:
        >>> import stat, tempfile
        >>> made = private_folder(Path(tempfile.mkdtemp()) / "a" / "b")
        >>> oct(stat.S_IMODE(made.stat().st_mode)), oct(stat.S_IMODE(made.parent.stat().st_mode))
        ('0o700', '0o700')
    """
    missing = [path]
    while not missing[-1].parent.exists() and missing[-1].parent != missing[-1]:
        missing.append(missing[-1].parent)
    for folder in reversed(missing):
        with suppress(FileExistsError):
            folder.mkdir(mode=FOLDER)
    if path.stat().st_mode & _OTHERS:
        with suppress(PermissionError):
            path.chmod(FOLDER)
    return path


def private_file(path: Path) -> Path:
    """Close a file to everybody but its owner, making it where it is not there yet; what is no file stays as it is.

    Example:
        >>> import stat, tempfile
        >>> oct(stat.S_IMODE(private_file(Path(tempfile.mkdtemp()) / "report.html").stat().st_mode))
        '0o600'
    """
    if path.exists() and not path.is_file():  # a device, or a pipe that somebody reads
        return path
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE))
    if path.stat().st_mode & _OTHERS:
        with suppress(PermissionError):
            path.chmod(FILE)
    return path


@contextmanager
def private_umask() -> Iterator[None]:
    """Make whatever the block creates private, by any library; for a process's start, not beside threads."""
    before = os.umask(_OTHERS)
    try:
        yield
    finally:
        os.umask(before)
