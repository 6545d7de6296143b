"""Fields taken by dotted paths from JSON lines and Parquet tables, as the manifest maps them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.errors import SourceError
from kgdx.ingest.column_mapping import mapped_columns
from kgdx.ingest.fetch import read_text
from kgdx.ingest.manifest import Manifest, did_you_mean
from kgdx.ingest.records import LINE, Records
from kgdx.ingest.sources.delimited import find_version
from kgdx.ingest.sources.record_files import Reading, objects

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


def read_parquet(path: Path, manifest: Manifest) -> Records:
    """Read the columns that the manifest maps, as the frame ``rows``; a record's number stands for its line.

    Raises:
        SourceError: The file is no Parquet file or is damaged, or it has not a column that the manifest maps.
    """
    names = mapped_columns(manifest)
    try:
        schema = pl.Schema(pl.read_parquet_schema(path))
        _check_names(path, names, schema)
        roots = dict.fromkeys(_root(name, schema) for name in names)
        table = pl.read_parquet(path, columns=list(roots))
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror or error})", hint="check the path") from error
    except pl.exceptions.PolarsError as error:
        reason = " ".join(str(error).split())
        raise SourceError(f"{path} is no Parquet file, or is damaged ({reason})", hint="fetch it again") from error
    if table.is_empty():
        raise SourceError(f"{path} holds no records", hint="check that it is the right file")
    columns = [_plain(_field(name, schema), table).alias(name) for name in names]
    lines = pl.int_range(1, table.height + 1, dtype=pl.Int64, eager=True).alias(LINE)
    return Records({"rows": table.select(*columns, lines)})


def fields(schema: pl.Schema) -> list[str]:
    """Return the paths of all columns and of the fields of structs.

    Example:
        >>> fields(pl.Schema({"id": pl.String, "d": pl.Struct({"name": pl.String})}))
        ['id', 'd.name']
    """
    found = []
    for name, kind in schema.items():
        inner = fields(pl.Schema(kind)) if isinstance(kind, pl.Struct) else None
        found += [name] if inner is None else [f"{name}.{field}" for field in inner]
    return found


def _root(name: str, schema: pl.Schema) -> str:
    return name if name in schema else name.partition(".")[0]


def _check_names(path: Path, names: tuple[str, ...], schema: pl.Schema) -> None:
    known = fields(schema)
    for name in names:
        if name not in schema and name not in known:
            hint = f"it has {', '.join(known)}{did_you_mean(name, known)}"
            raise SourceError(f"{path} has no column {name!r}", hint=hint)


def _field(name: str, schema: pl.Schema) -> pl.Expr:
    if name in schema:
        return pl.col(name)
    root, *parts = name.split(".")
    field = pl.col(root)
    for part in parts:
        field = field.struct.field(part)
    return field


def _plain(field: pl.Expr, table: pl.DataFrame) -> pl.Expr:
    """The field as numbers, truth values, texts or lists of texts; whole numbers that were kept as fractions whole."""
    found = table.lazy().select(field.alias("_")).collect_schema()["_"]
    if isinstance(found, pl.List | pl.Array):
        texts = field.cast(pl.List(pl.String)) if not isinstance(found.inner, pl.Struct) else _encoded(field)
        return texts.list.drop_nulls()
    if isinstance(found, pl.Struct):
        return field.struct.json_encode()
    if found.is_float():
        whole = table.select(((field == field.floor()) | field.is_null() | field.is_nan()).all()).item()
        return field.fill_nan(None).cast(pl.Int64, strict=False) if whole else field.fill_nan(None).cast(pl.Float64)
    if found.is_integer() or found == pl.Boolean:
        return field
    if found == pl.Binary:
        return field.cast(pl.String, strict=False)
    text = field.cast(pl.String).str.strip_chars()
    return pl.when(text != "").then(text)


def _encoded(field: pl.Expr) -> pl.Expr:
    return field.list.eval(pl.element().struct.json_encode())
