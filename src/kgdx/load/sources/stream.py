"""A source's bytes as a stream, for formats that are larger than memory should hold: gzip unpacked, bombs refused."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from kgdx.errors import SourceError
from kgdx.load.unpack import PACKING, SMALL

_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_AGAIN = "fetch it again"


class Stream:
    """A file that is read from front to back; a gzip one is unpacked on the way, whatever its name.

    Attributes:
        path: The file.
        taken: Bytes that were handed out.
    """

    def __init__(self, path: Path, file: BinaryIO, packed: bool) -> None:
        self.path = path
        self.taken = 0
        self._file = gzip.GzipFile(fileobj=file) if packed else file
        self._most = max(SMALL, path.stat().st_size * PACKING) if packed else None

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most ``size``.

        Raises:
            SourceError: It cannot be read, is a damaged gzip file, or unpacks to more than any text does.
        """
        try:
            block = self._file.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            message = f"{self.path} is a truncated or damaged gzip file ({error})"
            raise SourceError(message, hint=_AGAIN) from error
        except OSError as error:
            raise SourceError(f"{self.path} cannot be read ({error.strerror or error})", hint=_AGAIN) from error
        self.taken += len(block)
        if self._most is not None and self.taken > self._most:
            message = f"{self.path} unpacks to more than {PACKING} times its size"
            raise SourceError(message, hint="no text does: check where it comes from")
        return block


@contextmanager
def opened(path: Path) -> Iterator[Stream]:
    """Open a source's file as a stream.

    Raises:
        SourceError: It cannot be read, is a folder, is empty, or is a zip archive.

    Example:
        >>> from tempfile import mkdtemp
        >>> path = Path(mkdtemp()) / "a.xml"
        >>> _ = path.write_bytes(gzip.compress(b"<a/>"))
        >>> with opened(path) as stream:
        ...     stream.read()
        b'<a/>'
    """
    try:
        if path.is_dir():
            raise SourceError(f"{path} is a folder", hint="name the file in it")
        with path.open("rb") as file:
            head = file.read(len(_ZIP))
            if head.startswith(_ZIP):
                raise SourceError(f"{path} is a zip archive", hint="unpack it, and give the file in it")
            if not head.strip() and path.stat().st_size < SMALL and not path.read_bytes().strip():
                raise SourceError(f"{path} is empty", hint=_AGAIN)
            file.seek(0)
            yield Stream(path, file, head.startswith(_GZIP))
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror or error})", hint="check the path") from error
