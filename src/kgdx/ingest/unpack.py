"""Compressed files, read as what is in them whatever their names say; bombs, liars and damaged ones are refused."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

from kgdx.errors import SourceError

PACKING = 200
"""How many times its packed size a file may have; tables of few words reach 50, a bomb 1,000."""
SMALL = 1 << 24
"""Size up to which that does not matter."""

PACKED = (".gz", ".zst", ".bz2", ".xz", ".zip")
"""Suffixes of compressed files."""

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
}
_DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, RuntimeError)
"""RuntimeError is what an encrypted or unknown kind of zip file raises."""


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes, at most ``size``."""


def packing(head: bytes) -> str | None:
    r"""Return how a file is compressed, by its first bytes.

    Example:
        >>> packing(b"\x1f\x8b\x08"), packing(b"id,name")
        ('gzip', None)
    """
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


class Unpacked:
    """The content of a file from front to back.

    Attributes:
        path: The file.
        packing: How it is compressed, if it is.
        taken: Bytes that were handed out.
    """

    def __init__(self, path: Path, stream: Readable, packing: str | None) -> None:
        self.path = path
        self.packing = packing
        self.taken = 0
        self._stream = stream
        self._most = max(SMALL, path.stat().st_size * PACKING)

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most ``size``; all of them without it.

        Raises:
            SourceError: It is damaged, or unpacks to more than any text does.
        """
        if self.packing is None:
            return self._stream.read(size)
        room = self._most - self.taken + 1
        try:
            block = self._stream.read(room if size < 0 else min(size, room))
        except _DAMAGE as error:
            raise self._damaged(error) from error
        except OSError as error:
            if error.errno is not None:
                raise
            raise self._damaged(error) from error  # bzip2, gzip and zstd say so of damaged content
        self.taken += len(block)
        if self.taken > self._most:
            message = f"{self.path} unpacks to more than {PACKING} times its size"
            raise SourceError(message, hint="no text does: check where it comes from")
        return block

    def _damaged(self, error: Exception) -> SourceError:
        reason = " ".join(str(error).split()) or type(error).__name__
        return SourceError(
            f"{self.path} is a truncated or damaged {self.packing} file ({reason})", hint="fetch it again"
        )


@contextmanager
def unpacked(path: Path) -> Iterator[Unpacked]:
    """Open a file, compressed (gzip, zip with one file in it, zstd, bzip2, xz) or not.

    Raises:
        SourceError: It is a folder, no regular file or cannot be read; or a zip archive that is damaged or does not
            hold exactly one file.

    Example:
        >>> from tempfile import mkdtemp
        >>> path = Path(mkdtemp()) / "a.csv"
        >>> _ = path.write_bytes(gzip.compress(b"id"))
        >>> with unpacked(path) as content:
        ...     content.read()
        b'id'
    """
    with ExitStack() as stack:
        try:
            if path.is_dir():
                raise SourceError(f"{path} is a folder", hint="name the file in it")
            if path.exists() and not path.is_file():
                raise SourceError(f"{path} is no regular file", hint="save its content to a file first")
            file = stack.enter_context(path.open("rb"))
            how = packing(file.read(8))
            file.seek(0)
            stream = Unpacked(path, _stream(path, file, how, stack), how)
        except OSError as error:
            raise SourceError(f"{path} cannot be read ({error.strerror or error})", hint="check the path") from error
        yield stream


def _stream(path: Path, file: Any, how: str | None, stack: ExitStack) -> Readable:
    """Return a stream of what is in the open file."""
    if how == "zip":
        return _only_member(path, stack)
    if how == "zstd":
        import pyarrow as pa

        raw: Readable = stack.enter_context(pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd"))
        return raw
    opener: Any = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}.get(how or "")
    stream: Readable = file if opener is None else stack.enter_context(opener(file))
    return stream


def _only_member(path: Path, stack: ExitStack) -> Readable:
    try:
        archive = stack.enter_context(zipfile.ZipFile(path))
        names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
        if len(names) != 1:
            hint = "unpack it, and give the file in it"
            raise SourceError(f"{path} is a zip archive of {len(names)} files", hint=hint)
        return stack.enter_context(archive.open(names[0]))
    except _DAMAGE as error:
        raise SourceError(f"{path} is a damaged zip file ({error})", hint="fetch it again") from error
