"""Writes a page to a file, whole or not at all, and over nothing but an older page."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from kgdx.errors import UsageError

MARK = '<meta name="generator" content="kgdx '
"""Stands at the start of every page, and tells it from other files."""

_HEAD = 2048


def write(html: str, path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write a page; a reader of the file sees the old one or the new one, never a part.

    Args:
        html: The page.
        path: Where to.
        force: Whether to replace a file that is no such page.

    Raises:
        UsageError: The file is something else, is a folder, or its folder does not exist or cannot be written.
    """
    target = writable(path, force=force)
    try:
        _replace(target, html.encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}", hint="name another file") from error
    return target


def writable(path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Return where a page may be written: to be asked before the work that the page is of.

    Args:
        path: Where to.
        force: Whether to replace a file that is no such page.

    Raises:
        UsageError: The file is something else, is a folder, or its folder does not exist or cannot be written to.
    """
    target = Path(path)
    if target.is_dir():
        raise UsageError(f"{target} is a folder", hint=f"name a file in it, such as {target / 'report.html'}")
    if not force and target.exists() and not _is_page(target):
        raise UsageError(f"{target} exists and is no page of kgdx", hint="name another file, or add --force")
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}", hint="make it first")
    if not os.access(target.parent, os.W_OK):
        raise UsageError(f"{target.parent} cannot be written to", hint="name a file in another folder")
    return target


def _is_page(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return MARK.encode() in file.read(_HEAD)


def _replace(target: Path, content: bytes) -> None:
    """Write beside the target, then put it in the target's place; other processes write files of their own."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # a temporary file is its owner's alone
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
