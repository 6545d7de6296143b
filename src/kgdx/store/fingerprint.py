"""A SHA-256 over a graph's content that does not depend on row order, on the store, or on how absence is written.

Every row becomes one line: table, then each present property as name, type and length-prefixed value. The sorted lines
are hashed, so equal graphs have equal fingerprints and no two different rows share a line.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable

import polars as pl

from kgdx.schema import load_schema
from kgdx.store.protocol import GraphTable, NodeTable
from kgdx.store.tables import conformed, title

#: Labels that describe a build, not what is known.
EXCLUDED = frozenset({"Build"})


def fingerprint(tables: Iterable[GraphTable]) -> str:
    """SHA-256 (hex) over all rows of the tables; the label Build is left out.

    A table may come in several parts. Null, an absent column and an empty list count as the same.

    Raises:
        StoreError: A table that does not fit the schema.

    Example:
        >>> import pyarrow as pa
        >>> one = NodeTable("Disease", pa.table({"id": ["OMIM:1", "OMIM:2"], "name": ["a", None]}))
        >>> two = NodeTable("Disease", pa.table({"name": [None, "a"], "id": ["OMIM:2", "OMIM:1"]}))
        >>> fingerprint([one]) == fingerprint([two])
        True
    """
    schema = load_schema()
    lines: defaultdict[str, list[pl.Series]] = defaultdict(list)
    for table in tables:
        if isinstance(table, NodeTable) and table.label in EXCLUDED:
            continue
        frame = pl.DataFrame(pl.from_arrow(conformed(table, schema)))
        if frame.height:
            lines[title(table)].append(_lines(frame))
    digest = hashlib.sha256()
    for name in sorted(lines):
        rows = pl.concat(lines[name]).sort()
        digest.update(f"{name}\n{len(rows)}\n".encode())
        for part in rows.to_frame().iter_slices(50_000):
            digest.update("\n".join(part.to_series().to_list()).encode())
    return digest.hexdigest()


def _lines(frame: pl.DataFrame) -> pl.Series:
    """Each row as one line: ``name=value`` of its present properties in order of their names."""
    fields = frame.select(_field(name, frame.schema[name]) for name in sorted(frame.columns))
    return fields.select(pl.concat_str(pl.all(), separator=";", ignore_nulls=True).alias("row")).to_series()


def _field(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if isinstance(dtype, pl.List):
        items = column.list.eval(_scalar(pl.element(), dtype.inner).fill_null("n")).list.join(",")
        value: pl.Expr = pl.when(column.list.len() > 0).then(pl.format("[{}]", items))
    else:
        value = _scalar(column, dtype)
    return (pl.lit(f"{name}=") + value).alias(name)


def _scalar(value: pl.Expr, dtype: pl.DataType | pl.datatypes.DataTypeClass) -> pl.Expr:
    """A value as text that holds its type: floats by their bits, strings with their length in bytes."""
    if dtype == pl.Float64:
        return pl.lit("f") + (value + 0.0).reinterpret(signed=True).cast(pl.String)
    if dtype == pl.Boolean:
        return pl.lit("b") + value.cast(pl.Int8).cast(pl.String)
    if dtype == pl.Int64:
        return pl.lit("i") + value.cast(pl.String)
    return pl.lit("s") + value.str.len_bytes().cast(pl.String) + pl.lit(":") + value
