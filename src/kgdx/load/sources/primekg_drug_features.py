"""PrimeKG's drug features: what DrugBank and DrugCentral say of each drug, in sentences.

The file names drugs by their place among PrimeKG's nodes, so nodes.csv has to stand beside it.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from kgdx.errors import SourceError
from kgdx.load.manifest import Manifest
from kgdx.load.records import LINE, Records, join_rejects, refuse
from kgdx.load.sources.blocks import read_blocks, read_header
from kgdx.load.sources.primekg_nodes import Nodes, beside, read_nodes

VERSION = "1"
"""Changes when the same file would be read otherwise."""

TEXTS = (
    "description",
    "half_life",
    "indication",
    "mechanism_of_action",
    "protein_binding",
    "pharmacodynamics",
    "state",
    "atc_1",
    "atc_2",
    "atc_3",
    "atc_4",
    "category",
    "group",
    "pathway",
    "molecular_weight",
    "tpsa",
    "clogp",
)
FRAMES = {"drug": ("id", "name", *TEXTS)}


def read(path: Path, manifest: Manifest) -> Records:
    """Read drugs as the frame ``drug``; a further row of a drug is refused unless it says the same.

    Raises:
        SourceError: The file is unreadable, a column is missing, or nodes.csv is not beside it.
    """
    header = read_header(path)
    missing = [name for name in ("node_index", *TEXTS) if name not in header.columns]
    if missing:
        hint = f"it should have node_index, {', '.join(TEXTS)}"
        raise SourceError(f"{path} has no column {missing[0]!r} in its header line", hint=hint)
    nodes = Nodes()
    rejects = [read_nodes(beside(path), nodes)]
    blocks = list(read_blocks(path, header))
    rejects += [refused for _, refused in blocks]
    rows = pl.concat([rows.select(LINE, "node_index", *TEXTS) for rows, _ in blocks])
    distinct = rows.unique(["node_index", *TEXTS], keep="first", maintain_order=True)
    merged = rows.height - distinct.height
    known = nodes.sound().select("type", "name", _n="_n", id="curie")
    rows = distinct.with_columns(pl.col("node_index").str.strip_suffix(".0").cast(pl.Int64, strict=False).alias("_n"))
    rows = rows.join(known, on="_n", how="left", maintain_order="left")
    shown = pl.col("node_index").fill_null("").str.slice(0, 60)
    reason = pl.coalesce(
        pl.when(pl.col("id").is_null()).then(
            pl.format("node_index is '{}', no node of nodes.csv that can be used", shown)
        ),
        pl.when(pl.col("type") != "drug").then(pl.format("the node {} is no drug but a {}", shown, "type")),
        pl.when(~pl.col("id").is_first_distinct()).then(pl.format("{} stands here a second time", "id")),
    )
    bad = rows.filter(reason.is_not_null())
    reasons = rows.select(reason.alias("why")).to_series().drop_nulls()
    rejects.append(refuse(bad.select(LINE, "node_index", *TEXTS), pl.lit(reasons)))
    drugs = rows.filter(reason.is_null()).select(LINE, "id", "name", *TEXTS)
    return Records({"drug": drugs}, join_rejects(rejects), merged=merged)
