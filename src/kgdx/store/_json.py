"""Arrow tables → one JSON object per row, as text, made by column; absent values and empty lists are left out."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pyarrow as pa


def json_rows(rows: pa.Table, columns: Sequence[str]) -> pl.Series:
    """Return each row's present values as a JSON object.

    Example:
        >>> json_rows(pa.table({"id": ["a", "b"], "n": [1, None], "tags": [["x"], []]}), ("id", "n", "tags")).to_list()
        ['{"id":"a","n":1,"tags":["x"]}', '{"id":"b"}']
    """
    if not columns:
        return pl.repeat("{}", rows.num_rows, eager=True)
    frame = pl.DataFrame(pl.from_arrow(rows.select(list(dict.fromkeys(columns)))))
    members = frame.select(_member(name, frame.schema[name]) for name in columns)
    joined = pl.concat_str(members.columns, separator=",", ignore_nulls=True)
    return members.select(("{" + joined + "}").alias("json"))["json"]


def _member(name: str, dtype: pl.DataType) -> pl.Expr:
    text = pl.struct(name).struct.json_encode().str.strip_prefix("{").str.strip_suffix("}")
    present = pl.col(name).is_not_null()
    if isinstance(dtype, pl.List):
        present &= pl.col(name).list.len() > 0
    return pl.when(present).then(text).alias(name)
