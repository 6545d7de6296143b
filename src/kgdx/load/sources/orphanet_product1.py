"""Orphanet's disorders (`en_product1.xml`): names, definitions, and cross-references with how exactly they match."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from kgdx.load.manifest import Manifest
from kgdx.load.records import Records
from kgdx.load.sources.columns import TEXT, TEXTS, Columns
from kgdx.load.sources.orphanet import Disorder, Product, name_of
from kgdx.load.sources.xml import text, texts

VERSION = "2"
REFERENCE = ("orpha", "other", "relation", "name", "validation")
FRAMES = {
    "disorder": ("id", "name", "definition", "synonyms", "xrefs", "disease_type", "obsolete", "replaced_by"),
    "rows": ("orpha", "omim", "relation", "name", "validation"),
    **dict.fromkeys(("mondo", "mesh_descriptor", "mesh_supplement"), REFERENCE),
}
_PREFIXES = {"MeSH": "MESH", "ICD-10": "ICD10", "ICD-11": "ICD11", "MedDRA": "MEDDRA"}
_FRAMES_OF = {"OMIM:": "rows", "MONDO:": "mondo", "MESH:D": "mesh_descriptor", "MESH:C": "mesh_supplement"}
_GONE = ("obsolete", "deprecated", "inactive", "historical")


def read(path: Path, manifest: Manifest) -> Records:
    """Read disorders as the frame ``disorder``, and their references to OMIM (``rows``), MONDO and MeSH with relation.

    The relation is Orphanet's: E exact, NTBT the Orphanet entry is narrower, BTNT it is broader, or another one.
    References to other vocabularies (ICD, UMLS, …), and all of these too, stand among the ``xrefs``.

    Raises:
        SourceError: It is not well-formed XML, or not Orphanet's product 1.
    """
    product = Product(path, "en_product1.xml")
    disorders = Columns({name: TEXTS if name in ("synonyms", "xrefs") else TEXT for name in FRAMES["disorder"]})
    references = {name: Columns(dict.fromkeys(REFERENCE, TEXT)) for name in _FRAMES_OF.values()}
    for disorder in product.disorders():
        xrefs = _references(disorder, references)
        disorders.add(disorder.element.sourceline, *_values(disorder, xrefs))
    rows = disorders.frame().with_columns(pl.col("obsolete") == "true")
    frames = {"disorder": rows, **{name: columns.frame() for name, columns in references.items()}}
    frames["rows"] = frames["rows"].rename({"other": "omim"})
    return product.records(frames, frames["rows"].height, "OMIM references")


def _values(disorder: Disorder, xrefs: list[str]) -> tuple[Any, ...]:
    element = disorder.element
    definition = next(
        (text(section, "Contents") for section in element.iter("TextSection") if _is_definition(section)), None
    )
    flags = " ".join(texts(element, "DisorderFlagList/DisorderFlag/Label")).lower()
    moved = next(
        (
            code
            for each in element.iterfind("DisorderDisorderAssociationList/DisorderDisorderAssociation")
            if (name_of(each, "DisorderDisorderAssociationType") or "").lower().startswith(("moved to", "referred to"))
            and (code := text(each, "TargetDisorder/OrphaCode"))
        ),
        None,
    )
    gone = any(word in flags for word in _GONE) or disorder.name.upper().startswith("OBSOLETE")
    return (
        disorder.id,
        disorder.name,
        definition,
        list(dict.fromkeys(texts(element, "SynonymList/Synonym"))),
        xrefs,
        name_of(element, "DisorderType"),
        "true" if gone else "false",
        f"ORPHA:{moved}" if moved and gone else None,
    )


def _is_definition(section: Any) -> bool:
    return (name_of(section, "TextSectionType") or "").lower() == "definition"


def _references(disorder: Disorder, frames: dict[str, Columns]) -> list[str]:
    """Add the references that can become relations to their frames; returns all as CURIEs."""
    found: dict[str, None] = {}
    for reference in disorder.element.iterfind("ExternalReferenceList/ExternalReference"):
        source, code = text(reference, "Source"), text(reference, "Reference")
        if source is None:
            continue
        curie = f"{_PREFIXES.get(source, source)}:{(code or '').removeprefix(f'{source}:')}"
        if code is not None:
            found.setdefault(curie)
        frame = next((name for start, name in _FRAMES_OF.items() if curie.startswith(start)), None)
        if frame is not None:
            relation = (name_of(reference, "DisorderMappingRelation") or "").partition(" ")[0] or None
            validation = name_of(reference, "DisorderMappingValidationStatus")
            other = curie if code is not None else None
            frames[frame].add(reference.sourceline, disorder.id, other, relation, disorder.name, validation)
    return list(found)
