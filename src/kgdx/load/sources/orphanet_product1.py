"""Orphanet's own cross-references (`en_product1.xml`): each OMIM reference of each disorder, with its relation."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from lxml import etree

from kgdx.errors import SourceError
from kgdx.load.fetch import read_bytes
from kgdx.load.manifest import Manifest
from kgdx.load.records import LINE, Records

FRAMES = {"rows": ("orpha", "omim", "relation", "name", "validation")}


def read(path: Path, manifest: Manifest) -> Records:
    """Read the OMIM references as the frame ``rows``: orpha, omim (CURIEs), relation (E, NTBT, …), name, validation.

    References to other databases (ICD, MeSH, UMLS, …) are not records of this source.

    Raises:
        SourceError: It is not well-formed XML, or not Orphanet's product 1.
    """
    version: list[str] = []
    try:
        rows = list(_references(read_bytes(path), version))
    except etree.XMLSyntaxError as error:
        message = f"{path} is not well-formed XML ({' '.join(str(error.msg).split())})"
        raise SourceError(message, hint="fetch it again from https://www.orphadata.com") from error
    if not rows:
        message = f"{path} has no OMIM references"
        raise SourceError(message, hint="it should be en_product1.xml from https://www.orphadata.com")
    schema = {LINE: pl.Int64, **dict.fromkeys(FRAMES["rows"], pl.String)}
    return Records({"rows": pl.DataFrame(rows, schema=schema, orient="row")}, version=version[0] if version else None)


def _references(content: bytes, version: list[str]) -> Iterator[tuple[Any, ...]]:
    options: dict[str, Any] = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
    for event, element in etree.iterparse(io.BytesIO(content), events=("start", "end"), **options):
        if event == "start":
            if element.tag == "JDBOR":
                version.append(element.get("date", ""))
            continue
        if element.tag != "Disorder":
            continue
        code, name = element.findtext("OrphaCode"), element.findtext("Name")
        for reference in element.iterfind("ExternalReferenceList/ExternalReference"):
            if reference.findtext("Source") == "OMIM":
                relation = (reference.findtext("DisorderMappingRelation/Name") or "").partition(" ")[0] or None
                validation = reference.findtext("DisorderMappingValidationStatus/Name")
                omim = reference.findtext("Reference")
                yield (reference.sourceline, _curie("ORPHA", code), _curie("OMIM", omim), relation, name, validation)
        element.clear()
        while element.getprevious() is not None:  # iterparse keeps the parent's finished children otherwise
            del element.getparent()[0]


def _curie(prefix: str, code: str | None) -> str | None:
    return f"{prefix}:{code.strip()}" if code and code.strip() else None
