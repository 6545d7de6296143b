"""Two small sources of one's own that state genes and diseases of each other, for tests of what updates change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

MANIFEST = """
name: {name}
title: Genes as {name} knows them
homepage: https://example.org
licence: CC0
citation: none
default: null
format: table
columns: [gene, symbol, disease, title]
nodes:
  - class: Gene
    role: implied
    id: gene
    properties: {{name: symbol}}
  - class: Disease
    role: implied
    id: disease
    properties: {{name: title}}
relations:
  - type: ASSOCIATED_GENE
    start: {{class: Disease, id: disease}}
    end: {{class: Gene, id: gene}}
    properties: {{association: symbol}}
"""
Row = tuple[str, str, str, str]
"""Gene, its symbol, disease, its title."""


def manifest(folder: Path, name: str) -> str:
    path = folder / f"{name}.yaml"
    path.write_text(MANIFEST.format(name=name), "utf-8")
    return str(path)


def table(folder: Path, name: str, rows: Sequence[Row]) -> str:
    path = folder / f"{name}.tsv"
    lines = ["gene\tsymbol\tdisease\ttitle", *("\t".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path)


def gene(number: int, symbol: str = "G", disease: int = 1, title: str = "Title") -> Row:
    return f"NCBIGene:{number}", symbol, f"OMIM:{disease}", title
