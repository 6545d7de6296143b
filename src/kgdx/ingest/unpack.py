"""Files as what is in them, compressed or not, whatever their names say, and text as UTF-8.

Bombs, liars, damaged files and what is no text are refused.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

from kgdx.errors import SourceError, refusing

PACKING = 200
"""How many times its packed size a file may have; tables of few words reach 50, a bomb 1,000."""
SMALL = 1 << 24
"""Size up to which that does not matter."""

PACKED = (".gz", ".zst", ".bz2", ".xz", ".zip")
"""Suffixes of compressed files."""

CHUNK = 1 << 20
BINARY_SHARE = 0.05
"""Share of control characters in the first :data:`CHUNK` above which a file is taken for binary."""
SHARE_OF_DAMAGE = 0.05
"""Share of what is no text above which a file is taken for one in another encoding."""
MUCH_DAMAGE = 100
"""As few damaged places spoil their lines only."""
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f"))
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
    def read(self, size: int = -1, /) -> bytes: ...


class UnpackedFile:
    """The content of a file from front to back."""

    def __init__(self, path: Path, stream: Readable, packing: str | None) -> None:
        self.path = path
        self.packing = packing
        self.taken = 0
        self._stream = stream
        self._most = max(SMALL, path.stat().st_size * PACKING)

    def read(self, size: int = -1) -> bytes:
        room = self._most - self.taken + 1
        with reading(self.path):
            if self.packing is None:
                return self._stream.read(size)
            try:
                block = self._stream.read(room if size < 0 else min(size, room))
            except (OSError, *_DAMAGE) as error:
                if getattr(error, "errno", None) is not None:
                    raise  # of an OSError without a number bzip2, gzip and zstd say so of damaged content
                reason = " ".join(str(error).split()) or type(error).__name__
                message = f"{self.path} is a truncated or damaged {self.packing} file ({reason})"
                raise SourceError(message, hint="fetch it again") from error
        self.taken += len(block)
        if self.taken > self._most:
            message = f"{self.path} unpacks to more than {PACKING} times its size"
            raise SourceError(message, hint="no text does: check where it comes from")
        return block


def reading(path: Path) -> AbstractContextManager[None]:
    return refusing(SourceError, f"{path} cannot be read", "check the path")


@contextmanager
def unpacked(path: Path) -> Iterator[UnpackedFile]:
    """Open a file, compressed (gzip, zip with one file in it, zstd, bzip2, xz) or not."""
    with ExitStack() as stack:
        with reading(path):
            if path.is_dir():
                raise SourceError(f"{path} is a folder", hint="name the file in it")
            if path.exists() and not path.is_file():
                raise SourceError(f"{path} is no regular file", hint="save its content to a file first")
            file = stack.enter_context(path.open("rb"))
            head = file.read(8)
            how = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
            file.seek(0)
            stream = UnpackedFile(path, _stream(path, file, how, stack), how)
        yield stream


def _stream(path: Path, file: Any, how: str | None, stack: ExitStack) -> Readable:
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


def read_bytes(path: Path) -> bytes:
    """Read a whole file; a compressed one is unpacked, whatever its name."""
    with unpacked(path) as stream:
        content = stream.read()
    if not content.strip():
        raise SourceError(f"{path} is empty", hint="fetch it again")
    return content


def read_text(path: Path, encoding: str = "utf-8") -> bytes:
    """Read a text file as UTF-8 bytes without a byte order mark; bytes that are no text become U+FFFD."""
    content = read_bytes(path)
    if encoding != "utf-8":
        content = content.decode(encoding, "replace").encode()
    content = begun(path, content)
    if content.isascii():
        return content
    text = content.decode("utf-8", "replace")
    if text.count("\ufffd") > max(MUCH_DAMAGE, SHARE_OF_DAMAGE * len(content)):
        hint = "say its encoding in the manifest: `encoding: gb18030` or `encoding: utf-16`"
        raise SourceError(f"{path} is not text in {encoding.upper()}", hint=hint)
    return text.encode()


def begun(path: Path, content: bytes) -> bytes:
    """Return the beginning of a text in UTF-8 (or all of it) without its byte order mark, if it is text at all."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError(f"{path} is UTF-16", hint="save it as UTF-8, or say `encoding: utf-16` in its manifest")
    head = content[:CHUNK]
    if len(head) - len(head.translate(None, _CONTROLS)) > len(head) * BINARY_SHARE:
        raise SourceError(f"{path} is a binary file, not text", hint="check that it is the right file")
    return content.removeprefix(b"\xef\xbb\xbf")
