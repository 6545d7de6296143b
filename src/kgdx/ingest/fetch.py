"""Source files: of an installed package, at a path, or behind a URL (kept in a cache), and their checksums."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import urllib.parse
import urllib.request
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kgdx.errors import SourceError
from kgdx.files.known import write_whole
from kgdx.ingest.download import download
from kgdx.ingest.unpack import unpacked
from kgdx.resources import resource

DIGESTS = "digests.json"
"""Name of the file beside the stages."""

Signature = list[list[Any]]
"""Of each file: name below the path, size, time of the last change in nanoseconds, inode."""


def signature(path: Path) -> Signature:
    """Return in what state a file, or every file of a folder, is; equal signatures mean an unchanged content.

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
    """Checksums of files, kept in one JSON file.

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
        """Return whether a file is as it was when it was last read; ``None`` when it never was."""
        known = self._known.get(str(path.absolute()))
        try:
            return None if known is None else bool(known["signature"] == signature(path))
        except OSError:
            return False

    def write(self) -> None:
        """Keep what was learned, of files that are still there."""
        kept = {path: known for path, known in self._known.items() if Path(path).exists()}
        write_whole(self._path, json.dumps({"checksum": _checksum(kept), "files": kept}))


def _checksum(files: Any) -> int:
    """Shows damage of what is remembered, which would else go for the files' digests."""
    return zlib.crc32(json.dumps(files, sort_keys=True).encode())


CHUNK = 1 << 20
BINARY_SHARE = 0.05
"""Share of control characters in the first :data:`CHUNK` above which a file is taken for binary."""
SHARE_OF_DAMAGE = 0.05
"""Share of what is no text above which a file is taken for one in another encoding."""
MUCH_DAMAGE = 100
"""As few damaged places spoil their lines only."""
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f"))
_OWN = "kgdx"
_PACKAGED = re.compile(r"(?P<package>[A-Za-z][\w.-]+):(?P<file>[\w./-]+)")


@dataclass(frozen=True, slots=True)
class Fetched:
    """A source's file (or folder) on this machine.

    Attributes:
        path: Where it lies.
        origin: What it was asked for as.
        checksum: SHA-256 of the file as it lies there; of the files' names and contents for a folder.
        note: What the user should know of it, if anything.
    """

    path: Path
    origin: str
    checksum: str
    note: str = ""


def fetch(
    origin: str,
    cache: Path,
    *,
    expected: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    digests: Digests | None = None,
    folder: bool = True,
) -> Fetched:
    """Bring a source's file to this machine.

    Args:
        origin: ``package:file`` (a file of an installed package; of ``kgdx``, one of its folder ``data``), a path,
            ``file://``, ``http://`` or ``https://``.
        cache: Folder for downloads. An interrupted download goes on where it stopped.
        expected: SHA-256 that a download must have.
        progress: Called with the number of bytes that have arrived, and how many there are (0 if that is not known).
        digests: Remembers the checksums of files, so that one that did not change is not read.
        folder: Whether it may be a folder, of which every file is read through.

    Raises:
        SourceError: There is no such file, or it cannot be downloaded.
    """
    scheme = urllib.parse.urlsplit(origin).scheme
    if scheme in ("http", "https"):
        found = download(origin, cache, expected=expected, progress=progress or (lambda _arrived, _total: None))
        return Fetched(found.path, origin, found.checksum, found.note)
    if scheme == "file":
        path = Path(urllib.request.url2pathname(urllib.parse.urlsplit(origin).path))
    elif (packaged := _PACKAGED.fullmatch(origin)) and not Path(origin).exists():
        path = _packaged(packaged["package"], packaged["file"], origin)
    else:
        path = Path(origin).expanduser()
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise SourceError(f"{origin} is no regular file", hint="save its content to a file first")
    if path.is_dir() and not folder:
        raise SourceError(f"{origin} is a folder", hint="name the file in it")
    checksum = partial(file_digest, origin=origin)
    return Fetched(path, origin, checksum(path) if digests is None else digests.of(path, checksum))


def read_bytes(path: Path) -> bytes:
    """Read a whole file; a compressed one is unpacked, whatever its name.

    Raises:
        SourceError: It cannot be read, is a folder, is empty, or is a damaged compressed file.
    """
    try:
        with unpacked(path) as stream:
            content = stream.read()
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror or error})", hint="check the path") from error
    if not content.strip():
        raise SourceError(f"{path} is empty", hint="fetch it again")
    return content


def read_text(path: Path, encoding: str = "utf-8") -> bytes:
    """Read a text file as UTF-8 bytes without a byte order mark; bytes that are no text become U+FFFD.

    Args:
        path: The file.
        encoding: Its encoding.

    Raises:
        SourceError: As :func:`read_bytes`; or it is binary, or in another encoding.
    """
    content = read_bytes(path)
    if encoding != "utf-8":
        content = content.decode(encoding, "replace").encode()
    elif content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError(f"{path} is UTF-16", hint="save it as UTF-8, or say `encoding: utf-16` in its manifest")
    content = content.removeprefix(b"\xef\xbb\xbf")
    head = content[:CHUNK]
    if len(head) - len(head.translate(None, _CONTROLS)) > len(head) * BINARY_SHARE:
        raise SourceError(f"{path} is a binary file, not text", hint="check that it is the right file")
    return _valid(content, path, encoding)


def _valid(content: bytes, path: Path, encoding: str) -> bytes:
    """Replace what is no text, unless there is so much of it that the encoding must be another."""
    try:
        damaged = 0 if content.isascii() else content.decode().count("\ufffd")
    except UnicodeDecodeError:
        text = content.decode("utf-8", "replace")
        content, damaged = text.encode(), text.count("\ufffd")
    if damaged > max(MUCH_DAMAGE, SHARE_OF_DAMAGE * len(content)):
        hint = "say its encoding in the manifest: `encoding: gb18030` or `encoding: utf-16`"
        raise SourceError(f"{path} is not text in {encoding.upper()}", hint=hint)
    return content


def _packaged(package: str, file: str, origin: str) -> Path:
    if package == _OWN:
        return resource("data", *file.split("/"))
    try:
        distribution = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        raise SourceError(
            f"{origin} is in the package {package}, which is not installed", hint=f"pip install {package}"
        ) from None
    for entry in distribution.files or ():
        if entry.as_posix().endswith("/" + file):
            return Path(str(entry.locate()))
    raise SourceError(
        f"the installed package {package} has no file {file}", hint="name another version's file by its path"
    )


def file_digest(path: Path, origin: str) -> str:
    """Return the SHA-256 of a file; of the files' names and contents for a folder.

    Raises:
        SourceError: It cannot be read; the message says ``origin``.
    """
    try:
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.is_file())
            total = hashlib.sha256()
            for file in files:
                total.update(f"{file.relative_to(path).as_posix()}\0{file_digest(file, origin)}\0".encode())
            return total.hexdigest()
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        raise SourceError(f"no such file: {origin}", hint="check the path") from None
    except OSError as error:
        raise SourceError(
            f"{origin} cannot be read ({error.strerror or error})", hint="check its permissions"
        ) from error
