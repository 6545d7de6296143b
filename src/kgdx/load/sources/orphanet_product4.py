"""Orphanet's phenotypes of disorders (`en_product4.xml`): HPO terms with frequency class and diagnostic criterion.

HPO's own annotations hold an earlier copy of these statements. Each names the Orphanet entry as its reference there and
here, by which the ranker counts one statement that two sources give once.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from kgdx.load.manifest import Manifest
from kgdx.load.records import Records
from kgdx.load.sources.columns import TEXT, TEXTS, Columns
from kgdx.load.sources.orphanet import Disorder, Product, name_of, publications
from kgdx.load.sources.xml import shown, text
from kgdx.schema.frequency import EXCLUDED, FREQUENCIES

VERSION = "1"
ANNOTATION = (
    "orpha",
    "name",
    "disease_type",
    "hpo_id",
    "frequency_class",
    "diagnostic_criterion",
    "publications",
    "validation",
)
FRAMES = dict.fromkeys(("present", "absent"), ANNOTATION)
_CLASSES = {each.name: term for term, each in FREQUENCIES.items()}


def read(path: Path, manifest: Manifest) -> Records:
    """Read annotations as the frames ``present`` and, for frequency class Excluded, ``absent``.

    Raises:
        SourceError: It is not well-formed XML, or not Orphanet's product 4.
    """
    product = Product(path, "en_product4.xml")
    rows = Columns({name: TEXTS if name == "publications" else TEXT for name in ANNOTATION})
    for disorder in product.disorders("HPODisorderSetStatus"):
        _annotations(disorder, rows, product)
    table = rows.frame()
    excluded = pl.col("frequency_class").eq_missing(EXCLUDED)
    frames = {"present": table.filter(~excluded), "absent": table.filter(excluded)}
    return product.records(frames, table.height, "HPO annotations")


def _annotations(disorder: Disorder, rows: Columns, product: Product) -> None:
    kind = name_of(disorder.element, "DisorderType")
    found = publications(text(disorder.record, "Source"))
    validation = text(disorder.record, "ValidationStatus")
    for each in disorder.element.iterfind("HPODisorderAssociationList/HPODisorderAssociation"):
        words = name_of(each, "HPOFrequency")
        frequency = _CLASSES.get((words or "").partition("(")[0].strip().lower())
        if words is not None and frequency is None:
            reason = f"its frequency is '{words[:60]}', none of Orphanet's classes"
            product.refused.add(each.sourceline, shown(each), reason)
            continue
        criterion = name_of(each, "DiagnosticCriteria")
        line, term = each.sourceline, text(each, "HPO/HPOId")
        rows.add(line, disorder.id, disorder.name, kind, term, frequency, criterion, found, validation)
