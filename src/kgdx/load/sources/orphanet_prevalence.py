"""Orphanet's epidemiology (`en_product9_prev.xml`): how frequent a disorder is, where, and who says so."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl

from kgdx.load.manifest import Manifest
from kgdx.load.records import Records
from kgdx.load.sources.columns import TEXT, TEXTS, Columns
from kgdx.load.sources.orphanet import Product, name_of, publications
from kgdx.load.sources.xml import shown, text

VERSION = "1"
FRAMES = {
    "rows": (
        "orpha",
        "name",
        "disease_type",
        "region",
        "prevalence_type",
        "prevalence_class",
        "value",
        "qualification",
        "validation",
        "reference",
        "publications",
    )
}
_COUNTED = {"Cases/families", "Value and class", "Only value"}


def read(path: Path, manifest: Manifest) -> Records:
    """Read statements of prevalence as the frame ``rows``; a mean value of 0 where only a class is given is none.

    Raises:
        SourceError: It is not well-formed XML, or not Orphanet's file of prevalences.
    """
    product = Product(path, "en_product9_prev.xml")
    kinds = dict.fromkeys(FRAMES["rows"], TEXT) | {"value": pl.Float64(), "publications": TEXTS}
    rows = Columns(kinds)
    for disorder in product.disorders():
        kind = name_of(disorder.element, "DisorderType")
        for each in disorder.element.iterfind("PrevalenceList/Prevalence"):
            region, value = name_of(each, "PrevalenceGeographic"), _number(text(each, "ValMoy"))
            if region is None or (value is not None and not math.isfinite(value)):
                reason = "it names no region" if region is None else f"its value is '{text(each, 'ValMoy')}', no number"
                product.refused.add(each.sourceline, shown(each), reason)
                continue
            source, qualification = text(each, "Source"), name_of(each, "PrevalenceQualification")
            rows.add(
                each.sourceline,
                disorder.id,
                disorder.name,
                kind,
                region,
                name_of(each, "PrevalenceType"),
                name_of(each, "PrevalenceClass"),
                value if value or qualification in _COUNTED else None,
                qualification,
                name_of(each, "PrevalenceValidationStatus"),
                source,
                publications(source),
            )
    table = rows.frame()
    return product.records({"rows": table}, table.height, "prevalences")


def _number(words: str | None) -> float | None:
    """The number; not a number where it is none."""
    if words is None:
        return None
    try:
        return float(words)
    except ValueError:
        return math.nan
