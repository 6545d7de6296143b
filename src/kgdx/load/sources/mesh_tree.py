"""The tree of MeSH: which record lies below which, from the numbers of their places."""

from __future__ import annotations

import polars as pl

from kgdx.load.records import LINE
from kgdx.load.sources.terms import COMPONENT, in_cycles


def edges(places: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Turn places in the tree into edges: the place ``C10.228.140`` lies below ``C10.228``.

    A record with several places has several parents. A place whose parent no record has, that another record has
    already, or that would put a record below itself, is refused; of a cycle (as between Ethics and Morals in some
    releases) the deepest places are.

    Args:
        places: Columns ``id``, ``tree_number`` and the line.

    Returns:
        The frame ``is_a`` (child, parent), and refused places.

    Example:
        >>> rows = {"_line": [1, 2], "id": ["MESH:D1", "MESH:D2"], "tree_number": ["C10", "C10.1"]}
        >>> edges(pl.DataFrame(rows))[0].rows()
        [(2, 'MESH:D2', 'MESH:D1')]
    """
    first = places["tree_number"].is_first_distinct()
    owned = places.filter(first)
    owner = owned.select(parent="id", _above="tree_number")
    found = places.with_columns(
        pl.col("tree_number").str.extract(r"^(.+)\.[^.]*$").alias("_above"), first.alias("_first")
    ).join(owner, on="_above", how="left", maintain_order="left")
    holder = owner.rename({"parent": "_holder", "_above": "tree_number"})
    found = found.join(holder, on="tree_number", how="left", maintain_order="left")
    reason = pl.coalesce(
        pl.when(~pl.col("_first")).then(pl.format("the place {} is that of {}", "tree_number", "_holder")),
        pl.when(pl.col("_above").is_not_null() & pl.col("parent").is_null()).then(
            pl.format("nothing in this file has the place {}, its parent", "_above")
        ),
        pl.when(pl.col("parent") == pl.col("id")).then(
            pl.format("the place {} puts the record below itself", "tree_number")
        ),
    )
    found = found.with_columns(reason.alias("reason"))
    kept = found.filter(pl.col("reason").is_null() & pl.col("parent").is_not_null())
    kept, cyclic = _acyclic(kept)
    wrong = pl.concat([found.filter(pl.col("reason").is_not_null()), cyclic], how="diagonal_relaxed").sort(LINE)
    refused = wrong.select(
        pl.lit(None).cast(pl.String).alias("file"),
        pl.col(LINE).alias("line"),
        pl.format("{} {}", "id", "tree_number").alias("record"),
        "reason",
    )
    return kept.select(LINE, child="id", parent="parent"), refused


def _acyclic(kept: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Take out the deepest edges of each cycle until there is none."""
    refused = []
    while (inside := in_cycles(kept, "id", "parent")).height:
        depth = pl.col("tree_number").str.count_matches(".", literal=True)
        cut = inside.filter(depth == depth.max().over(COMPONENT))
        shown = pl.format("the place {} closes a cycle: {} lies below {} and above it", "tree_number", "id", "parent")
        refused.append(cut.with_columns(shown.alias("reason")).drop(COMPONENT))
        kept = kept.join(cut.select("id", "parent", "tree_number"), on=["id", "parent", "tree_number"], how="anti")
    return kept, pl.concat([kept.clear(), *refused], how="diagonal_relaxed")
