"""SHA-256 of source files, remembered by path, size, time and inode: a file that did not change is not read again."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

DIGESTS = "digests.json"
"""Name of the file beside the stages."""

Signature = list[list[Any]]
"""Of each file: name below the path, size, time of the last change in nanoseconds, inode."""


def signature(path: Path) -> Signature:
    """Say in what state a file, or every file of a folder, is; equal signatures mean an unchanged content.

    Raises:
        OSError: There is no such file.
    """
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    found = []
    for file in files:
        state = file.stat()
        found.append([str(file.relative_to(path)), state.st_size, state.st_mtime_ns, state.st_ino])
    return found


class Digests:
    """What is remembered of files, kept in one JSON file.

    Example:
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "a"
        >>> _ = file.write_text("a")
        >>> seen = Digests(file.with_name("digests.json"))
        >>> seen.of(file, lambda path: "read"), seen.of(file, lambda path: "read again")
        ('read', 'read')
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, Any] = {}
        try:
            content = json.loads(path.read_bytes())
            if content["checksum"] == _checksum(content["files"]):
                self._known = content["files"]
        except (OSError, ValueError, KeyError, TypeError):
            pass

    def of(self, path: Path, read: Callable[[Path], str]) -> str:
        """Return a file's or folder's digest, computed by ``read`` when it is not known."""
        known = self._known.get(str(path.absolute()))
        try:
            state = signature(path)
        except OSError:
            return read(path)  # which says what is wrong
        if known is not None and known["signature"] == state:
            return str(known["digest"])
        digest = read(path)
        self._known[str(path.absolute())] = {"signature": state, "digest": digest}
        return digest

    def unchanged(self, path: Path) -> bool | None:
        """Whether a file is as it was when it was last read; ``None`` when it never was."""
        known = self._known.get(str(path.absolute()))
        try:
            return None if known is None else bool(known["signature"] == signature(path))
        except OSError:
            return False

    def write(self) -> None:
        """Keep what was learned, of files that are still there."""
        kept = {path: known for path, known in self._known.items() if Path(path).exists()}
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        temporary.write_text(json.dumps({"checksum": _checksum(kept), "files": kept}), "utf-8")
        os.replace(temporary, self._path)


def _checksum(files: Any) -> int:
    """Shows damage of what is remembered, which would else go for the files' digests."""
    return zlib.crc32(json.dumps(files, sort_keys=True).encode())
