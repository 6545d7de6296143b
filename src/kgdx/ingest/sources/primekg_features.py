"""PrimeKG's features: what MONDO, UMLS, Orphanet, the Mayo Clinic, DrugBank and DrugCentral say.

PrimeKG joined the sources of diseases row by row, so an entry has several rows, of which each repeats some of the
texts. Here an entry stands once, with every different text. Drugs are named by their place among PrimeKG's nodes, so
nodes.csv has to stand beside that file.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from kgdx.ingest.manifest import Manifest
from kgdx.ingest.records import LINE, Records, join_rejects, split
from kgdx.ingest.sources.primekg import PrimeNodes, beside, read_nodes
from kgdx.ingest.sources.table_files import read_header, read_whole

VERSION = "1"
"""Changes when the same file would be read otherwise."""

_ENTRY = ("mondo_id", "mondo_name", "group_id_bert", "group_name_bert", "mondo_definition")


def texts_of(manifest: Manifest) -> list[str]:
    """Return the columns that become properties as they are: all but what an entry is called and defined as."""
    properties = manifest.nodes[0].properties.items()
    return [column for name, value in properties if name not in ("name", "definition") for column in value.columns]


def read_diseases(path: Path, manifest: Manifest) -> Records:
    """Read entries of MONDO, and the groups that PrimeKG put them into."""
    told = texts_of(manifest)
    header = read_header(path, (*_ENTRY, *told))
    rows, rejects = read_whole(path, header, [LINE, *_ENTRY, *told])
    rows = rows.with_columns(pl.col(name).str.strip_suffix(".0") for name in ("mondo_id", "group_id_bert"))
    rows, wrong = split(rows, _problems())
    rejects.append(wrong)
    rows = rows.with_columns(pl.concat_str(pl.lit("MONDO:"), pl.col("mondo_id").str.zfill(7)).alias("id"))
    texts = [pl.col(name).drop_nulls().unique(maintain_order=True) for name in told]
    firsts = [pl.col("mondo_name").first().alias("name"), pl.col("mondo_definition").drop_nulls().first()]
    diseases = rows.group_by("id", maintain_order=True).agg(pl.col(LINE).first(), *firsts, *texts)
    groups = rows.filter(pl.col("group_id_bert").str.contains("_")).select(
        LINE, "id", group=pl.concat_str(pl.lit("MONDO_GROUPED:"), "group_id_bert"), name="group_name_bert"
    )
    frames = {
        "disease": diseases.rename({"mondo_definition": "definition"}),
        "group": groups.unique(["group", "id"], keep="first", maintain_order=True),
    }
    return Records(frames, join_rejects(rejects), merged=rows.height - diseases.height)


def _problems() -> pl.Expr:
    shown = {name: pl.col(name).fill_null("").str.slice(0, 60) for name in ("mondo_id", "group_id_bert")}
    return pl.coalesce(
        pl.when(~pl.col("mondo_id").fill_null("").str.contains("^[0-9]{1,7}$")).then(
            pl.format("mondo_id is '{}', no id of MONDO", shown["mondo_id"])
        ),
        pl.when(pl.col("mondo_name").is_null()).then(pl.lit("mondo_name is empty")),
        pl.when(~pl.col("group_id_bert").str.contains("^[0-9]{1,7}(?:_[0-9]{1,7})*$")).then(
            pl.format("group_id_bert is '{}', no group of ids of MONDO", shown["group_id_bert"])
        ),
        pl.when(pl.col("group_id_bert").str.contains("_") & pl.col("group_name_bert").is_null()).then(
            pl.lit("group_name_bert is empty")
        ),
    )


def read_drugs(path: Path, manifest: Manifest) -> Records:
    """Read drugs as the frame ``drug``; a further row of a drug is refused unless it says the same."""
    told = texts_of(manifest)
    header = read_header(path, ("node_index", *told))
    nodes = PrimeNodes()
    refused = read_nodes(beside(path), nodes)
    rows, rejects = read_whole(path, header, [LINE, "node_index", *told])
    rejects.insert(0, refused)
    distinct = rows.unique(["node_index", *told], keep="first", maintain_order=True)
    merged = rows.height - distinct.height
    known = nodes.first.select("_n", _type="type", _name="name", _id="curie")
    rows = distinct.with_columns(pl.col("node_index").str.strip_suffix(".0").cast(pl.Int64, strict=False).alias("_n"))
    rows = rows.join(known, on="_n", how="left", maintain_order="left")
    shown = pl.col("node_index").fill_null("").str.slice(0, 60)
    reason = pl.coalesce(
        pl.when(pl.col("_id").is_null()).then(
            pl.format("node_index is '{}', no node of nodes.csv that can be used", shown)
        ),
        pl.when(pl.col("_type") != "drug").then(pl.format("the node {} is no drug but a {}", shown, "_type")),
        pl.when(~pl.col("_id").is_first_distinct()).then(pl.format("{} stands here a second time", "_id")),
    )
    drugs, wrong = split(rows, reason)
    frames = {"drug": drugs.select(LINE, *told, id="_id", name="_name")}
    return Records(frames, join_rejects([*rejects, wrong]), merged=merged)
