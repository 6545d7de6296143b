"""Where an identifier is described in the open: links that a reader may follow, never fetched by the page itself."""

from __future__ import annotations

import re

_RESOLVERS = {
    "HP": (r"\d{7}", "https://hpo.jax.org/browse/term/HP:{}"),
    "MONDO": (r"\d{7}", "https://monarchinitiative.org/MONDO:{}"),
    "OMIM": (r"\d{6}", "https://omim.org/entry/{}"),
    "ORPHA": (r"\d+", "https://www.orpha.net/en/disease/detail/{}"),
    "PMID": (r"\d+", "https://pubmed.ncbi.nlm.nih.gov/{}/"),
    "DECIPHER": (r"\d+", "https://www.deciphergenomics.org/syndrome/{}"),
    "MESH": (r"[A-Z]\d+", "https://meshb.nlm.nih.gov/record/ui?ui={}"),
    "NCBIGene": (r"\d+", "https://www.ncbi.nlm.nih.gov/gene/{}"),
    "HGNC": (r"\d+", "https://www.genenames.org/data/gene-symbol-report/#!/hgnc_id/HGNC:{}"),
}
"""Prefix → the form of the rest of the identifier, and the page about it."""


def link(id: str) -> str:
    """Return the address of the page about an identifier; empty where there is none.

    Example:
        >>> link("PMID:25792522"), link("case:9"), link('OMIM:1" onclick="x')
        ('https://pubmed.ncbi.nlm.nih.gov/25792522/', '', '')
    """
    prefix, _, rest = id.partition(":")
    form, address = _RESOLVERS.get(prefix, ("", ""))
    return address.format(rest) if form and re.fullmatch(form, rest, re.ASCII) else ""


def web(address: str) -> str:
    """Return an address if it is one of the web, and nothing otherwise: a document's links must not run scripts.

    Example:
        >>> web("https://hpo.jax.org/app/license"), web("javascript:alert(1)"), web("CC BY 4.0")
        ('https://hpo.jax.org/app/license', '', '')
    """
    return address if re.fullmatch(r"https?://[^\s\"'<>]+", address) else ""
