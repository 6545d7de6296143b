"""Relations of one source and type: ends checked and brought up to date, duplicates merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from kgdx.load.corrections import part_of
from kgdx.load.mapping import Staged
from kgdx.load.records import LINE
from kgdx.load.tally import GIVEN, ROLE, SOURCE, Tally, marked
from kgdx.schema import Schema

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
    """Whether an end of this class in this relation is brought from obsolete and alternative ids to current ones.

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
    """Which rows are the first with their values of these columns."""
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
