"""Nodes of one class from all sources → one row each; and which ids of phenotypes are out of date."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from kgdx.load.mapping import Staged
from kgdx.load.records import LINE
from kgdx.load.tally import ROLE, SOURCE, Tally, marked

ID_NAMED = "id"
"""What ``name_source`` says of a node whose name is only its id, for want of a better one."""


def merged_nodes(tables: Sequence[Staged], tally: Tally) -> pl.DataFrame:
    """Merge the nodes of one class by id, then apply the patches.

    Args:
        tables: The class's tables with typed columns, in the order of the sources.
        tally: Counts what becomes of the records.

    Returns:
        One row for each node, sorted by id.
    """
    parts = [marked(table) for table in tables if table.role != "patch"]
    rows = pl.concat(parts, how="diagonal") if parts else marked(tables[0]).clear()
    first = pl.col("id").is_first_distinct()
    tally.add(rows.filter(first), "loaded")
    tally.add(rows.filter(~first), "merged")
    nodes = _coalesced(rows)
    for table in tables:
        if table.role == "patch":
            nodes = _patched(nodes, marked(table), table.name, tally)
    return nodes.drop(SOURCE, ROLE, LINE, strict=False).sort("id")


def _coalesced(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per id: of each property the first value that is not absent (or empty, for a list)."""
    repeated = rows.filter(pl.col("id").is_duplicated())
    if repeated.is_empty():
        return rows
    repeated = _named(repeated)
    values = [
        (
            pl.col(name).filter(pl.col(name).list.len() > 0) if isinstance(kind, pl.List) else pl.col(name).drop_nulls()
        ).first()
        for name, kind in repeated.schema.items()
        if name != "id"
    ]
    merged = repeated.group_by("id", maintain_order=True).agg(values)
    return pl.concat([rows.filter(pl.col("id").is_unique()), merged.select(rows.columns)])


def _named(rows: pl.DataFrame) -> pl.DataFrame:
    """Take the names that are only ids (``name_source`` says so) from nodes that have another name somewhere."""
    if not {"name", "name_source"} <= set(rows.columns):
        return rows
    stopgap = (pl.col("name_source") == ID_NAMED).fill_null(False)
    better = (pl.col("name").is_not_null() & ~stopgap).any().over("id")
    return rows.with_columns(pl.when(~(stopgap & better)).then(pl.col(name)) for name in ("name", "name_source"))


def _patched(nodes: pl.DataFrame, rows: pl.DataFrame, label: str, tally: Tally) -> pl.DataFrame:
    """Add properties to nodes; a patch of an unknown node, or one that contradicts it, is quarantined."""
    names = [name for name in rows.columns if name != "id" and not name.startswith("_")]
    known = pl.col("id").is_in(nodes["id"].implode())
    rows = tally.split(rows, pl.when(~known).then(pl.format("{} is no {} of this graph", "id", pl.lit(label))), label)
    fresh = rows.select("id", *names).is_unique() | rows.select(pl.struct("id", *names).is_first_distinct()).to_series()
    tally.add(rows.filter(~fresh), "merged")
    rows = rows.filter(fresh)
    again = ~pl.col("id").is_first_distinct()
    rows = tally.split(rows, pl.when(again).then(pl.format("{} has another value in this source", "id")), label)
    absent = [pl.lit(None, rows.schema[name]).alias(name) for name in names if name not in nodes.columns]
    nodes = nodes.with_columns(absent)
    before = nodes.select("id", *(pl.col(name).alias(f"_old_{name}") for name in names))
    rows = rows.join(before, on="id", how="left", maintain_order="left")
    clash = pl.any_horizontal([(pl.col(f"_old_{name}") != pl.col(name)).fill_null(False) for name in names])
    rows = tally.split(rows, pl.when(clash).then(pl.format("{} has another value from an earlier source", "id")), label)
    tally.add(rows, "loaded")
    joined = nodes.join(rows.select("id", *names), on="id", how="left", maintain_order="left", suffix="_new")
    filled = [pl.coalesce(name, f"{name}_new").alias(name) for name in names]
    return joined.with_columns(filled).drop([f"{name}_new" for name in names])


def current_ids(phenotypes: pl.DataFrame | None) -> pl.DataFrame:
    """Return alternative and obsolete ids (``old``) with the current ones (``new``), or why there is none (``why``)."""
    schema = {"old": pl.String, "new": pl.String, "why": pl.String}
    if phenotypes is None or not {"alt_ids", "obsolete", "replaced_by", "consider"} <= set(phenotypes.columns):
        return pl.DataFrame(schema=schema)
    obsolete = phenotypes.filter(pl.col("obsolete").fill_null(False))
    consider = (
        pl.when(pl.col("consider").list.len() > 0).then(pl.col("consider").list.join(", ")).otherwise(pl.lit("nothing"))
    )
    replaced = obsolete.select(
        pl.col("id").alias("old"),
        pl.col("replaced_by").alias("new"),
        pl.when(pl.col("replaced_by").is_null())
        .then(pl.format("{} is obsolete without a replacement (to consider: {})", "id", consider))
        .alias("why"),
    )
    alternative = phenotypes.filter(~pl.col("obsolete").fill_null(False)).explode(
        "alt_ids", empty_as_null=True, keep_nulls=True
    )
    alternative = alternative.select(
        pl.col("alt_ids").alias("old"), pl.col("id").alias("new"), pl.lit(None, pl.String).alias("why")
    )
    current = phenotypes.filter(~pl.col("obsolete").fill_null(False))
    alternative = alternative.drop_nulls("old").join(current, left_on="old", right_on="id", how="anti")
    table = pl.concat([alternative, replaced]).unique("old", keep="first", maintain_order=True)
    for _ in range(4):  # a replacement may have been replaced itself
        table = table.join(table.select(new="old", _next="new"), on="new", how="left", maintain_order="left")
        table = table.with_columns(pl.coalesce("_next", "new").alias("new")).drop("_next")
    return table
