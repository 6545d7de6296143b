"""A guard for streamed JSON: what is nested deeper than any file of a source is, is refused before it fills memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgdx.errors import SourceError
from kgdx.load.unpack import Readable

DEPTH = 100
"""Levels of objects and lists; obographs have about ten."""
_STEP = np.zeros(256, np.int8)
_STEP[list(b"[{")] = 1
_STEP[list(b"]}")] = -1


class Shallow:
    r"""A stream of JSON that is watched for its depth as it is read.

    A streaming parser keeps the path to where it is, and a file of a few kilobytes of brackets makes that path fill
    the machine.

    Args:
        path: The file, for the message.
        stream: Its bytes.

    Example:
        >>> import io
        >>> Shallow(Path("a.json"), io.BytesIO(b'{"a [\\" [": [1]}')).read()
        b'{"a [\\" [": [1]}'
    """

    def __init__(self, path: Path, stream: Readable) -> None:
        self._path = path
        self._stream = stream
        self._depth = 0
        self._quoted = False
        self._held = b""

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes.

        Raises:
            SourceError: They are nested deeper than :data:`DEPTH`.
        """
        block = self._stream.read(size)
        self._watch(block)
        return block

    def _watch(self, block: bytes) -> None:
        text = self._held + block
        slashes = len(text) - len(text.rstrip(b"\\"))
        self._held = b"\\" if slashes % 2 else b""
        plain = text[: len(text) - len(self._held)].replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = plain.split(b'"')
        outside = b"".join(parts[self._quoted :: 2])
        self._quoted ^= len(parts) % 2 == 0
        if not outside:
            return
        depths = self._depth + np.cumsum(_STEP[np.frombuffer(outside, np.uint8)], dtype=np.int64)
        if depths.max() > DEPTH:
            message = f"{self._path} is nested deeper than {DEPTH} levels"
            raise SourceError(message, hint="no ontology is: check where it comes from")
        self._depth = int(depths[-1])
