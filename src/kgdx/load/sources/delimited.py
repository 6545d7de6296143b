"""CSV with any delimiter: quoted cells, line breaks in them, and every damaged line by its own."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from kgdx.errors import SourceError
from kgdx.load.faults import did_you_mean
from kgdx.load.manifest import Manifest
from kgdx.load.mapping import mapped_columns
from kgdx.load.records import LINE, Records, join_rejects
from kgdx.load.sources.blocks import Header, header_cells, read_blocks
from kgdx.load.sources.table import find_version
from kgdx.load.unpack import unpacked

VERSION = "1"
DELIMITERS = ",\t;|"
_HEAD = 1 << 20


def read(path: Path, manifest: Manifest) -> Records:
    """Read a table with a header line, as the frame ``rows`` (all columns text, empty is null).

    The delimiter is the manifest's, or the one of comma, tab, semicolon and bar that the header line has most of. A
    column without a name is called ``column_N``, a name's leading underscores are dropped.

    Raises:
        SourceError: The file is unreadable, or a column is missing.
    """
    head = head_of(path, manifest.encoding)
    header = header_of(path, head, manifest.delimiter)
    for name in mapped_columns(manifest):
        if name not in header.columns:
            hint = f"it has {', '.join(header.columns)}{did_you_mean(name, header.columns)}"
            raise SourceError(f"{path} has no column {name!r} in its header line", hint=hint)
    blocks = list(read_blocks(path, header, manifest.encoding))
    frames = [frame for frame, _ in blocks]
    if not any(frame.height for frame in frames):
        raise SourceError(f"{path} holds no records", hint="check that it is the right file")
    kept = [LINE, *(mapped_columns(manifest) or header.columns)]
    rows = pl.concat([frame.select(kept) for frame in frames])
    texts = [pl.col(name).str.strip_chars().replace("", None) for name in kept[1:]]
    rejects = join_rejects([refused for _, refused in blocks])
    return Records({"rows": rows.with_columns(texts)}, rejects, find_version(head.encode(), manifest))


def head_of(path: Path, encoding: str) -> str:
    """Return a file's beginning, without a byte order mark.

    Raises:
        SourceError: It cannot be read.
    """
    with unpacked(path) as stream:
        head = stream.read(_HEAD)
    if encoding == "utf-8" and head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError(f"{path} is UTF-16", hint="save it as UTF-8, or say `encoding: utf-16` in its manifest")
    return head.decode(encoding, "replace").removeprefix("\ufeff")


def header_of(path: Path, head: str, delimiter: str | None = None) -> Header:
    r"""Return the columns of a table and what stands between them.

    Args:
        path: For messages.
        head: The beginning of the file.
        delimiter: What stands between columns, if that is known.

    Raises:
        SourceError: There is no header line, or two columns have one name.

    Example:
        >>> header_of(Path("x.csv"), 'id;"a; b";\n1;2;3\n')
        Header(columns=('id', 'a; b', 'column_3'), separator=';')
    """
    line = head.partition("\n")[0].rstrip("\r")
    if not line.strip():
        raise SourceError(f"{path} has no header line", hint="name the columns in its first line")
    plain = "".join(line.split('"')[::2])
    separator = delimiter or max(DELIMITERS, key=plain.count)
    cells = header_cells(path, line, separator)
    names = tuple(cell.strip().lstrip("_") or f"column_{number}" for number, cell in enumerate(cells, 1))
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SourceError(f"{path} has two columns called {twice!r}", hint="give each a name of its own")
    return Header(names, separator)
