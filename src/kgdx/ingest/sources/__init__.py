"""Readers, one short module per format: a file in, frames of records with line numbers and refused records out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import cast

from kgdx.errors import SourceError
from kgdx.ingest.manifest import SOURCES, Manifest
from kgdx.ingest.records import Records
from kgdx.ingest.unpack import PACKED

FORMATS: Mapping[str, str] = {
    "table": "kgdx.ingest.sources.table_files",
    "tsv": "kgdx.ingest.sources.table_files",
    "csv": "kgdx.ingest.sources.table_files:read_csv",
    "jsonl": "kgdx.ingest.sources.json_records",
    "parquet": "kgdx.ingest.sources.table_files:read_parquet",
    "obo": "kgdx.ingest.sources.obo",
    "owl": "kgdx.ingest.sources.owl",
    "obographs": "kgdx.ingest.sources.obographs",
    "hpoa": "kgdx.ingest.sources.hpoa",
    "orphanet_product1": "kgdx.ingest.sources.orphanet:read_disorders",
    "orphanet_product4": "kgdx.ingest.sources.orphanet:read_phenotypes",
    "orphanet_product6": "kgdx.ingest.sources.orphanet:read_genes",
    "orphanet_prevalence": "kgdx.ingest.sources.orphanet:read_prevalence",
    "orphanet_ages": "kgdx.ingest.sources.orphanet:read_ages",
    "phenopackets": "kgdx.ingest.sources.patient_cases:read_phenopackets",
    "mesh_descriptors": "kgdx.ingest.sources.mesh:read_descriptors",
    "mesh_supplements": "kgdx.ingest.sources.mesh:read_supplements",
    "mesh_qualifiers": "kgdx.ingest.sources.mesh:read_qualifiers",
    "chinese_kg": "kgdx.ingest.sources.chinese_kg",
    "encyclopedia": "kgdx.ingest.sources.encyclopedia",
    "cases": "kgdx.ingest.sources.patient_cases",
    "ddxplus": "kgdx.ingest.sources.ddxplus",
    "ddxplus_patients": "kgdx.ingest.sources.patient_cases:read_ddxplus",
    "dx_symptoms": "kgdx.ingest.sources.patient_cases:read_symptoms",
    "primekg": "kgdx.ingest.sources.primekg",
    "primekg_disease_features": "kgdx.ingest.sources.primekg_features:read_diseases",
    "primekg_drug_features": "kgdx.ingest.sources.primekg_features:read_drugs",
}
"""Format → module with ``read(path, manifest) -> Records``, or ``module:function``."""

FOLDERS = ("phenopackets", "cases")
"""Formats of which a source may be a folder; of formats that live elsewhere, their readers say it."""

Reader = Callable[[Path, Manifest], Records]
"""Reads a file as its manifest says. It, or its module, may have ``VERSION: str``, which changes with what it gives."""


def reader(path: Path, manifest: Manifest, readers: Mapping[str, Reader] = MappingProxyType({})) -> Reader:
    """Return the reader of a source's file, by the manifest's format or that of the file's suffix."""
    suffix = next((each for each in reversed(path.suffixes) if each.lower() not in PACKED), "").lower()
    name = manifest.also.get(suffix, manifest.format)
    if name in readers:
        return readers[name]
    if name not in FORMATS:
        if name in SOURCES and (installed := SOURCES.get(name).read) is not None:
            return cast("Reader", installed)
        message = f"the manifest of {manifest.name} names the format {name!r}"
        raise SourceError(message, hint=f"one of {', '.join((*FORMATS, *readers))}")
    module, _, function = FORMATS[name].partition(":")
    found: Reader = getattr(import_module(module), function or "read")
    return found


def read(path: Path, manifest: Manifest, readers: Mapping[str, Reader] = MappingProxyType({})) -> Records:
    return reader(path, manifest, readers)(path, manifest)
