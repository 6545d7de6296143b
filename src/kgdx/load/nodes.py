"""Merging and checking of rows: one row for each node, current ids of phenotypes, checked ends of relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from kgdx.load.corrections import part_of
from kgdx.load.mapping import Staged
from kgdx.load.records import LINE
from kgdx.load.tally import GIVEN, ROLE, SOURCE, Tally, marked
from kgdx.schema import Schema

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
    """Return one row per id: of each property the first value that is not absent (or empty, for a list)."""
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


ACYCLIC = frozenset({"IS_A", "SAME_AS", "HAS_MEMBER", "PHENOTYPE_PHENOTYPE"})
"""Relations in which an edge from a node to itself says nothing, and is refused."""

_ROW = "_row"
_NO_IDS = pl.Series("id", [], pl.String)


def checked_relations(
    tables: Sequence[Staged], ids: Mapping[str, pl.Series], current: pl.DataFrame, schema: Schema, tally: Tally
) -> pl.DataFrame:
    """Check the ends of one source's relations of one type, bring them up to date, and merge duplicates.

    Args:
        tables: Tables of the same source, type and ends, with typed columns.
        ids: The ids of the graph's nodes, by class; only those of the ends' classes are looked at.
        current: What :func:`current_ids` returned.
        schema: The ontology.
        tally: Counts what becomes of the records.
    """
    type, ends, part = tables[0].name, tables[0].ends, part_of(tables[0])
    assert ends is not None
    rows = pl.concat([marked(table) for table in tables], how="diagonal") if len(tables) > 1 else marked(tables[0])
    for end, label in zip(("start", "end"), ends, strict=True):
        if is_updated(type, label):
            rows = _up_to_date(rows, end, current, part, tally)
        unknown = ~pl.col(end).is_in(ids.get(label, _NO_IDS).implode())
        reason = pl.when(unknown).then(pl.format("{} is no {} of this graph", end, pl.lit(label)))
        rows = tally.split(rows, reason, part)
    if type in ACYCLIC:
        reason = pl.when(pl.col("start") == pl.col("end")).then(pl.lit("it refers to itself"))
        rows = tally.split(rows, reason, part)
    rows = _without_duplicates(rows, schema.relation(type).identity, part, tally)
    tally.add(rows, "loaded")
    given = [name for name in rows.columns if name.startswith(GIVEN)]
    return rows.drop(SOURCE, ROLE, LINE, *given, strict=False)


def is_updated(type: str, label: str) -> bool:
    """Return whether obsolete and alternative ids at an end of this class are replaced in this relation.

    Example:
        >>> is_updated("HAS_PHENOTYPE", "Phenotype"), is_updated("IS_A", "Phenotype")
        (True, False)
    """
    return label == "Phenotype" and type != "IS_A"


def _without_duplicates(rows: pl.DataFrame, identity: Sequence[str], part: str, tally: Tally) -> pl.DataFrame:
    """Merge equal rows; quarantine those that state something else of what an earlier one states."""
    keys = ["start", "end", *(name for name in identity if name in rows.columns and name != "source")]
    repeated = rows.select(pl.struct(_plain_lists(rows, keys)).is_duplicated()).to_series()
    if not repeated.any():
        return rows
    rows = rows.with_row_index(_ROW)
    apart = rows.filter(repeated)
    first = _first_of(apart, [name for name in rows.columns if not name.startswith("_")])
    tally.add(apart.filter(~first), "merged")
    apart = apart.filter(first)
    again = ~_first_of(apart, keys)
    if again.any():
        reason = f"an earlier record states it with other values (told apart by {', '.join(identity)})"
        apart = tally.split(apart, pl.when(again).then(pl.lit(reason)), part)
    return pl.concat([rows.filter(~repeated), apart]).sort(_ROW).drop(_ROW)


def _first_of(rows: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    """Return which rows are the first with their values of these columns."""
    return rows.select(pl.struct(_plain_lists(rows, names)).is_first_distinct()).to_series()


def _plain_lists(rows: pl.DataFrame, names: Sequence[str]) -> list[pl.Expr]:
    return [
        pl.col(name).cast(pl.List(pl.String)).list.join("\x1f").alias(name)
        if isinstance(rows.schema[name], pl.List)
        else pl.col(name)
        for name in names
    ]


def _up_to_date(rows: pl.DataFrame, end: str, current: pl.DataFrame, part: str, tally: Tally) -> pl.DataFrame:
    """Replace obsolete and alternative HPO ids by the current ones, and count them."""
    joined = rows.join(current, left_on=end, right_on="old", how="left", maintain_order="left")
    joined = joined.rename({"new": "_new", "why": "_why"})
    if joined["_new"].null_count() == joined.height and joined["_why"].null_count() == joined.height:
        return rows
    joined = tally.split(joined, pl.col("_why"), part).drop("_why")
    tally.add(joined.filter(pl.col("_new").is_not_null()), "resolved")
    given = pl.col(end).alias(f"{GIVEN}{end}")
    return joined.with_columns(given, pl.coalesce("_new", end).alias(end)).drop("_new")
