"""PrimeKG's disease features: what MONDO, UMLS, Orphanet and the Mayo Clinic say of each entry of MONDO.

PrimeKG joined its sources row by row, so an entry has several rows, of which each repeats some of the texts. Here an
entry stands once, with every different text.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from kgdx.errors import SourceError
from kgdx.load.manifest import Manifest
from kgdx.load.records import LINE, Records, join_rejects, refuse
from kgdx.load.sources.blocks import read_blocks, read_header

VERSION = "1"
"""Changes when the same file would be read otherwise."""

TEXTS = (
    "umls_description",
    "orphanet_definition",
    "orphanet_prevalence",
    "orphanet_epidemiology",
    "orphanet_clinical_description",
    "orphanet_management_and_treatment",
    "mayo_symptoms",
    "mayo_causes",
    "mayo_risk_factors",
    "mayo_complications",
    "mayo_prevention",
    "mayo_see_doc",
)
_ENTRY = ("mondo_id", "mondo_name", "group_id_bert", "group_name_bert", "mondo_definition")

FRAMES = {"disease": ("id", "name", "definition", *TEXTS), "group": ("group", "name", "id")}


def read(path: Path, manifest: Manifest) -> Records:
    """Read entries of MONDO, and the groups that PrimeKG put them into.

    Raises:
        SourceError: The file is unreadable, or a column is missing.
    """
    header = read_header(path)
    missing = [name for name in (*_ENTRY, *TEXTS) if name not in header.columns]
    if missing:
        hint = f"it should have {', '.join((*_ENTRY, *TEXTS))}"
        raise SourceError(f"{path} has no column {missing[0]!r} in its header line", hint=hint)
    blocks = list(read_blocks(path, header))
    rows = pl.concat([rows.select(LINE, *_ENTRY, *TEXTS) for rows, _ in blocks])
    rows = rows.with_columns(pl.col(name).str.strip_suffix(".0") for name in ("mondo_id", "group_id_bert"))
    reason = _problems()
    bad = rows.filter(reason.is_not_null())
    rejects = [*(refused for _, refused in blocks), refuse(bad, pl.lit(bad.select(reason).to_series()))]
    rows = rows.filter(reason.is_null()).with_columns(_mondo("mondo_id").alias("id"))
    texts = [pl.col(name).drop_nulls().unique(maintain_order=True) for name in TEXTS]
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


def _mondo(column: str) -> pl.Expr:
    return pl.concat_str(pl.lit("MONDO:"), pl.col(column).str.zfill(7))


def _problems() -> pl.Expr:
    """Return an expression that says what is wrong with a row; null where nothing is."""
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
