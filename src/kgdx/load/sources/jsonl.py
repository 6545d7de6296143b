"""JSON lines (or one JSON list): an object a line, fields taken by dotted paths, through nested objects and lists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.errors import SourceError
from kgdx.load.fetch import read_text
from kgdx.load.manifest import Manifest
from kgdx.load.mapping import mapped_columns
from kgdx.load.records import LINE, Records
from kgdx.load.sources.documents import Reading, objects
from kgdx.load.sources.table import find_version

VERSION = "1"
LONGEST_VALUE = 1 << 17
"""Characters beyond which a text is taken for damage."""


def read(path: Path, manifest: Manifest) -> Records:
    """Read the fields that the manifest maps, as the frame ``rows``.

    A field is named by its path: ``disease.id``; a path that leads through a list gives a list. A line that is no
    JSON object is refused.

    Raises:
        SourceError: The file is unreadable, holds no objects, or none of them has a field that the manifest maps.
    """
    content = read_text(path, manifest.encoding)
    names = mapped_columns(manifest)
    values: dict[str, list[Any]] = {name: [] for name in names}
    lines: list[int] = []
    reading = Reading({})
    damaged = "\ufffd".encode() in content
    for line, entry in objects(path, content, reading):
        if reason := _problem(entry, damaged):
            reading.refuse(line, entry, reason)
            continue
        lines.append(line)
        for name in names:
            values[name].append(at(entry, name))
    if not lines:
        raise SourceError(f"{path} holds no JSON objects", hint="give one object a line, or a list of objects")
    frame = pl.DataFrame([column(name, found) for name, found in values.items()])
    _check(path, frame, manifest)
    frames = {"rows": frame.with_columns(pl.Series(LINE, lines, pl.Int64))}
    return Records(frames, reading.records().rejects, find_version(content, manifest))


def at(entry: Any, path: str) -> Any:
    """Return what stands at a dotted path; through a list, the list of what stands there in its members.

    Example:
        >>> at({"d": {"id": "X"}, "s": [{"n": "a"}, {}, {"n": "b"}]}, "d.id")
        'X'
        >>> at({"s": [{"n": "a"}, {}, {"n": "b"}]}, "s.n")
        ['a', 'b']
    """
    if isinstance(entry, list):
        found = [at(member, path) for member in entry]
        flat = [item for value in found for item in (value if isinstance(value, list) else [value])]
        return [item for item in flat if item is not None]
    if not isinstance(entry, dict):
        return None
    if path in entry:
        return entry[path]
    first, _, rest = path.partition(".")
    return at(entry[first], rest) if rest and first in entry else None


def column(name: str, values: Sequence[Any]) -> pl.Series:
    """Return values as a column: numbers and truth values as such where all are, lists of texts, or texts.

    Example:
        >>> column("n", [1, None]).dtype, column("n", [1, "b"]).to_list(), column("n", [["a"], "b", None]).to_list()
        (Int64, ['1', 'b'], [['a'], ['b'], None])
    """
    kinds = {type(value) for value in values if value is not None}
    if list in kinds:
        lists = [None if value is None else _texts(value if isinstance(value, list) else [value]) for value in values]
        return pl.Series(name, lists, dtype=pl.List(pl.String))
    if kinds and kinds <= {int, float}:
        whole = kinds == {int} and all(value is None or abs(value) < 1 << 63 for value in values)
        if whole or float in kinds:
            return pl.Series(name, values, dtype=pl.Int64 if whole else pl.Float64, strict=False)
    if kinds == {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    return pl.Series(name, [_text(value) for value in values], dtype=pl.String)


def _texts(values: Iterable[Any]) -> list[str]:
    return [text for value in values if (text := _text(value)) is not None]


def _text(value: Any) -> str | None:
    """Return a value as text without blanks around it; what is empty is absent."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.strip() or None


def _problem(entry: Mapping[str, Any], damaged: bool) -> str | None:
    """Return why an object cannot be used; in a damaged file it may hold what stands for bytes that are no text."""
    if damaged and "\ufffd" in json.dumps(entry, ensure_ascii=False):
        return "it holds bytes that are no text in the file's encoding"
    long = next((name for name, value in entry.items() if isinstance(value, str) and len(value) > LONGEST_VALUE), None)
    return None if long is None else f"{long} has more than {LONGEST_VALUE:,} characters"


def _check(path: Path, frame: pl.DataFrame, manifest: Manifest) -> None:
    """A field may be absent from some objects; one that all lack is a mistake."""
    absent = [name for name in frame.columns if frame[name].null_count() == frame.height]
    required = [name for name in absent if name in manifest.columns] or (absent if len(absent) == frame.width else [])
    if required:
        raise SourceError(
            f"no object in {path} has a field {required[0]!r}",
            hint="check the manifest, or make one for this file with `kgdx sources new`",
        )
