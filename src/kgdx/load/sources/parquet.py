"""Parquet tables: the columns that the manifest maps, fields of structs by dotted paths."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from kgdx.errors import SourceError
from kgdx.load.faults import did_you_mean
from kgdx.load.manifest import Manifest
from kgdx.load.mapping import mapped_columns
from kgdx.load.records import LINE, Records

VERSION = "1"


def read(path: Path, manifest: Manifest) -> Records:
    """Read the columns that the manifest maps, as the frame ``rows``; a record's number stands for its line.

    Raises:
        SourceError: The file is no Parquet file or is damaged, or it has not a column that the manifest maps.
    """
    names = mapped_columns(manifest)
    try:
        schema = pl.Schema(pl.read_parquet_schema(path))
        _check(path, names, schema)
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


def _check(path: Path, names: tuple[str, ...], schema: pl.Schema) -> None:
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
