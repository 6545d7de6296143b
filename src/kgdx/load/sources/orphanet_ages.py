"""Orphanet's natural history (`en_product9_ages.xml`): ages of onset and modes of inheritance of a disorder."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from kgdx.load.manifest import Manifest
from kgdx.load.records import Records
from kgdx.load.sources.columns import TEXT, TEXTS, Columns
from kgdx.load.sources.orphanet import Product, name_of
from kgdx.load.sources.xml import texts

VERSION = "1"
FRAMES = {"rows": ("id", "name", "disease_type", "onset_ages", "inheritance")}
_UNKNOWN = frozenset({"No data available", "Not yet documented", "Unknown"})


def read(path: Path, manifest: Manifest) -> Records:
    """Read disorders as the frame ``rows``; what is not known of one is an empty list.

    Raises:
        SourceError: It is not well-formed XML, or not Orphanet's file of ages.
    """
    product = Product(path, "en_product9_ages.xml")
    rows = Columns({name: TEXTS if name in ("onset_ages", "inheritance") else TEXT for name in FRAMES["rows"]})
    for disorder in product.disorders():
        element = disorder.element
        ages = texts(element, "AverageAgeOfOnsetList/AverageAgeOfOnset/Name")
        inheritance = texts(element, "TypeOfInheritanceList/TypeOfInheritance/Name")
        known = ([each for each in given if each not in _UNKNOWN] for given in (ages, inheritance))
        rows.add(element.sourceline, disorder.id, disorder.name, name_of(element, "DisorderType"), *known)
    table = rows.frame()
    stated = table.filter((pl.col("onset_ages").list.len() > 0) | (pl.col("inheritance").list.len() > 0))
    return product.records({"rows": table}, stated.height, "ages of onset or inheritance")
