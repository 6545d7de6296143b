"""A SHA-256 over a graph's content that does not depend on row order, on the store, or on how absence is written.

Every row becomes one line: each present property as name, type and length-prefixed value, so no two different rows
share a line. Lines are hashed one by one, and the sorted hashes of each part (the rows that one source stated of one
class or relation) make the part's digest; the parts' digests make the fingerprint. So a change of one source leaves
the digests of all other parts as they are, and a row takes 32 bytes of memory whatever it holds.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl

from kgdx.schema import load_schema
from kgdx.store.protocol import GraphTable, NodeTable
from kgdx.store.tables import BOOKKEEPING, conformed, title

Part = tuple[str, str]
"""What a digest is of: a table's title and the source of its rows (empty where they have none)."""

Digest = tuple[int, str]
"""Number of rows, and SHA-256 (hex) over them."""

_LINES = 100_000  # rows whose lines are in memory at once
_BYTES = hashlib.sha256().digest_size


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
    return combine(digests(tables))


def part_digests(table: GraphTable) -> dict[Part, Digest]:
    """Digest a table by the sources of its rows; the label Build has none.

    Raises:
        StoreError: The table does not fit the schema.

    Example:
        >>> import pyarrow as pa
        >>> table = NodeTable("Gene", pa.table({"id": ["NCBIGene:1", "NCBIGene:2"], "source": ["hpoa", "primekg"]}))
        >>> {part: rows for part, (rows, _) in part_digests(table).items()}
        {('Gene', 'hpoa'): 1, ('Gene', 'primekg'): 1}
    """
    return digests([table])


def digests(tables: Iterable[GraphTable]) -> dict[Part, Digest]:
    """Digest tables by title and source; a table may come in several parts, and is let go once it is read.

    Raises:
        StoreError: A table that does not fit the schema.
    """
    schema = load_schema()
    rows: defaultdict[Part, list[bytes]] = defaultdict(list)
    for table in tables:
        if isinstance(table, NodeTable) and table.label in BOOKKEEPING:
            continue
        frame = pl.DataFrame(pl.from_arrow(conformed(table, schema)))
        if "source" not in frame.columns:
            frame = frame.with_columns(pl.lit(None, pl.String).alias("source"))
        for part in frame.iter_slices(_LINES):
            for (source,), of_source in part.group_by("source", maintain_order=True):
                rows[title(table), source or ""].append(_hashes(_lines(of_source)))
    return {part: _digest(hashes) for part, hashes in rows.items()}


def combine(parts: Mapping[Part, Digest]) -> str:
    """Return the fingerprint of the graph that has these parts; parts without rows do not count.

    Example:
        >>> combine({("Gene", "hpoa"): (0, "")}) == combine({})
        True
    """
    entries = sorted([*part, *digest] for part, digest in parts.items() if digest[0])
    return hashlib.sha256(json.dumps(entries).encode()).hexdigest()


def lines(table: GraphTable) -> pl.Series:
    """Each row in the one way to write it, which its hash is made from; equal rows, equal lines.

    Raises:
        StoreError: The table does not fit the schema.

    Example:
        >>> import pyarrow as pa
        >>> lines(NodeTable("Gene", pa.table({"name": ["FBN1"], "id": ["NCBIGene:2200"]}))).to_list()
        ['id=s13:NCBIGene:2200;name=s4:FBN1']
    """
    return _lines(pl.DataFrame(pl.from_arrow(conformed(table, load_schema()))))


def _hashes(rows: pl.Series) -> bytes:
    sha256 = hashlib.sha256
    return b"".join([sha256(row.encode()).digest() for row in rows.to_list()])


def _digest(hashes: list[bytes]) -> Digest:
    rows = np.frombuffer(b"".join(hashes), dtype=f"S{_BYTES}")
    return len(rows), hashlib.sha256(np.sort(rows).data).hexdigest()


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
