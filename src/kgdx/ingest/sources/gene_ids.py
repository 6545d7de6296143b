"""Ids of genes that a source knows otherwise: NCBI's, where the gene table of the default build has the symbol."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import polars as pl

from kgdx.ingest.fetch import fetch
from kgdx.ingest.manifest import manifest as manifest_of


@cache
def by_symbol() -> Mapping[str, str]:
    """Return NCBI's ids by approved symbol, from the gene table of the default build."""
    genes = manifest_of("genes")
    table = pl.read_csv(
        fetch(genes.default or "", Path()).path,
        separator="\t",
        columns=["ncbi_gene_id", "gene_symbol"],
        schema_overrides={"ncbi_gene_id": pl.String},
    )
    pairs = table.unique("gene_symbol", keep="first", maintain_order=True).drop_nulls()
    return {symbol: f"NCBIGene:{number}" for number, symbol in pairs.iter_rows()}


def gene_id(id: str, symbol: str | None) -> str:
    """Return NCBI's id of a gene where its symbol has one, else the id that it is given by.

    Example:
        >>> gene_id("HGNC:3603", "FBN1"), gene_id("HGNC:1", None)
        ('NCBIGene:2200', 'HGNC:1')
    """
    return id if symbol is None or id.startswith("NCBIGene:") else by_symbol().get(symbol, id)
